//! A real Redis server on a Unix socket, as the shared store of gateways.

use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::{StoreNetwork, installed, wait_until};

/// A running `redis-server`. Dropping it ends it.
pub struct StoreServer {
    directory: tempfile::TempDir,
    process: Child,
    options: Vec<String>,
}

impl fmt::Debug for StoreServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreServer").field("process", &self.process.id()).finish_non_exhaustive()
    }
}

impl StoreServer {
    /// Starts a server with these options. `None` means that none is installed, which is a failure in CI.
    ///
    /// # Panics
    /// The server can't be started.
    #[must_use]
    pub fn start(options: &[&str]) -> Option<Self> {
        let program = installed("redis-server")?;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let process = spawn(&program, &directory, &options);
        let server = Self { directory, process, options };
        server.wait();
        Some(server)
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    /// The value of `url` in `[store]`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// A network to the server that can be slow.
    ///
    /// # Panics
    /// If no port is free.
    #[must_use]
    pub fn network(&self) -> StoreNetwork {
        StoreNetwork::new(self.socket())
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The first line of the answer to a command, such as `:3` to `XLEN key`.
    ///
    /// # Panics
    /// The server doesn't answer.
    #[must_use]
    pub fn query(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).expect("the server listens");
        stream.write_all(format!("{command}\r\n").as_bytes()).expect("send a command");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("an answer");
        line.trim_end().to_owned()
    }

    fn wait(&self) {
        wait_until("redis-server listens", || UnixStream::connect(self.socket()).is_ok());
    }

    /// Kills the server.
    ///
    /// # Panics
    /// It can't be killed.
    pub fn kill(&mut self) {
        self.process.kill().expect("kill the server");
        self.process.wait().expect("wait for the server");
    }

    /// Starts a killed server again, with the data that its options make it keep: by default, none.
    ///
    /// # Panics
    /// The server can't be started.
    pub fn restart(&mut self) {
        let program = installed("redis-server").expect("it was installed before");
        let _ = std::fs::remove_file(self.socket());
        self.process = spawn(&program, &self.directory, &self.options);
        self.wait();
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The permissions that docs/scaling.md asks for.
const PERMISSIONS: &str = "on nopass ~moongate:* &moongate:* +@string +@bitmap +@hash +@list +@set +@sortedset +@stream \
                           +@keyspace +@scripting +@pubsub +select +time +info";

fn spawn(program: &PathBuf, directory: &tempfile::TempDir, options: &[String]) -> Child {
    let mut command = Command::new(program);
    // With a password, the user can do everything.
    if !options.iter().any(|option| option == "--requirepass") {
        command.args(["--user", "default"]).args(PERMISSIONS.split(' '));
    }
    command
        .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
        .arg(directory.path().join("s"))
        .args(options)
        .current_dir(directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server starts")
}
