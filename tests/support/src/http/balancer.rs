//! HAProxy in front of several gateways, with the configuration of docs/scaling.md.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio as Pipe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use super::Http;
use crate::{Workspace, installed, project_root};

/// The listener in docs/scaling.md.
const BIND: &str = "bind :443 ssl crt /etc/haproxy/gateway.pem alpn h2,http/1.1";

/// The ports from which gateways that are restarted get theirs. The system chooses ports above these for others.
const FIXED_PORTS: std::ops::Range<u16> = 20_000..30_000;

impl Http {
    /// Starts HAProxy without TLS in front of gateways. `directory` gets its configuration. `None` means that it isn't
    /// installed, which is a failure in CI.
    ///
    /// # Panics
    /// If HAProxy can't be started, or docs/scaling.md has another configuration than expected.
    #[must_use]
    pub fn balancing(gateways: &[SocketAddr], directory: &Workspace) -> Option<Self> {
        let program = installed("haproxy")?;
        directory.write("haproxy.cfg", config(gateways));
        // Its listener is inherited, so that no other program can take the port.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the port is bound");
        let mut command = Command::new(program);
        command.args(["-db", "-f", "haproxy.cfg"]).current_dir(directory.path());
        command.stdin(OwnedFd::from(listener)).stdout(Pipe::null()).stderr(Pipe::null());
        let child = command.spawn().expect("haproxy starts");
        Some(Self { child, address, log: Arc::default(), reader: None, validator: Arc::default() })
    }
}

/// The configuration in docs/scaling.md, with another listener, and with these gateways.
fn config(gateways: &[SocketAddr]) -> String {
    let page = fs::read_to_string(project_root().join("docs/scaling.md")).expect("read docs/scaling.md");
    let (_, rest) = page.split_once("```haproxy\n").expect("docs/scaling.md has a configuration");
    let (recipe, _) = rest.split_once("```").expect("the configuration ends");
    assert!(recipe.contains(BIND), "the configuration has another listener: {recipe}");
    let (before, servers) = recipe.split_once("    server ").expect("the configuration has servers");
    assert!(servers.lines().skip(1).all(|line| line.starts_with("    server ")), "{recipe}");
    let mut config = before.replace(BIND, "bind fd@0");
    for (number, address) in gateways.iter().enumerate() {
        config += &format!("    server gateway{number} {address}\n");
    }
    config
}

/// An address for a gateway that is restarted: nobody else gets its port in the meantime.
///
/// # Panics
/// If all ports are in use.
#[must_use]
pub fn fixed_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test programs that run at the same time start with different ports.
    let start = std::process::id() as u16;
    let address = FIXED_PORTS.map(|_| {
        let offset = start.wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        SocketAddr::from(([127, 0, 0, 1], FIXED_PORTS.start + offset % FIXED_PORTS.len() as u16))
    });
    let mut address = address.filter(|address| TcpListener::bind(address).is_ok());
    address.next().expect("a free port")
}
