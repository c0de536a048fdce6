//! Plugins from addresses: fetching and locking them, starting from the lock file and the cache alone, and updating
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use moongate_generated::{Plugin, TOOL};
use moongate_model::names::Digest;
use moongate_tests::{Http, TestServer, Workspace, on_terminal, text, wait_until};
use serde_json::{Value, json};

/// A workspace with a cache of its own.
pub(super) struct Sources {
    pub(super) workspace: Workspace,
}

impl Sources {
    pub(super) fn new(configuration: &str) -> Self {
        Self { workspace: Workspace::new(configuration) }
    }

    /// One plugin `one` from this address, with further settings in `more`.
    pub(super) fn one(address: &str, more: &str) -> Self {
        Self::new(&format!("[plugins.one]\nsource = \"{address}\"\n{more}\n"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.command(arguments);
        command.env("MOONGATE_CACHE_DIR", self.path("cache"));
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that succeeds, and returns its output.
    #[track_caller]
    pub(super) fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that fails, and returns its messages.
    #[track_caller]
    pub(super) fn fail(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    pub(super) fn lock(&self) -> String {
        fs::read_to_string(self.path("moongate.lock")).unwrap_or_default()
    }

    pub(super) fn stored(&self) -> BTreeMap<String, PathBuf> {
        let entries = fs::read_dir(self.path("cache/components")).into_iter().flatten().flatten();
        entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.path())).collect()
    }

    pub(super) fn serve(&self) -> Http {
        Http::spawn(self.command(&["serve"]))
    }
}

/// A server with a version of a plugin at `/one.wasm`.
pub(super) fn server(version: u32) -> TestServer {
    let server = TestServer::start();
    put(&server, version);
    server
}

pub(super) fn put(server: &TestServer, version: u32) {
    server.put("/one.wasm", &[], Plugin::version(version).build());
}

/// The result of the plugin's tool.
pub(super) fn version(http: &Http) -> String {
    text(&http.call(&format!("one_{TOOL}"), json!({}))).to_owned()
}

pub(super) fn digest(version: u32) -> String {
    Digest::of(&Plugin::version(version).build()).to_string()
}

#[test]
fn a_start_uses_only_the_lock_and_the_cache() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "");
    // Without a lock file, the plugin isn't loaded, and the message names the command.
    let before = sources.fail(&["check"]);
    assert!(before.contains("its address isn't in `moongate.lock` yet"), "{before}");
    assert!(before.contains("hint: run `moongate fetch one`"), "{before}");
    assert_eq!(server.connections(), 0, "`check` contacted the server");
    let fetched = sources.succeed(&["fetch"]);
    assert!(fetched.starts_with("one: fetched: http://") && fetched.contains(&digest(1)), "{fetched}");
    let lock = sources.lock();
    assert!(
        lock.contains("[plugins.one]") && lock.contains(&format!("component = \"sha256:{}\"", digest(1))),
        "{lock}"
    );
    // Neither another file at the address nor an unreachable server makes a difference.
    put(&server, 2);
    let contacted = server.connections();
    sources.succeed(&["check"]);
    let http = sources.serve();
    assert_eq!(version(&http), "v1");
    assert_eq!(server.connections(), contacted, "the gateway contacted the server");
    drop(server);
    drop(http);
    assert_eq!(version(&sources.serve()), "v1");
    assert_eq!(sources.succeed(&["fetch", "--locked", "--offline"]).lines().count(), 1);
    let document = sources.succeed(&["fetch", "--offline", "--format", "json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["plugins"][0]["digest"], digest(1), "{document}");
    assert_eq!(document["plugins"][0]["action"], "none", "{document}");
    assert_eq!(sources.lock(), lock);
}

#[test]
fn fetch_changes_only_what_its_options_allow() {
    let server = server(1);
    server.put("/two.wasm", &[], Plugin::version(2).build());
    let address = |name: &str| server.url(&format!("/{name}.wasm"));
    let sources = Sources::new(&format!(
        "[plugins.one]\nsource = \"{}\"\n[plugins.two]\nsource = \"{}\"\n[plugins.file]\nsource = \"@time@\"\n",
        address("one"),
        address("two"),
    ));
    for option in ["--locked", "--offline"] {
        let refused = sources.fail(&["fetch", option]);
        assert!(refused.contains("plugin `one`: its address isn't locked"), "{refused}");
        assert!(refused.contains("plugin `two`: its address isn't locked"), "{refused}");
        assert!(refused.contains(&format!("run `moongate fetch one` without `{option}`")), "{refused}");
    }
    assert_eq!(sources.lock(), "");
    assert_eq!(server.connections(), 0);
    sources.succeed(&["fetch", "one"]);
    assert!(!sources.lock().contains("[plugins.two]"));
    // Missing bytes are downloaded again with `--locked`, if they are the same.
    sources.stored().into_values().for_each(|file| fs::remove_file(file).unwrap());
    assert!(sources.fail(&["fetch", "one", "--offline"]).contains("its component isn't in the cache"));
    assert!(sources.succeed(&["fetch", "one", "--locked"]).contains("downloaded"));
    sources.stored().into_values().for_each(|file| fs::remove_file(file).unwrap());
    put(&server, 3);
    let replaced = sources.fail(&["fetch", "one"]);
    assert!(
        replaced.contains("another file now") && replaced.contains("run `moongate update`"),
        "{replaced}"
    );
    assert_eq!(sources.stored().len(), 0);
    put(&server, 1);
    sources.succeed(&["fetch"]);
    assert!(sources.lock().contains("[plugins.two]"));
    // Entries of removed plugins go with the next `fetch`.
    let one = format!("version = 1\n[plugins.one]\nsource = \"{}\"\n", address("one"));
    fs::write(sources.workspace.config(), one).unwrap();
    sources.succeed(&["fetch", "one"]);
    assert!(sources.lock().contains("[plugins.two]"));
    sources.succeed(&["fetch"]);
    assert!(!sources.lock().contains("[plugins.two]"), "{}", sources.lock());
    let unknown = sources.fail(&["fetch", "none"]);
    assert!(unknown.contains("no plugin `none`") && unknown.contains("are `one`"), "{unknown}");
}

#[test]
fn a_lock_for_another_address_digest_or_signer_isnt_used() {
    let server = server(1);
    server.put("/one.wasm?2", &[], Plugin::version(1).build());
    let address = server.url("/one.wasm");
    let sources = Sources::one(&address, "");
    sources.succeed(&["fetch"]);
    let lock = sources.lock();
    let other = digest(2);
    let signer = "[sources.signers]\nacme = { minisign = \"RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\" }\n";
    for (more, expected) in [
        (format!("sha256 = \"{other}\""), "differs from `sha256`"),
        (format!("signed_by = [\"acme\"]\n{signer}"), "its signature wasn't checked yet"),
        (format!("{signer}[sources]\nrequire_signature = true"), "its signature wasn't checked yet"),
    ] {
        let text = format!("version = 1\n[plugins.one]\nsource = \"{address}\"\n{more}\n");
        fs::write(sources.workspace.config(), text).unwrap();
        let refused = sources.fail(&["check"]);
        assert!(refused.contains(expected) && refused.contains("`moongate"), "{refused}");
    }
    fs::write(sources.workspace.config(), format!("version = 1\n[plugins.one]\nsource = \"{address}?2\"\n"))
        .unwrap();
    assert!(sources.fail(&["check"]).contains("has another address for it"));
    assert_eq!(sources.lock(), lock);
    sources.succeed(&["fetch"]);
    assert!(sources.lock().contains("/one.wasm?2\""), "{}", sources.lock());
    sources.succeed(&["check"]);
}

#[test]
fn a_running_gateway_keeps_serving_with_a_broken_lock_or_store() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "");
    sources.succeed(&["fetch"]);
    let good = sources.lock();
    let http = sources.serve();
    assert_eq!(version(&http), "v1");
    let broken = [
        (format!("<<<<<<< ours\n{good}=======\n>>>>>>> theirs\n"), "contains a merge conflict"),
        (good.replace("version = 1", "version = 2"), "this gateway supports version 1"),
        (good[..good.len() / 2].to_owned(), "is damaged: line"),
        ("version = 1\n".to_owned(), "isn't in `moongate.lock` yet"),
    ];
    for (text, expected) in broken {
        fs::write(sources.path("moongate.lock"), text).unwrap();
        http.wait_for_log(expected);
        assert_eq!(version(&http), "v1");
        fs::write(sources.path("moongate.lock"), &good).unwrap();
        http.wait_for_log("recovered");
    }
    // A fresh start reports it, too, and the other plugins serve.
    drop(http);
    let file = sources.stored().into_values().next().unwrap();
    fs::remove_file(&file).unwrap();
    let missing = sources.fail(&["check"]);
    assert!(
        missing.contains("doesn't exist") && missing.contains("run `moongate fetch one`, which downloads"),
        "{missing}"
    );
    fs::write(&file, "damaged").unwrap();
    let damaged = sources.fail(&["check"]);
    assert!(
        damaged.contains("SHA-256 digest is ")
            && damaged.contains(" instead of ")
            && damaged.contains("run `moongate fetch one`"),
        "{damaged}"
    );
    sources.succeed(&["fetch"]);
    sources.succeed(&["check"]);
}

#[test]
fn update_shows_the_differences_and_asks() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "");
    sources.succeed(&["fetch"]);
    let http = sources.serve();
    let before = sources.lock();
    assert_eq!(sources.succeed(&["update"]), "");
    server.put("/one.wasm", &[], Plugin::version(2).tool("more").build());
    let shown = sources.run(&["update", "--dry-run"]);
    let page = String::from_utf8(shown.stdout).unwrap();
    assert!(page.contains(&digest(1)) && page.contains("tools: +more"), "{page}");
    assert!(page.contains("version: "), "{page}");
    let unconfirmed = sources.fail(&["update"]);
    assert!(unconfirmed.contains("nothing changed") && unconfirmed.contains("--yes"), "{unconfirmed}");
    assert_eq!(sources.run(&["update"]).status.code(), Some(2));
    // As for `add`, the answer no isn't a success.
    let mut terminal = on_terminal(&sources.command(&["update"]));
    let mut child = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"n\n").unwrap();
    let refused = child.wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stdout).contains("Lock 1 update? [y/N]"), "{refused:?}");
    assert_eq!(sources.lock(), before);
    assert_eq!(version(&http), "v1");
    // The lock file alone makes the running gateway load the new version.
    sources.succeed(&["update", "one", "--yes"]);
    wait_until("the new version serves", || version(&http) == "v2");
    let document = sources.succeed(&["update", "--yes", "--format", "json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document, json!({ "updates": [], "locked": false }));
}

#[test]
fn every_bad_answer_is_one_message_and_changes_nothing() {
    let server = server(1);
    let cross = TestServer::start();
    server.put("/page", &["Content-Type: text/html"], "<html>Not found</html>");
    server.put("/module", &[], &b"\0asm\x01\0\0\0"[..]);
    server.put("/empty", &[], "");
    let whole = Plugin::version(1).build();
    server.put("/half", &[], &whole[..whole.len() / 2]);
    server.handle("/gone", |_| ("404 Not Found", "no".to_owned()));
    server.handle("/busy", |_| ("503 Service Unavailable", "later".to_owned()));
    let large = format!("/bytes/{}", 2 << 20);
    let cases = [
        ("/page", "the server sent a web page"),
        ("/module", "the server sent a core WebAssembly module"),
        ("/empty", "the server sent an empty file"),
        ("/half", "is broken: "),
        ("/hello", "the server sent another file"),
        ("/gone", "HTTP status 404"),
        ("/busy", "HTTP status 503"),
        ("/short", "incomplete"),
        ("/cut", "/cut: "),
        ("/bare", "/bare: "),
        (&large, "larger than 1.0 MiB"),
        ("/flood", "larger than 1.0 MiB"),
        ("/redirect?/redirect?/redirect?/redirect?/redirect?/redirect?/one.wasm", "more than 5 redirects"),
        ("/redirect?http://example.invalid/one.wasm", "plain HTTP isn't allowed for `example.invalid`"),
        ("/redirect?file:///etc/passwd", "redirects to"),
        ("/redirect?", "more than 5 redirects"),
    ];
    for (path, expected) in cases {
        let sources = Sources::one(&server.url(path), "limits.component = \"1MiB\"");
        let failed = sources.fail(&["fetch"]);
        assert!(failed.contains("plugin `one`: ") && failed.contains(expected), "{path}: {failed}");
        assert_eq!(sources.lock(), "", "{path}");
        assert!(sources.stored().is_empty(), "{path}");
    }
    let elsewhere = format!("/redirect?{}", cross.url("/one.wasm"));
    put(&cross, 1);
    Sources::one(&server.url(&elsewhere), "").succeed(&["fetch"]);
}

#[test]
fn nothing_is_downloaded_without_tls_verification() {
    let server = TestServer::start_tls(&["localhost"]);
    put(&server, 1);
    let address = server.url("/one.wasm").replace("127.0.0.1", "localhost");
    let sources = Sources::one(&address, "");
    let untrusted = sources.fail(&["fetch"]);
    assert!(untrusted.contains("UnknownIssuer"), "{untrusted}");
    sources.workspace.write("ca.pem", server.ca_certificate());
    let config =
        format!("version = 1\n[gateway]\nca_file = \"ca.pem\"\n[plugins.one]\nsource = \"{address}\"\n");
    fs::write(sources.workspace.config(), config).unwrap();
    sources.succeed(&["fetch"]);
    // A redirect to plain HTTP isn't followed, not even to this machine.
    let plain = self::server(1);
    let config = fs::read_to_string(sources.workspace.config()).unwrap();
    let config = config.replace("/one.wasm", &format!("/redirect?{}", plain.url("/one.wasm")));
    fs::write(sources.workspace.config(), config).unwrap();
    let downgraded = sources.fail(&["fetch"]);
    assert!(downgraded.contains("a redirect from https to another scheme isn't followed"), "{downgraded}");
}

#[test]
fn no_command_answers_with_a_hint_to_run_itself() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "nonsense = 1");
    for words in [&["fetch"][..], &["update"], &["add", "time", "--yes"]] {
        let failed = sources.fail(words);
        assert!(failed.contains("nonsense") && !failed.contains("moongate fetch"), "{words:?}: {failed}");
    }
}

#[test]
fn concurrent_fetches_lose_nothing() {
    let server = TestServer::start();
    let names: Vec<String> = (0..6).map(|number| format!("plugin-{number}")).collect();
    let mut config = String::new();
    for (number, name) in names.iter().enumerate() {
        server.put(&format!("/{name}.wasm"), &[], Plugin::version(u32::try_from(number).unwrap()).build());
        config += &format!("[plugins.{name}]\nsource = \"{}\"\n", server.url(&format!("/{name}.wasm")));
    }
    let sources = Sources::new(&config);
    let running: Vec<_> =
        names.iter().map(|name| sources.command(&["fetch", name]).spawn().unwrap()).collect();
    let all = sources.command(&["fetch"]).spawn().unwrap();
    for mut child in running.into_iter().chain([all]) {
        assert!(child.wait().unwrap().success());
    }
    assert!(
        names.iter().all(|name| sources.lock().contains(&format!("[plugins.{name}]"))),
        "{}",
        sources.lock()
    );
    assert_eq!(sources.stored().len(), names.len());
    sources.succeed(&["check"]);
}

#[test]
fn a_full_disk_is_one_message_and_loses_nothing() {
    let server = TestServer::start();
    server.put("/one.wasm", &[], Plugin::version(1).padding(3 << 20).build());
    let sources = Sources::one(&server.url("/one.wasm"), "");
    let fetch = sources.command(&["fetch"]);
    let program = fetch.get_program().to_str().unwrap().to_owned();
    let mut limited = sources.command(&[]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$0\" fetch", &program])
        .current_dir(sources.workspace.path());
    for (name, value) in limited.env("SOURCE", "").get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let output = shell.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("can't store the component in"), "{message}");
    assert_eq!((sources.lock(), sources.stored().len()), (String::new(), 0));
    sources.succeed(&["fetch"]);
}

#[test]
fn no_plugin_can_change_the_lock_file() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "");
    sources.succeed(&["fetch"]);
    let outside = tempfile_directory();
    let lock = outside.path().join("moongate.lock");
    fs::rename(sources.path("moongate.lock"), &lock).unwrap();
    std::os::unix::fs::symlink(&lock, sources.path("moongate.lock")).unwrap();
    let grant = format!(
        "version = 1\n[plugins.one]\nsource = \"{}\"\nallow.dirs = [{{ host = \"{}\", guest = \"/d\", mode = \"rw\" }}]\n",
        server.url("/one.wasm"),
        outside.path().display(),
    );
    fs::write(sources.workspace.config(), grant).unwrap();
    let refused = sources.fail(&["check"]);
    assert!(refused.contains("the lock file"), "{refused}");
}

fn tempfile_directory() -> Workspace {
    let place = Workspace::new("");
    fs::remove_file(place.config()).unwrap();
    place
}

#[test]
fn the_lock_file_is_named_after_the_configuration() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "");
    fs::rename(sources.workspace.config(), sources.path("staging.toml")).unwrap();
    let config = sources.path("staging.toml").display().to_string();
    let unlocked = sources.fail(&["check", "--config", &config]);
    assert!(unlocked.contains(&format!("run `moongate fetch one --config {config}`")), "{unlocked}");
    let refused = sources.fail(&["fetch", "--locked", "--config", &config]);
    assert!(refused.contains(&format!("run `moongate fetch one --config {config}` without")), "{refused}");
    sources.succeed(&["fetch", "--config", &config]);
    assert!(Path::new(&sources.path("staging.lock")).exists());
    sources.succeed(&["check", "--config", &config]);
}

#[test]
fn add_downloads_and_locks_and_remove_unlocks() {
    let server = server(1);
    let address = server.url("/one.wasm");
    let sources = Sources::new("");
    let before = fs::read_to_string(sources.workspace.config()).unwrap();
    let refused = sources.fail(&["add", &address]);
    assert!(refused.contains(&digest(1)) && refused.contains("not signed by a known key"), "{refused}");
    let missing = sources.fail(&["add", &server.url("/none.wasm"), "--yes"]);
    assert!(missing.contains("isn't a component"), "{missing}");
    assert_eq!(
        (sources.lock(), fs::read_to_string(sources.workspace.config()).unwrap()),
        (String::new(), before)
    );
    sources.succeed(&["add", &address, "--yes"]);
    assert!(sources.lock().contains(&digest(1)), "{}", sources.lock());
    put(&server, 2);
    assert_eq!(version(&sources.serve()), "v1");
    sources.succeed(&["remove", "one"]);
    assert!(!sources.lock().contains("[plugins.one]"), "{}", sources.lock());
}
