//! The registry of Debian's package `docker-registry`, with its storage in a directory.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::{installed, wait_until};

/// A running OCI registry, stopped on drop.
#[derive(Debug)]
pub struct DockerRegistry {
    process: Child,
    host: String,
}

impl DockerRegistry {
    /// Starts the registry with its files in this directory. `None` if it isn't installed; in CI, that is a failure.
    ///
    /// # Panics
    /// If the registry can't be started.
    #[must_use]
    pub fn start(directory: &Path) -> Option<Self> {
        let program = installed("docker-registry")?;
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let host = format!("127.0.0.1:{port}");
        let config = json!({
            "version": "0.1", "log": { "level": "warn" },
            "storage": { "filesystem": { "rootdirectory": directory.join("registry") } },
            "http": { "addr": host },
        });
        let file = directory.join("registry.yml");
        fs::write(&file, config.to_string()).expect("write the configuration");
        let mut command = Command::new(program);
        command.arg("serve").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().expect("the registry starts");
        wait_until("the registry listens", || TcpStream::connect(&host).is_ok());
        Some(Self { process, host })
    }

    /// Its address and port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
