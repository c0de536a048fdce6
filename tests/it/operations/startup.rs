//! Startup: listeners, the banner, and the errors that prevent it.

use std::net::TcpListener;
use std::process::Output;

use moongate_tests::{Http, Stdio, Workspace};
use serde_json::json;

/// A working plugin, a broken one, and an admin listener.
fn fixture(gateway: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[gateway]\n{gateway}\n[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n[plugins.time]\nsource = \"@time@\"\n\
         [plugins.torn]\nsource = \"torn.wasm\"\n[plugins.gone]\nsource = \"gone.wasm\"\n"
    ));
    workspace.write("torn.wasm", b"\0asm");
    workspace
}

fn stderr_text(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn reports_broken_plugins_and_serves_the_others() {
    let workspace = fixture("");
    let http = Http::start(&workspace);
    let admin = http.admin();
    assert!(http.call("time_get_current_time", json!({ "timezone": "UTC" }))["result"].is_object());
    http.wait_for_log("1 plugin, 2 tools; 2 plugins failed");
    let log = http.log();
    for expected in ["`torn`", "`gone`", "1 plugin, 2 tools; 2 plugins failed"] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    let (_, banner) = log.split_once("moongate 0.").unwrap_or_else(|| panic!("no banner: {log}"));
    let banner: Vec<_> = banner.lines().take_while(|line| !line.contains(" INFO ")).collect();
    assert!(banner.len() <= 6, "the banner has more than six lines: {banner:?}");
    assert!(banner.contains(&format!("admin     http://{}", admin.address()).as_str()), "{banner:?}");
}

#[test]
fn required_plugins_fail_startup_with_all_errors() {
    let workspace = fixture("require_all = true");
    for flags in [&["serve"][..], &["serve", "--stdio"]] {
        let output = workspace.run(flags);
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        let stderr = stderr_text(&output);
        for word in ["`torn`", "`gone`", "`require_all`", "gateway.toml:"] {
            assert!(stderr.contains(word), "{word}: {stderr}");
        }
        assert!(!stderr.contains("endpoint"), "the banner was printed: {stderr}");
    }
}

#[test]
fn occupied_admin_port_fails_startup_before_loading() {
    let workspace = fixture("");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = workspace.run(&["serve", "--admin", &address]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stderr = stderr_text(&output);
    assert!(stderr.contains(&format!("can't listen on {address}")) && stderr.contains("hint"), "{stderr}");
    assert!(!stderr.contains("torn"), "plugins were loaded before the listener was bound: {stderr}");
    for (flags, code) in [
        (&["serve", "--admin", "0.0.0.0:0"][..], 78),
        (&["serve", "--http", "127.0.0.1:1", "--admin", "127.0.0.1:1"], 2),
        (&["serve", "--admin", "nowhere"], 2),
    ] {
        let output = workspace.run(flags);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn stdio_opens_admin_listener_only_on_request() {
    let workspace = fixture("");
    let (_, _, log) = Stdio::start(&workspace).finish();
    assert!(!log.contains("admin"), "{log}");
    for flags in [&["--admin"][..], &["--admin", "0"], &["--http"]] {
        let (_, status, log) = Stdio::start_with(&workspace, flags).finish();
        assert!(status.success(), "{status}: {log}");
        assert!(log.contains("\nadmin     http://127.0.0.1:"), "{flags:?}: {log}");
    }
}
