//! The gateway behind Caddy and nginx, with exactly the recipes of docs/network.md: events aren't held back, a path
//! prefix works, and callers keep their own addresses.
//!
//! Only addresses and certificates are replaced. A missing proxy skips its tests, except in CI.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use moongate_tests::{
    AuthorizationServer, Http, IssuedCertificate, Reply, TestAuthority, TlsClient, TlsVersion, WebSocket,
    Workspace, initialize_params, project_root, request, text, wait_until,
};
use serde_json::{Value, json};

/// The public host in docs/network.md.
const HOST: &str = "gateway.example.com";

/// The address of the gateway in docs/network.md.
const UPSTREAM: &str = "127.0.0.1:8931";

/// Another program can take a port between its choice and its use.
const MAX_STARTS: u32 = 5;

const JSON: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyKind {
    Caddy,
    Nginx,
}

impl ProxyKind {
    const ALL: [Self; 2] = [Self::Caddy, Self::Nginx];

    /// The program. `None` if it isn't installed.
    #[expect(clippy::print_stderr, reason = "a skipped test must be noticed")]
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

    /// The recipe in docs/network.md.
    fn recipe(self) -> String {
        let fence = match self {
            Self::Caddy => "```caddyfile\n",
            Self::Nginx => "```nginx\n",
        };
        let page = fs::read_to_string(project_root().join("docs/network.md")).unwrap();
        let (_, rest) = page.split_once(fence).expect("docs/network.md has a recipe");
        rest.split_once("```").unwrap().0.to_owned()
    }

    /// The recipe for WebSockets.
    fn websocket_recipe(self) -> String {
        let recipe = self.recipe();
        match self {
            Self::Caddy => recipe,
            Self::Nginx => {
                let page = fs::read_to_string(project_root().join("docs/network.md")).unwrap();
                let (_, rest) =
                    page.split_once("Behind nginx, add ").expect("docs/network.md has the directives");
                let directives = rest.lines().next().unwrap().split('`').skip(1).step_by(2).take(2);
                let added: String = directives.map(|directive| format!("    {directive}\n")).collect();
                assert_eq!(added.matches("proxy_set_header").count(), 2, "{added}");
                let location = "    location = /tools/mcp {\n";
                replaced(&recipe, &[(location, &format!("{added}{location}"))])
            }
        }
    }

    /// Starts the program with a configuration in a directory that contains `certificate.pem` and `key.pem`.
    fn spawn(self, program: &Path, directory: &Workspace, recipe: &str, port: u16) -> Child {
        let root = directory.path();
        let mut command = Command::new(program);
        match self {
            Self::Caddy => {
                directory.write("Caddyfile", caddyfile(recipe, port));
                command.args(["run", "--config", "Caddyfile", "--adapter", "caddyfile"]);
            }
            Self::Nginx => {
                directory.write("nginx.conf", nginx_conf(recipe, port, root));
                command.arg("-p").arg(root).args(["-c", "nginx.conf", "-e", "stderr"]);
            }
        }
        let log = fs::File::create(root.join("log")).unwrap();
        command.current_dir(root).env("HOME", root).env("XDG_DATA_HOME", root).env("XDG_CONFIG_HOME", root);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("the proxy starts")
    }
}

/// The recipe with replaced parts. Each must occur.
fn replaced(recipe: &str, parts: &[(&str, &str)]) -> String {
    parts.iter().fold(recipe.to_owned(), |recipe, (part, other)| {
        assert!(recipe.contains(part), "the recipe doesn't contain `{part}`: {recipe}");
        recipe.replace(part, other)
    })
}

fn caddyfile(recipe: &str, port: u16) -> String {
    let site = format!("{HOST} {{\n");
    let recipe = replaced(recipe, &[(&site, &format!("{site}\ttls certificate.pem key.pem\n"))]);
    format!(
        "{{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port {port}\n\tservers {{\n\t\tprotocols h1 h2\n\t}}\n}}\n\
         {recipe}"
    )
}

/// Without a master process, one signal ends nginx.
fn nginx_conf(recipe: &str, port: u16, root: &Path) -> String {
    let root = root.display();
    let (listen, certificates) = (format!("listen {port} ssl"), format!("{root}/"));
    let recipe = replaced(recipe, &[("listen 443 ssl", &listen), ("/etc/ssl/gateway/", &certificates)]);
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("    {name}_temp_path {root}/{name};\n"))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\npid {root}/pid;\nevents {{}}\nhttp {{\n    access_log off;\n{paths}{recipe}}}\n"
    )
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A proxy in front of a gateway.
struct Proxy {
    process: Child,
    port: u16,
    client: TlsClient,
    directory: Workspace,
}

impl Proxy {
    /// Starts a proxy with a certificate from a file: Caddy's own authority isn't part of the recipe. `None` if the
    /// program isn't installed.
    fn start(kind: ProxyKind, gateway: SocketAddr) -> Option<Self> {
        Self::start_with_recipe(kind, gateway, &kind.recipe())
    }

    /// The same, with another recipe.
    fn start_with_recipe(kind: ProxyKind, gateway: SocketAddr, recipe: &str) -> Option<Self> {
        let program = kind.program()?;
        let authority = TestAuthority::new();
        let IssuedCertificate { certificate, key } = authority.server_named(HOST);
        let recipe = replaced(recipe, &[(UPSTREAM, &gateway.to_string())]);
        let mut reason = String::new();
        for _ in 0..MAX_STARTS {
            let directory = Workspace::new("");
            directory.write("certificate.pem", &certificate);
            directory.write("key.pem", &key);
            let port = free_port();
            let process = kind.spawn(&program, &directory, &recipe, port);
            // nginx before 1.23.4 enables TLS 1.3 only if it is configured.
            let client = TlsClient::new(authority.certificate(), TlsVersion::Tls12, None).of_host(HOST);
            let mut proxy = Self { process, port, client, directory };
            match proxy.wait_until_ready() {
                Ok(()) => return Some(proxy),
                Err(error) => {
                    let log = fs::read_to_string(proxy.directory.path().join("log")).unwrap();
                    reason = format!("{error}: {log}");
                }
            }
        }
        panic!("{kind:?} didn't start: {reason}");
    }

    /// Waits until the proxy answers. Fails if it exits, because another program has its port.
    fn wait_until_ready(&mut self) -> Result<(), String> {
        let mut end = None;
        wait_until("the proxy answers", || {
            end = match self.process.try_wait().unwrap() {
                Some(status) => Some(Err(status.to_string())),
                // A plain connection proves nothing: on a free port, a connection can even reach itself.
                None => self.client.connect(self.address(None)).ok().map(|_| Ok(())),
            };
            end.is_some()
        });
        end.expect("the condition holds")
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

    fn get(&self, path: &str) -> Reply {
        self.client.send(self.address(None), &format!("GET {path}"), &[], "").expect("a response")
    }

    fn open_session(&self, interface: Option<IpAddr>, headers: &[(&str, &str)]) -> String {
        let reply = self.post(interface, headers, &initialize());
        let session = reply.header("mcp-session-id").unwrap_or_else(|| panic!("{reply:?}")).to_owned();
        // Before this, a session gets no notifications.
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let headers = [headers, &[("Mcp-Session-Id", &*session)]].concat();
        assert_eq!(self.post(interface, &headers, &initialized).status, 202);
        session
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn initialize() -> Value {
    request(1, "initialize", initialize_params("2025-11-25"))
}

/// An address of this machine other than loopback. `None` without a network.
fn other_interface() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.77:9").ok()?; // sends nothing
    socket.local_addr().ok().map(|own| own.ip()).filter(|own| !own.is_loopback())
}

/// A gateway for the recipes, with more keys of `[http]`.
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
        let session = proxy.open_session(None, &[]);
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
fn a_proxy_passes_websockets_on() {
    for kind in ProxyKind::ALL {
        let workspace = workspace(&format!(
            "websocket = true\nallowed_hosts = [\"{HOST}\"]\n\
             auth.tokens = [{{ name = \"ann\", token = {{ file = \"ann\" }} }}]"
        ));
        workspace.write("ann", "token-of-ann-and-nobody-else");
        let http = Http::start(&workspace);
        let recipe = kind.websocket_recipe();
        let Some(proxy) = Proxy::start_with_recipe(kind, http.address(), &recipe) else { continue };
        let connect = |headers: &[(&str, &str)]| {
            let stream = proxy.client.connect(proxy.address(None)).unwrap();
            WebSocket::connect_over(stream, "/tools/mcp", &[&[("host", HOST)], headers].concat())
        };
        let token = ("authorization", "Bearer token-of-ann-and-nobody-else");
        for (headers, expected) in [
            (vec![], 401),
            (vec![token, ("origin", "https://evil.example")], 403),
            (vec![token, ("sec-websocket-protocol", "")], 400),
        ] {
            assert_eq!(connect(&headers).err(), Some(expected), "{kind:?} {headers:?}");
        }
        let mut socket = connect(&[token]).unwrap();
        socket.send(&initialize());
        assert_eq!(socket.receive()["result"]["protocolVersion"], "2025-11-25", "{kind:?}");
        socket.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        for size in [1, 100, 70_000, 300_000] {
            let echoed = "é".repeat(size);
            let call = json!({ "name": "zoo_echo", "arguments": { "text": echoed } });
            socket.send(&request(2, "tools/call", call));
            assert_eq!(text(&socket.receive()), echoed, "{kind:?} {size}");
        }
        // A message that answers no request.
        let config = fs::read_to_string(workspace.config()).unwrap();
        workspace.write("gateway.toml", config.replace("[plugins.zoo]", "[plugins.zoo2]"));
        assert_eq!(socket.receive()["method"], "notifications/tools/list_changed", "{kind:?}");
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
        let refused = proxy.post(None, &[], &initialize());
        assert_eq!(refused.status, 401, "{kind:?}: {refused:?}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(
            challenge.contains(&format!("resource_metadata=\"https://{HOST}{metadata}\"")),
            "{challenge}"
        );
        for path in [metadata, "/.well-known/oauth-protected-resource"] {
            let found = proxy.get(path);
            assert_eq!(
                (found.status, &found.json()["resource"]),
                (200, &Value::from(&*resource)),
                "{kind:?} {path}"
            );
        }
        // Nothing else of the gateway is public.
        for path in ["/mcp", "/status.json", "/tools/mcp2", "/"] {
            let found = proxy.get(path);
            assert_ne!(found.status, 200, "{kind:?} {path}");
            assert!(found.header("www-authenticate").is_none(), "{kind:?} {path}: {found:?}");
        }
    }
}

#[test]
fn a_proxy_passes_the_host_of_the_request_on() {
    for kind in ProxyKind::ALL {
        let http = Http::start(&workspace(&format!("allowed_hosts = [\"{HOST}\"]")));
        let Some(proxy) = Proxy::start(kind, http.address()) else { continue };
        assert_eq!(proxy.post(None, &[], &initialize()).status, 200, "{kind:?}");
        // A page of another name that resolves to the proxy, over the same connection to the expected host.
        let mut stream = proxy.client.connect(proxy.address(None)).unwrap();
        let body = initialize().to_string();
        let head = format!(
            "POST /tools/mcp HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\nContent-Length: {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let lines: Vec<String> = BufReader::new(stream).lines().map_while(Result::ok).collect();
        assert!(lines.iter().all(|line| !line.contains("serverInfo")), "{kind:?}: {lines:?}");
    }
}

#[test]
fn callers_behind_a_proxy_have_budgets_of_their_own() {
    let Some(interface) = other_interface() else {
        eprintln!("!! SKIPPED: this machine has no other address");
        return;
    };
    for kind in ProxyKind::ALL {
        let http = Http::start(&workspace(&format!("allowed_hosts = [\"{HOST}\"]\nmax_sessions = 4")));
        let Some(proxy) = Proxy::start(kind, http.address()) else { continue };
        let quiet = proxy.open_session(None, &[]);
        // The other client claims to be several.
        let pretend = |number: u32| {
            let claimed = format!("203.0.113.{number}");
            proxy.open_session(Some(interface), &[("X-Forwarded-For", &claimed)])
        };
        let busy: Vec<_> = (0..6).map(pretend).collect();
        let status = |interface, session: &str| {
            let headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
            proxy.post(interface, &headers, &request(2, "ping", json!({}))).status
        };
        assert_eq!(status(None, &quiet), 200, "{kind:?}");
        assert_eq!(status(Some(interface), &busy[0]), 404, "{kind:?}: its own later sessions made it end");
        assert_eq!(status(Some(interface), &busy[5]), 200, "{kind:?}");
    }
}
