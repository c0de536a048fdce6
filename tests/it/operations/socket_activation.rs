//! Socket activation: the gateway serves sockets that it gets as systemd passes them.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use moongate_tests::{Workspace, initialize_params, project_root, request, send_signal};
use serde_json::{Value, json};

/// How long a test waits for an expected event. Generous, because the machine can be busy.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// A gateway with passed sockets.
struct ActivatedGateway {
    child: Child,
    log: Receiver<String>,
}

/// The command of a gateway that gets at most two sockets. A shell moves them from stdin and stdout to where systemd puts
/// them, and sets the variables for its own process, which becomes the gateway.
fn command(workspace: &Workspace, arguments: &[&str], sockets: Vec<OwnedFd>, process: &str) -> Command {
    let count = sockets.len();
    let moved = ["3<&0", "4<&1"][..count].join(" ");
    let script = format!(
        "exec {moved} 0</dev/null 1>/dev/null; export LISTEN_FDS={count} LISTEN_PID={process}; exec \"$@\""
    );
    let gateway = workspace.command(arguments);
    let variables = gateway.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh"]).arg(gateway.get_program()).args(gateway.get_args());
    shell.current_dir(workspace.path()).env_clear().envs(variables).stderr(Stdio::piped());
    let mut sockets = sockets.into_iter();
    shell.stdin(sockets.next().map_or(Stdio::null(), Stdio::from));
    shell.stdout(sockets.next().map_or(Stdio::null(), Stdio::from));
    shell
}

impl ActivatedGateway {
    /// Starts the gateway and waits until it serves.
    fn start(workspace: &Workspace, arguments: &[&str], sockets: Vec<OwnedFd>) -> Self {
        Self::spawn(command(workspace, arguments, sockets, "$$"))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, log) = channel();
        thread::spawn(move || {
            let mut text = String::new();
            let mut at = 0;
            while stderr.read_line(&mut text).is_ok_and(|length| length > 0) {
                if text[at..].starts_with("serving   ") {
                    let _ = send.send(text.clone());
                }
                at = text.len();
            }
            let _ = send.send(text);
        });
        Self { child, log }
    }

    /// The log up to the banner, or the whole log if the gateway exits.
    fn log(&self) -> String {
        self.log.recv_timeout(WAIT_TIMEOUT).unwrap()
    }

    fn terminate(mut self) {
        send_signal(self.child.id(), "TERM");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for ActivatedGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn initialize() -> String {
    request(1, "initialize", initialize_params("2025-11-25")).to_string()
}

/// Reads the response to `initialize`.
#[track_caller]
fn check_initialized(answer: &str) {
    let answer: Value = serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
}

fn send_over_http(stream: &mut TcpStream) {
    let body = initialize();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
}

#[test]
fn serves_passed_sockets_instead_of_its_own() {
    let workspace =
        Workspace::new("[unix_socket]\npath = \"own/mcp.sock\"\n[plugins.time]\nsource = \"@time@\"\n");
    let path = workspace.path().join("passed.sock");
    let http = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = http.local_addr().unwrap();
    let socket = UnixListener::bind(&path).unwrap();
    // systemd starts the gateway because of a connection, which waits until then.
    let mut first = TcpStream::connect(address).unwrap();
    send_over_http(&mut first);
    let gateway = ActivatedGateway::start(&workspace, &["serve"], vec![http.into(), socket.into()]);
    let log = gateway.log();
    assert!(log.contains(&format!("endpoint  http://{address}/mcp\n")), "{log}");
    assert!(log.contains(&format!("endpoint  unix:{}\n", path.display())), "{log}");
    assert!(!workspace.path().join("own").exists());
    let mut response = String::new();
    first.read_to_string(&mut response).unwrap();
    check_initialized(response.split("\r\n\r\n").nth(1).unwrap());
    let mut stream = UnixStream::connect(&path).unwrap();
    writeln!(stream, "{}", initialize()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    check_initialized(&line);
    gateway.terminate();
    assert!(path.exists(), "systemd removes it");
}

#[test]
fn one_passed_socket_is_the_only_listener() {
    let workspace = Workspace::with_plugin("time");
    let path = workspace.path().join("passed.sock");
    let socket = UnixListener::bind(&path).unwrap();
    let gateway = ActivatedGateway::start(&workspace, &["serve"], vec![socket.into()]);
    let log = gateway.log();
    assert!(log.contains("endpoint  unix:") && !log.contains("endpoint  http"), "{log}");
    gateway.terminate();
}

#[test]
fn sockets_of_another_process_are_ignored() {
    let workspace = Workspace::with_plugin("time");
    let socket = UnixListener::bind(workspace.path().join("passed.sock")).unwrap();
    let gateway = ActivatedGateway::spawn(command(&workspace, &["serve"], vec![socket.into()], "1"));
    let log = gateway.log();
    assert!(log.contains("endpoint  http") && !log.contains("endpoint  unix:"), "{log}");
    gateway.terminate();
}

#[test]
fn unusable_sockets_are_errors() {
    let workspace = Workspace::with_plugin("time");
    let tcp = || OwnedFd::from(TcpListener::bind("127.0.0.1:0").unwrap());
    let connection = OwnedFd::from(UnixStream::pair().unwrap().0);
    let datagrams = OwnedFd::from(UnixDatagram::unbound().unwrap());
    let file = OwnedFd::from(fs::File::open(workspace.config()).unwrap());
    let open = OwnedFd::from(TcpListener::bind("0.0.0.0:0").unwrap());
    for (sockets, arguments, code, message) in [
        (vec![tcp(), tcp()], &["serve"][..], 1, "several TCP sockets"),
        (vec![connection], &["serve"], 1, "set `Accept=no`"),
        (vec![datagrams], &["serve"], 1, "isn't a TCP or Unix stream socket"),
        (vec![file], &["serve"], 1, "isn't a TCP or Unix stream socket"),
        (vec![open], &["serve"], 78, "refusing to listen on non-loopback address"),
        (vec![tcp()], &["serve", "--http", "127.0.0.1:0"], 2, "the one in `--http`"),
    ] {
        let output = command(&workspace, arguments, sockets, "$$").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(message), "{error}");
    }
}

/// The gateway uses one socket of each kind, and systemd must not accept connections itself.
#[test]
fn socket_unit_passes_a_socket_with_permissions() {
    let unit = fs::read_to_string(project_root().join("contrib/systemd/moongate.socket")).unwrap();
    let settings: Vec<_> = unit.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let sections: Vec<_> = settings.iter().filter(|line| line.starts_with('[')).collect();
    assert_eq!(sections, [&"[Unit]", &"[Socket]", &"[Install]"]);
    let of = |key: &str| settings.iter().filter(|line| line.split('=').next() == Some(key)).count();
    assert_eq!((of("ListenStream"), of("SocketMode"), of("Accept")), (1, 1, 0));
    assert_eq!(json!(settings.last()), "WantedBy=sockets.target");
}
