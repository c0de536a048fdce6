//! From an address to a byte stream: TCP, TLS, Unix sockets.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use moongate_config::{StoreAddress, StoreEncryption};
use moongate_system::https_client::{error_with_cause, tls_config};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::{StoreError, message};

/// Opens streams to the server.
pub(crate) struct Dialer {
    address: StoreAddress,
    tls: Option<TlsConnector>,
}

/// A stream to the server.
pub(crate) enum ServerStream {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

impl Dialer {
    /// Opens streams to this address. With TLS, it trusts the system's certificate authorities and those of a bundle,
    /// and reads their files.
    pub(crate) fn new(address: StoreAddress, ca_file: Option<&Path>) -> Self {
        let tls = match &address {
            StoreAddress::Tcp { encryption: StoreEncryption::Tls, .. } => {
                Some(TlsConnector::from(Arc::new(tls_config(ca_file))))
            }
            StoreAddress::Tcp { encryption: StoreEncryption::None, .. } | StoreAddress::Unix(_) => None,
        };
        Self { address, tls }
    }

    pub(crate) fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// Opens a stream. The caller limits the time.
    pub(crate) async fn dial(&self) -> Result<ServerStream, StoreError> {
        let connecting = |error: io::Error| StoreError::connecting(&error);
        match &self.address {
            StoreAddress::Unix(path) => {
                Ok(ServerStream::Unix(UnixStream::connect(path).await.map_err(connecting)?))
            }
            StoreAddress::Tcp { host, port, .. } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(connecting)?;
                stream.set_nodelay(true).map_err(connecting)?;
                let Some(tls) = &self.tls else { return Ok(ServerStream::Tcp(stream)) };
                let name = ServerName::try_from(host.clone())
                    .map_err(|error| StoreError::Tls(message(&error.to_string())))?;
                let stream = tls.connect(name, stream).await;
                let stream = stream.map_err(|error| StoreError::Tls(message(&error_with_cause(&error))))?;
                Ok(ServerStream::Tls(Box::new(stream)))
            }
        }
    }
}

impl AsyncRead for ServerStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for ServerStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
