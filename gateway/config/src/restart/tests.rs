//! Tests of every key of the gateway itself: whether a change needs a restart.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::parse_config;
use crate::spec::keys::{self, Key, ValueKind};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";

#[track_caller]
fn config(directory: &Path, text: &str) -> Config {
    let variables = [("TOKEN", TOKEN), ("OTHER", OTHER), ("HOME", "/nowhere")];
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let loaded = parse_config(&directory.join("gateway.toml"), format!("version = 1\n{text}"), &variables);
    loaded.config.unwrap_or_else(|| panic!("{text}: {:?}", loaded.problems))
}

/// Keys with values other than in an empty file, and whether the change needs a restart.
const CHANGES: &[(&str, &str, bool)] = &[
    ("gateway.concurrency", "3", true),
    ("gateway.memory", "'1GiB'", true),
    ("gateway.page_size", "3", true),
    ("gateway.sealing_key", "{ env = 'TOKEN' }", true),
    ("gateway.cache", "'elsewhere'", true),
    ("gateway.state", "'elsewhere'", true),
    (
        "gateway.ca_file",
        concat!("'", env!("CARGO_MANIFEST_DIR"), "/../../tests/ui/config/files/ca.pem'"),
        true,
    ),
    ("gateway.watch", "false", false),
    ("gateway.poll", "'9s'", false),
    ("gateway.wider_grants", "'wait'", false),
    ("gateway.require_all", "true", false),
    ("gateway.startup_wait", "'9s'", false),
    ("gateway.stop_grace", "'9s'", false),
    ("http.listen", "'127.0.0.1:9'", true),
    ("http.allowed_hosts", "['example.com']", true),
    ("http.allowed_origins", "['https://example.com']", true),
    ("http.max_body", "'9B'", true),
    ("http.max_sessions", "9", true),
    ("http.session_idle", "'9s'", true),
    ("http.keep_alive", "'9s'", true),
    ("http.idle_timeout", "'9s'", true),
    ("http.close_streams_after", "'9s'", true),
    ("http.legacy_sse", "true", true),
    ("http.websocket", "true", true),
    ("http.max_connections", "99", true),
    ("http.health", "true", true),
    ("http.trusted_proxies", "['10.0.0.7']", true),
    ("http.auth.tokens", "[{ name = 'ci', token = { env = 'TOKEN' } }]", false),
    ("http.auth.resource", "'https://gateway.example/mcp'", true),
    ("http.auth.scopes", "['mcp']", true),
    (
        "http.auth.issuers",
        "[{ issuer = 'https://auth.example' }]\nhttp.auth.resource = 'https://gateway.example/mcp'",
        true,
    ),
];

#[test]
fn every_key_needs_a_restart_or_takes_effect() {
    fn leaves(keys: &'static [Key], path: &str, out: &mut Vec<String>) {
        for key in keys {
            let path = format!("{path}.{}", key.name);
            match key.kind {
                ValueKind::Table(keys) => leaves(keys, &path, out),
                _ => out.push(path),
            }
        }
    }
    let mut all = Vec::new();
    for key in keys::ROOT.iter().filter(|key| ["gateway", "http"].contains(&key.name)) {
        let ValueKind::Table(keys) = key.kind else { panic!("`{}` is a table", key.name) };
        leaves(keys, key.name, &mut all);
    }
    all.retain(|key| !key.starts_with("http.tls.")); // in a test of their own, because they need files
    all.sort();
    let mut listed: Vec<_> = CHANGES.iter().map(|(key, ..)| (*key).to_owned()).collect();
    listed.sort();
    assert_eq!(all, listed);

    let empty = config(Path::new("/etc/moongate"), "");
    assert_eq!(empty.needs_restart(&empty), [""; 0]);
    for (key, value, restart) in CHANGES {
        let changed = config(Path::new("/etc/moongate"), &format!("{key} = {value}"));
        let mut expected = if *restart { vec![(*key).to_owned()] } else { Vec::new() };
        if *key == "http.auth.issuers" {
            expected.insert(0, "http.auth.resource".to_owned()); // issuers need it
        }
        assert_eq!(empty.needs_restart(&changed), expected, "{key}");
        if *key == "http.auth.tokens" {
            expected = vec![(*key).to_owned()]; // without tokens, anyone could call
        }
        assert_eq!(changed.needs_restart(&empty), expected, "{key}");
    }
}

#[test]
fn other_listeners_need_a_restart_but_plugins_do_not() {
    let at = |text| config(Path::new("/etc/moongate"), text);
    let (without, with, other) = (at(""), at("[admin]"), at("admin.listen = '[::1]:0'"));
    assert_eq!(without.needs_restart(&with), ["admin"]);
    assert_eq!(with.needs_restart(&without), ["admin"]);
    assert_eq!(with.needs_restart(&other), ["admin.listen"]);
    let socket = at("unix_socket.path = 'mcp.sock'");
    let limited = at("unix_socket = { path = 'mcp.sock', idle_timeout = '9s' }");
    for changed in
        [without.needs_restart(&socket), socket.needs_restart(&limited), limited.needs_restart(&without)]
    {
        assert_eq!(changed, ["unix_socket"]);
    }
    assert_eq!(without.needs_restart(&at("plugins.a.source = 'a.wasm'")), [""; 0]);
    for audit in ["[audit]", "audit.keep = 3", "audit.mask = ['pin']"] {
        assert_eq!(at(audit).needs_restart(&without), ["audit"]);
    }
    assert_eq!(at("[audit]").needs_restart(&at("audit.keep = 10")), [""; 0]);
}

#[test]
fn of_tls_only_changed_client_authentication_needs_a_restart() {
    let directory = TempDir::new().unwrap();
    for name in ["a", "b"] {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(directory.path().join(format!("{name}.pem")), cert.pem()).unwrap();
        fs::write(directory.path().join(format!("{name}-key.pem")), signing_key.serialize_pem()).unwrap();
    }
    let at = |name: &str, more: &str| {
        let text = format!("[http.tls]\ncertificate = '{name}.pem'\nkey = '{name}-key.pem'\n{more}");
        config(directory.path(), &text)
    };
    let plain = config(directory.path(), "");
    let (first, second) = (at("a", ""), at("b", ""));
    assert_ne!(first.http.tls, second.http.tls);
    assert_eq!(first.needs_restart(&second), [""; 0]);
    let required = at("a", "client_ca = 'a.pem'");
    let other = at("a", "client_ca = 'b.pem'");
    let optional = at("a", "client_ca = 'a.pem'\nclient_certificates = 'optional'");
    assert_ne!(required.http.tls, other.http.tls);
    assert_eq!(required.needs_restart(&other), [""; 0]);
    for (one, another) in [(&plain, &first), (&first, &required), (&required, &optional)] {
        assert_eq!(one.needs_restart(another), ["http.tls"]);
        assert_eq!(another.needs_restart(one), ["http.tls"]);
    }
}

/// Subjects have names without their issuer, which could be those of static tokens.
#[test]
fn the_first_static_token_with_one_issuer_needs_a_restart() {
    let at = |issuers: &[&str], tokens: &[&str]| {
        let issuer = |name: &&str| format!("{{ issuer = 'https://{name}.example' }}");
        let token = |name: &&str| format!("{{ name = '{name}', token = {{ env = 'TOKEN' }} }}");
        let issuers: Vec<_> = issuers.iter().map(issuer).collect();
        let tokens: Vec<_> = tokens.iter().map(token).collect();
        config(
            Path::new("/etc/moongate"),
            &format!(
                "http.auth = {{ resource = 'https://gateway.example/mcp', issuers = [{}], tokens = [{}] }}",
                issuers.join(", "),
                tokens.join(", ")
            ),
        )
    };
    let restart = |issuers: &[&str], before: &[&str], after: &[&str]| {
        at(issuers, before).needs_restart(&at(issuers, after)) == ["http.auth.tokens"]
    };
    assert!(restart(&["a"], &[], &["ci"]));
    assert!(!restart(&["a"], &["ci"], &[]) && !restart(&["a"], &["ci"], &["other"]));
    assert!(!restart(&["a", "b"], &[], &["ci"]));
}

#[test]
fn what_is_in_use_until_the_restart_cannot_be_granted() {
    let directory = TempDir::new().unwrap();
    for dir in ["cache", "other", "keys", "newkeys", "state"] {
        fs::create_dir(directory.path().join(dir)).unwrap();
    }
    fs::write(directory.path().join("keys/key"), TOKEN).unwrap();
    fs::write(directory.path().join("newkeys/key"), OTHER).unwrap();
    let at = |text: &str| config(directory.path(), text);
    let running =
        at("gateway.cache = 'cache'\ngateway.state = 'state'\ngateway.sealing_key.file = 'keys/key'");
    let problems = |text: &str| {
        let problems = running.unsafe_until_restart(&at(text));
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let new = |rest: &str| {
        format!("gateway.cache = 'other'\n[plugins.a]\nsource = 'a.wasm'\n[plugins.a.allow]\n{rest}\n")
    };
    let dir = |host: &str, mode: &str| {
        new(&format!("dirs = [{{ host = '{host}', guest = '/d', mode = '{mode}' }}]"))
    };
    assert_eq!(problems(&dir("newkeys", "rw")), [""; 0]);
    for (text, word) in [
        (dir("cache", "ro"), "cache of compiled code"),
        (dir("cache", "rw"), "cache of compiled code"),
        (dir("state", "ro"), "plugins' state"),
        (dir("keys", "ro"), "secret file `key`"),
        (new("env = ['TOKEN']"), "sealing key"),
        (new("[plugins.a.config]\nurl = 'https://x:${TOKEN}@example.com'"), "sealing key"),
        (new("[plugins.a.config]\nlist = [{ inner = '${TOKEN}' }]"), "sealing key"),
    ] {
        let problems = problems(&text);
        assert!(
            problems.len() == 1
                && problems[0].contains(word)
                && problems[0].contains("restart the gateway first"),
            "{problems:?}"
        );
        assert!(!problems[0].contains(TOKEN), "{problems:?}");
    }
}

#[test]
fn state_of_callers_needs_a_directory_that_is_in_use() {
    let directory = TempDir::new().unwrap();
    let at = |text: &str| config(directory.path(), text);
    let new = at(
        "gateway.state = 'state'\n[plugins.a]\nsource = 'a.wasm'\nallow = { state = true, state_scope = 'caller' }",
    );
    assert_eq!(at("gateway.state = 'other'").unsafe_until_restart(&new), []);
    let problems = at("").unsafe_until_restart(&new);
    let [problem] = &*problems else { panic!("{problems:?}") };
    assert!(problem.to_string().contains("restart the gateway first"), "{problem}");
}

/// A certificate that was replaced since the start stays in use if its table is removed.
#[test]
fn the_key_of_the_certificate_in_use_cannot_be_granted() {
    let directory = TempDir::new().unwrap();
    for name in ["first", "second"] {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::write(directory.path().join(name).join("cert.pem"), cert.pem()).unwrap();
        fs::write(directory.path().join(name).join("key.pem"), signing_key.serialize_pem()).unwrap();
    }
    let tls = |table: &str, name: &str| {
        format!("[{table}.tls]\ncertificate = '{name}/cert.pem'\nkey = '{name}/key.pem'\n")
    };
    let granted = |name: &str| {
        format!(
            "[plugins.a]\nsource = 'a.wasm'\nallow.dirs = [{{ host = '{name}', guest = '/d', mode = 'ro' }}]\n"
        )
    };
    let at = |text: &str| config(directory.path(), text);
    for table in ["http", "admin"] {
        // The reconciler passes the configuration at the start with the certificate in use.
        let mut in_use = at(&tls(table, "first"));
        let second = at(&tls(table, "second"));
        in_use.http.tls = second.http.tls;
        in_use.admin = second.admin;
        let removed = in_use.unsafe_until_restart(&at(&granted("second")));
        assert_eq!(removed.len(), 1, "{table}: {removed:?}");
        assert!(removed[0].to_string().contains("key"), "{removed:?}");
        assert_eq!(in_use.unsafe_until_restart(&at(&granted("first"))), [], "{table}");
        // The new file itself protects its keys.
        let replaced = format!("{}{}", tls(table, "first"), granted("second"));
        assert_eq!(in_use.unsafe_until_restart(&at(&replaced)), [], "{table}");
    }
}
