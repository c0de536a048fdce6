//! `connect`: connects stdin and stdout to the Unix socket of a running gateway, for hosts that only start processes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncWriteExt as _, copy};
use tokio::net::UnixStream;

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::serve::socket_path;
use crate::cli::{CommonOptions, ExitKind, configuration};
use crate::transport::stdio::fds::StdioStreams;
use crate::transport::unix_socket::ADDRESS_PREFIX;

/// Connect stdin and stdout to the Unix socket of a running gateway, for hosts that only start processes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate connect unix:/run/moongate/mcp.sock
  claude mcp add moongate -- moongate connect unix:/run/moongate/mcp.sock

The gateway sees you as the caller: the user that runs this command. The exit code is 4 if no gateway responds, or if it \
closes the connection.")]
pub(super) struct Connect {
    /// Address of the socket [default: `path` in `[unix_socket]`]
    #[arg(value_name = "unix:PATH", value_parser = socket_path)]
    address: Option<PathBuf>,
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
        let Some(path) = self.address.or_else(configured) else {
            let hint = "write `moongate connect unix:PATH`, or set `path` in `[unix_socket]`";
            return Err(CommandError::new(ExitKind::Usage).message("the Unix socket has no path", Some(hint)));
        };
        let address = format!("{ADDRESS_PREFIX}{}", path.display());
        let unreachable = |message: String| {
            let hint = "start the gateway with `moongate serve --listen unix:PATH`, as the same user";
            CommandError::new(ExitKind::Unreachable).message(&message, Some(hint))
        };
        let stream = connect_to_socket(&path)
            .await
            .map_err(|error| unreachable(format!("no gateway responds at {address}: {error}")))?;
        match forward(stream).await {
            Ok(ClosedBy::Host) => Ok(ExitKind::Success),
            Ok(ClosedBy::Gateway) => {
                Err(unreachable(format!("the gateway at {address} closed the connection")))
            }
            Err(error) => Err(unreachable(format!("lost the connection to {address}: {error}"))),
        }
    }
}

/// The pause before the next try to connect, and the number of tries.
const RETRY_DELAY: Duration = Duration::from_millis(50);
const MAX_TRIES: u32 = 40;

/// Connects to a Unix socket. While too many others wait for the gateway, the system refuses connections, so it tries
/// again.
pub(super) async fn connect_to_socket(path: &Path) -> io::Result<UnixStream> {
    for _ in 1..MAX_TRIES {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(RETRY_DELAY).await,
            connected => return connected,
        }
    }
    UnixStream::connect(path).await
}

/// Copies in both directions until the gateway closes its side, which it does once everything is answered after the host
/// has closed stdin.
async fn forward(stream: UnixStream) -> std::io::Result<ClosedBy> {
    let (mut from_gateway, mut to_gateway) = stream.into_split();
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
