//! `connect`: connects stdin and stdout to the Unix socket or a WebSocket of a running gateway, for hosts that only
//! start processes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy, split};
use tokio::net::UnixStream;
use url::Url;

use crate::cli::client_tls::ClientTlsOptions;
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::serve::{address, socket_path};
use crate::cli::{CommonOptions, ExitKind, configuration, print};
use crate::transport::stdio::fds::StdioStreams;
use crate::transport::unix_socket::ADDRESS_PREFIX;
use crate::transport::websocket::{CloseReason, CloseReasonSlot};

mod websocket_client;

/// The hint if no gateway responds at a Unix socket.
pub(super) const SILENCE_HINT: &str =
    "start the gateway with `moongate serve --listen unix:PATH`, as the same user";

/// Connect stdin and stdout to the Unix socket or a WebSocket of a running gateway, for hosts that only start processes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate connect unix:/run/moongate/mcp.sock
  moongate connect wss://gateway.example.com/mcp
  claude mcp add moongate -- moongate connect unix:/run/moongate/mcp.sock

Over a Unix socket, the gateway sees you as the caller: the user that runs this command. For a WebSocket, set the \
variable MOONGATE_TOKEN to the bearer token. The exit code is 4 if no gateway responds, or if it closes the connection, \
and 3 if it rejects the token or the certificate.")]
pub(super) struct Connect {
    /// Address of the gateway: unix:PATH, or a ws:// or wss:// URL [default: `path` in `[unix_socket]`]
    #[arg(value_name = "ADDRESS", value_parser = gateway_address)]
    address: Option<GatewayAddress>,
    #[command(flatten)]
    tls: ClientTlsOptions,
}

/// The address to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum GatewayAddress {
    /// The path of a Unix socket.
    Socket(PathBuf),
    /// The URL of a WebSocket.
    WebSocket(Url),
}

/// Parses the address of a Unix socket or a WebSocket.
fn gateway_address(text: &str) -> Result<GatewayAddress, String> {
    if address(text).is_ok() {
        return Err("expected unix:PATH, or a URL such as ws://127.0.0.1:8931/mcp".to_owned());
    }
    if !text.contains("://") || text.starts_with(ADDRESS_PREFIX) {
        return socket_path(text).map(GatewayAddress::Socket);
    }
    let url = Url::parse(text).ok().filter(|url| ["ws", "wss"].contains(&url.scheme()) && url.has_host());
    let url = url.ok_or("expected unix:PATH, or a URL such as ws://127.0.0.1:8931/mcp")?;
    // A password would be visible in messages, in the process list and in the shell's history.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "remove the user name and the password; set the variable MOONGATE_TOKEN to the token".to_owned()
        );
    }
    Ok(GatewayAddress::WebSocket(url))
}

/// The side that closed the connection.
enum ClosedBy {
    Host,
    Gateway,
}

impl Connect {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let configured = || {
            let loaded = configuration::read(common.config.as_deref());
            loaded.config.and_then(|config| config.unix_socket).map(|socket| socket.path)
        };
        match self.address.or_else(|| configured().map(GatewayAddress::Socket)) {
            Some(GatewayAddress::Socket(_)) if self.tls.is_set() => {
                let message = "`--cert`, `--key` and `--ca` need a wss:// URL";
                Err(CommandError::new(ExitKind::Usage).message(message, None))
            }
            Some(GatewayAddress::Socket(path)) => connect_socket(path).await,
            Some(GatewayAddress::WebSocket(url)) => connect_websocket(&url, &self.tls, common).await,
            None => {
                let hint = "write `moongate connect unix:PATH`, or set `path` in `[unix_socket]`";
                Err(CommandError::new(ExitKind::Usage).message("the Unix socket has no path", Some(hint)))
            }
        }
    }
}

async fn connect_socket(path: PathBuf) -> CommandResult {
    let address = format!("{ADDRESS_PREFIX}{}", path.display());
    let unreachable =
        |message: String| CommandError::new(ExitKind::Unreachable).message(&message, Some(SILENCE_HINT));
    let stream = connect_to_socket(&path).await.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let message = format!("this user can't connect to {address}: {error}");
            let hint = "connect as the gateway's user, or let systemd pass the socket with another mode";
            CommandError::new(ExitKind::Unreachable).message(&message, Some(hint))
        }
        _ => unreachable(format!("no gateway responds at {address}: {error}")),
    })?;
    match forward(stream).await {
        Ok(ClosedBy::Host) => Ok(ExitKind::Success),
        Ok(ClosedBy::Gateway) => Err(unreachable(format!("the gateway at {address} closed the connection"))),
        Err(error) => Err(unreachable(format!("lost the connection to {address}: {error}"))),
    }
}

async fn connect_websocket(url: &Url, tls: &ClientTlsOptions, common: &CommonOptions) -> CommandResult {
    let close = CloseReasonSlot::default();
    let stream = websocket_client::open(url, tls, common, close.clone()).await?;
    let unreachable = |message: String| CommandError::new(ExitKind::Unreachable).message(&message, None);
    match (forward(stream).await, close.get()) {
        (Ok(ClosedBy::Host), _) => Ok(ExitKind::Success),
        (Ok(ClosedBy::Gateway), CloseReason::Peer { code, reason }) => {
            let reason = print::inline(&reason);
            Err(unreachable(format!("the gateway at {url} closed the connection: {code} {reason}")))
        }
        (Ok(ClosedBy::Gateway), _) => Err(unreachable(format!("the gateway at {url} closed the connection"))),
        (Err(error), _) => Err(unreachable(format!("lost the connection to {url}: {error}"))),
    }
}

/// The pause before the next try to connect, and the number of tries.
const RETRY_DELAY: Duration = Duration::from_millis(50);
const MAX_TRIES: u32 = 40;

/// Connects to a Unix socket of this user, or of root, which is the owner of those that systemd passes: other users who
/// can change a directory of the path could listen there. While too many others wait for the gateway, the system refuses
/// connections, so it tries again.
pub(super) async fn connect_to_socket(path: &Path) -> io::Result<UnixStream> {
    let mut tries = 1;
    let stream = loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries < MAX_TRIES => {
                tokio::time::sleep(RETRY_DELAY).await;
                tries += 1;
            }
            connected => break connected?,
        }
    };
    check_listener(stream.peer_cred()?.uid(), rustix::process::geteuid().as_raw())?;
    Ok(stream)
}

fn check_listener(listener: u32, own: u32) -> io::Result<()> {
    if listener == own || listener == 0 {
        return Ok(());
    }
    let message = format!("the program that listens there belongs to another user (uid {listener})");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Copies in both directions until the gateway closes its side, which it does once everything is answered after the host
/// has closed stdin.
async fn forward(stream: impl AsyncRead + AsyncWrite) -> io::Result<ClosedBy> {
    let (mut from_gateway, mut to_gateway) = split(stream);
    let StdioStreams { mut input, mut output, restore: _restore } = StdioStreams::open();
    let requests = async {
        copy(&mut input, &mut to_gateway).await?;
        to_gateway.shutdown().await
    };
    let responses = async {
        copy(&mut from_gateway, &mut output).await?;
        output.shutdown().await
    };
    tokio::pin!(responses);
    tokio::select! {
        biased;
        closed = &mut responses => closed.map(|()| ClosedBy::Gateway),
        sent = requests => {
            sent?;
            responses.await.map(|()| ClosedBy::Host)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_of_another_user_is_not_used() {
        for (listener, own, is_used) in
            [(1000, 1000, true), (0, 1000, true), (0, 0, true), (1001, 1000, false), (1000, 0, false)]
        {
            assert_eq!(check_listener(listener, own).is_ok(), is_used, "{listener} {own}");
        }
    }
}
