//! Listening sockets that the service manager passes (systemd's socket activation, `sd_listen_fds(3)`).
//!
//! The kind of a socket determines what it serves: a TCP socket is the HTTP endpoint, a Unix socket the Unix socket.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use listenfd::ListenFd;

/// The variable that names the process that the sockets are for.
const PROCESS_VARIABLE: &str = "LISTEN_PID";

/// The sockets.
#[derive(Debug, Default)]
pub struct PassedSockets {
    /// The socket of the HTTP endpoint.
    pub http: Option<TcpListener>,
    /// The Unix socket.
    pub unix_socket: Option<PassedUnixSocket>,
}

/// A Unix socket.
#[derive(Debug)]
pub struct PassedUnixSocket {
    /// The socket.
    pub listener: UnixListener,
    /// Its path.
    pub path: PathBuf,
}

/// The error when a socket can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PassedSocketsError {
    /// There are several of one kind.
    #[error("the service manager passes several {0} sockets; the gateway can use one")]
    Several(&'static str),
    /// It isn't a stream socket of TCP or with a path.
    #[error("the service manager passes a file that isn't a TCP or Unix stream socket: {0}")]
    Unsupported(io::Error),
    /// It is a connection.
    #[error("the service manager passes a socket that doesn't listen; set `Accept=no` in its unit")]
    NotListening,
    /// Every user of the machine can connect to it.
    #[error(
        "the service manager passes a Unix socket without a path, which has no permissions; set a path in its unit"
    )]
    NoPath,
}

impl PassedSockets {
    /// Takes the sockets. Call this before another thread starts, because it removes the variables that describe them.
    ///
    /// # Errors
    /// A socket can't be used.
    pub fn take() -> Result<Self, PassedSocketsError> {
        // Without this variable, the sockets may be for another process.
        if std::env::var_os(PROCESS_VARIABLE).is_none_or(|process| process.is_empty()) {
            return Ok(Self::default());
        }
        let mut passed = ListenFd::from_env();
        let mut sockets = Self::default();
        for index in 0..passed.len() {
            if let Ok(Some(listener)) = passed.take_unix_listener(index) {
                check_listening(&listener)?;
                let address = listener.local_addr().map_err(PassedSocketsError::Unsupported)?;
                let path = address.as_pathname().ok_or(PassedSocketsError::NoPath)?.to_owned();
                if sockets.unix_socket.replace(PassedUnixSocket { listener, path }).is_some() {
                    return Err(PassedSocketsError::Several("Unix"));
                }
            } else if let Some(listener) =
                passed.take_tcp_listener(index).map_err(PassedSocketsError::Unsupported)?
            {
                check_listening(&listener)?;
                if sockets.http.replace(listener).is_some() {
                    return Err(PassedSocketsError::Several("TCP"));
                }
            }
        }
        Ok(sockets)
    }

    /// Reports whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.http.is_none() && self.unix_socket.is_none()
    }
}

#[cfg(target_os = "linux")]
fn check_listening(socket: &impl AsFd) -> Result<(), PassedSocketsError> {
    let socket = socket2::SockRef::from(socket);
    let is_listening = socket.is_listener().map_err(PassedSocketsError::Unsupported)?;
    if is_listening { Ok(()) } else { Err(PassedSocketsError::NotListening) }
}

/// Other systems have no systemd, and some can't tell whether a socket listens.
#[cfg(not(target_os = "linux"))]
fn check_listening(_socket: &impl AsFd) -> Result<(), PassedSocketsError> {
    Ok(())
}
