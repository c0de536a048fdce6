//! A Valkey or Redis server without persistence, as the store that several gateways share.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::server::Server;

/// Starts a server of this program on a free port; `url` is its address for `[store]`.
pub(crate) fn start(program: &Path) -> Result<Server> {
    let port = TcpListener::bind("127.0.0.1:0").context("no free port")?.local_addr()?.port();
    let mut command = Command::new(program);
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"]);
    Server::start_at(command, &format!("redis://127.0.0.1:{port}"))
}
