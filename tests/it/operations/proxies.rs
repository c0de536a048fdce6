//! The gateway behind Caddy and nginx, with the very configuration that docs/network.md shows: streams aren't buffered,
//! a path prefix works, and callers keep their own addresses.
//!
//! A missing proxy skips its tests, except in CI.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use moongate_tests::{
    AuthorizationServer, Http, IssuedCertificate, Reply, TestAuthority, TlsClient, TlsVersion, Workspace,
    initialize_params, project_root, request, wait_until,
};
use serde_json::Value;

/// The public host in docs/network.md.
const HOST: &str = "gateway.example.com";

/// The address of the gateway in docs/network.md.
const UPSTREAM: &str = "127.0.0.1:8931";

const JSON: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// A proxy in front of a gateway.
struct Proxy {
    process: Child,
    port: u16,
    client: TlsClient,
    _directory: Workspace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyKind {
    Caddy,
    Nginx,
}

impl ProxyKind {
    const ALL: [Self; 2] = [Self::Caddy, Self::Nginx];

    /// The program. `None` if it isn't installed.
    fn program(self) -> Option<PathBuf> {
        let name = match self {
            Self::Caddy => "caddy",
            Self::Nginx => "nginx",
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut directories = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
        let found =
            directories.find_map(|directory| Some(directory.join(name)).filter(|program| program.exists()));
        if found.is_none() {
            let is_ci = std::env::var("CI").is_ok_and(|ci| !ci.is_empty() && ci != "false");
            assert!(!is_ci, "`{name}` isn't installed");
            eprintln!("!! SKIPPED: `{name}` isn't installed");
        }
        found
    }

    /// The recipe in docs/network.md for a gateway at an address.
    fn recipe(self, gateway: SocketAddr) -> String {
        let fence = match self {
            Self::Caddy => "```caddyfile\n",
            Self::Nginx => "```nginx\n",
        };
        let page = fs::read_to_string(project_root().join("docs/network.md")).unwrap();
        let (_, rest) = page.split_once(fence).expect("docs/network.md has a recipe");
        let (recipe, _) = rest.split_once("```").unwrap();
        assert!(recipe.contains(UPSTREAM) && recipe.contains(HOST), "{recipe}");
        recipe.replace(UPSTREAM, &gateway.to_string())
    }
}

impl Proxy {
    fn start(kind: ProxyKind, gateway: SocketAddr) -> Option<Self> {
        let program = kind.program()?;
        let directory = Workspace::new("");
        let port = free_port();
        let recipe = kind.recipe(gateway);
        let root = directory.path();
        let (process, authority) = match kind {
            ProxyKind::Caddy => start_caddy(&program, &directory, &recipe, port),
            ProxyKind::Nginx => start_nginx(&program, &directory, &recipe, port),
        };
        let authority_file = root.join(authority);
        wait_until("the proxy listens", || {
            authority_file.exists() && TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let authority = fs::read_to_string(authority_file).unwrap();
        let client = TlsClient::new(&authority, TlsVersion::Tls13, None).of_host(HOST);
        let proxy = Self { process, port, client, _directory: directory };
        // Caddy issues the certificate shortly after it listens.
        wait_until("the proxy has a certificate", || proxy.client.connect(proxy.address(None)).is_ok());
        Some(proxy)
    }

    /// The address of the proxy on loopback or on another interface: connections come from the same address.
    fn address(&self, interface: Option<IpAddr>) -> SocketAddr {
        SocketAddr::new(interface.unwrap_or([127, 0, 0, 1].into()), self.port)
    }

    fn post(&self, interface: Option<IpAddr>, headers: &[(&str, &str)], message: &Value) -> Reply {
        let headers = [&JSON[..], headers].concat();
        let sent =
            self.client.send(self.address(interface), "POST /tools/mcp", &headers, &message.to_string());
        sent.expect("a response")
    }

    fn open_session(&self, interface: Option<IpAddr>) -> String {
        let reply = self.post(interface, &[], &request(1, "initialize", initialize_params("2025-11-25")));
        reply.header("mcp-session-id").unwrap_or_else(|| panic!("{reply:?}")).to_owned()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Caddy with a certificate of its own authority instead of a public one.
fn start_caddy(program: &Path, directory: &Workspace, recipe: &str, port: u16) -> (Child, &'static str) {
    let options = format!(
        "{{\n admin off\n skip_install_trust\n local_certs\n https_port {port}\n http_port {}\n}}\n",
        free_port()
    );
    directory.write("Caddyfile", format!("{options}{recipe}"));
    let process = Command::new(program)
        .args(["run", "--config", "Caddyfile", "--adapter", "caddyfile"])
        .current_dir(directory.path())
        .env("HOME", directory.path())
        .env("XDG_DATA_HOME", directory.path())
        .env("XDG_CONFIG_HOME", directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("Caddy starts");
    (process, "caddy/pki/authorities/local/root.crt")
}

fn start_nginx(program: &Path, directory: &Workspace, recipe: &str, port: u16) -> (Child, &'static str) {
    let authority = TestAuthority::new();
    let IssuedCertificate { certificate, key } = authority.server_named(HOST);
    directory.write("authority.pem", authority.certificate());
    directory.write("certificate.pem", certificate);
    directory.write("key.pem", key);
    let root = directory.path().display();
    assert!(recipe.contains("listen 443 ssl") && recipe.contains("/etc/ssl/gateway/"), "{recipe}");
    let recipe = recipe
        .replace("listen 443 ssl", &format!("listen {port} ssl"))
        .replace("/etc/ssl/gateway/", &format!("{root}/"));
    // Only root may change users, and a worker of another user couldn't use the directory.
    let user = if fs::metadata("/proc/self").is_ok_and(|process| owner(&process) == 0) {
        "user root;\n"
    } else {
        ""
    };
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!(" {name}_temp_path {root}/{name};\n"))
        .concat();
    directory.write(
        "nginx.conf",
        format!(
            "{user}daemon off;\npid {root}/pid;\nevents {{}}\nhttp {{\n access_log off;\n{paths}{recipe}}}\n"
        ),
    );
    let process = Command::new(program)
        .args(["-p", &root.to_string(), "-c", "nginx.conf", "-e", "error.log"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nginx starts");
    (process, "authority.pem")
}

fn owner(metadata: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(metadata)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// An address of this machine other than loopback. `None` without a network.
fn other_interface() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.77:9").ok()?; // sends nothing
    socket.local_addr().ok().map(|own| own.ip()).filter(|own| !own.is_loopback())
}

fn workspace(http: &str) -> Workspace {
    Workspace::new(&format!(
        "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n{http}\n[plugins.zoo]\nsource = \"@zoo@\"\n"
    ))
}

#[test]
fn a_proxy_passes_events_on_at_once() {
    for kind in ProxyKind::ALL {
        let workspace = workspace(&format!("allowed_hosts = [\"{HOST}\"]"));
        let http = Http::start(&workspace);
        let Some(proxy) = Proxy::start(kind, http.address()) else { continue };
        let session = proxy.open_session(None);
        let mut stream = proxy.client.connect(proxy.address(None)).unwrap();
        let head = format!(
            "GET /tools/mcp HTTP/1.1\r\nHost: {HOST}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\
             MCP-Protocol-Version: 2025-11-25\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines();
        let mut read_until = |what: &str| {
            let found = lines.find_map(|line| {
                line.map_or_else(
                    |error| panic!("{kind:?}: {error}"),
                    |line| line.contains(what).then_some(line),
                )
            });
            assert!(found.is_some(), "{kind:?}: the stream ended before {what}");
        };
        read_until("HTTP/1.1 200");
        // The first event has no successor that would push it out of a buffer.
        read_until("retry:");
        let text = fs::read_to_string(workspace.config()).unwrap();
        workspace.write("gateway.toml", text.replace("[plugins.zoo]", "[plugins.zoo2]"));
        read_until("notifications/tools/list_changed");
    }
}

#[test]
fn a_path_prefix_is_part_of_the_resource() {
    let resource = format!("https://{HOST}/tools/mcp");
    let metadata = "/.well-known/oauth-protected-resource/tools/mcp";
    for kind in ProxyKind::ALL {
        let issuer = AuthorizationServer::start(&[]);
        let workspace = workspace(&format!(
            "[http.auth]\nresource = \"{resource}\"\n[[http.auth.issuers]]\nissuer = \"{}\"",
            issuer.issuer()
        ));
        let http = Http::start(&workspace);
        let Some(proxy) = Proxy::start(kind, http.address()) else { continue };
        let refused = proxy.post(None, &[], &request(1, "initialize", initialize_params("2025-11-25")));
        assert_eq!(refused.status, 401, "{kind:?}: {refused:?}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(
            challenge.contains(&format!("resource_metadata=\"https://{HOST}{metadata}\"")),
            "{challenge}"
        );
        for path in [metadata, "/.well-known/oauth-protected-resource"] {
            let found = proxy.client.send(proxy.address(None), &format!("GET {path}"), &[], "").unwrap();
            assert_eq!(
                (found.status, &found.json()["resource"]),
                (200, &Value::from(&*resource)),
                "{kind:?} {path}"
            );
        }
        // Nothing else of the gateway is public.
        for path in ["/mcp", "/status.json", "/tools/mcp2", "/"] {
            let found = proxy.client.send(proxy.address(None), &format!("GET {path}"), &[], "").unwrap();
            assert_ne!(found.status, 200, "{kind:?} {path}");
            assert!(found.header("www-authenticate").is_none(), "{kind:?} {path}: {found:?}");
        }
    }
}

#[test]
fn callers_behind_a_proxy_have_budgets_of_their_own() {
    let Some(interface) = other_interface() else {
        eprintln!("!! SKIPPED: this machine has no other address");
        return;
    };
    for kind in ProxyKind::ALL {
        let workspace = workspace(&format!("allowed_hosts = [\"{HOST}\"]\nmax_sessions = 4"));
        let http = Http::start(&workspace);
        let Some(proxy) = Proxy::start(kind, http.address()) else { continue };
        let quiet = proxy.open_session(Some(interface));
        let busy: Vec<_> = (0..6).map(|_| proxy.open_session(None)).collect();
        let status = |interface, session: &str| {
            let headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
            proxy.post(interface, &headers, &request(2, "ping", Value::Object(serde_json::Map::new()))).status
        };
        assert_eq!(status(Some(interface), &quiet), 200, "{kind:?}");
        assert_eq!(status(None, &busy[0]), 404, "{kind:?}: its own later sessions made it end");
        assert_eq!(status(None, &busy[5]), 200, "{kind:?}");
    }
}
