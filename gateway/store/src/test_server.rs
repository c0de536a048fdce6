//! A Redis server for tests, on a Unix socket.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use moongate_config::{RatesWhenDown, StoreAddress, StoreConfig};
use moongate_model::secret::Secret;
use tempfile::TempDir;

use crate::SharedStore;

/// A running server. Dropping it ends it.
pub(crate) struct TestServer {
    directory: TempDir,
    child: Child,
    options: Vec<String>,
}

impl TestServer {
    /// Starts a server with these options. `None` means that there is no `redis-server`, which is a failure with
    /// `CI=true`.
    pub(crate) async fn start(options: &[&str]) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let child = match spawn(&directory.path().join("s"), &options) {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var("CI").is_err(), "redis-server is missing: {error}");
                eprintln!("skipped: redis-server is missing");
                return None;
            }
        };
        let server = Self { directory, child, options };
        server.wait().await;
        Some(server)
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    /// Waits until the server accepts connections.
    async fn wait(&self) {
        for _ in 0..1_000 {
            if tokio::net::UnixStream::connect(self.socket()).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("redis-server doesn't accept connections");
    }

    /// Ends the server.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends the server a signal, such as `STOP`.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Starts the server again, without its data.
    pub(crate) async fn restart(&mut self) {
        self.child = spawn(&self.socket(), &self.options).unwrap();
        self.wait().await;
    }

    /// The configuration of a gateway with this server.
    pub(crate) fn config(&self) -> StoreConfig {
        StoreConfig {
            address: StoreAddress::Unix(self.socket()),
            database: 0,
            user: None,
            password: None,
            prefix: "test:".to_owned(),
            connect_timeout: Duration::from_secs(10),
            response_timeout: Duration::from_secs(10),
            rates_when_down: RatesWhenDown::Local,
        }
    }

    /// A gateway's connection.
    pub(crate) async fn store(&self) -> SharedStore {
        let store = SharedStore::open(&self.config(), None).await;
        store.connected().await.unwrap_or_else(|error| panic!("{error}: {:?}", store.status()));
        store
    }

    /// A gateway's connection with a password.
    pub(crate) async fn store_with_password(&self, password: &str) -> SharedStore {
        let config = StoreConfig { password: Some(Secret::new(password.to_owned())), ..self.config() };
        SharedStore::open(&config, None).await
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(socket: &Path, options: &[String]) -> std::io::Result<Child> {
    let _ = std::fs::remove_file(socket);
    Command::new("redis-server")
        .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
        .arg(socket)
        .args(options)
        .current_dir(socket.parent().unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}
