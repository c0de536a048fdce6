//! Plugins from addresses, against components that hide something, broken ones, and a lock file that lies.

use std::fs;
use std::process::Stdio;

use moongate_generated::{Behaviour, Plugin};
use moongate_tests::{MinisignSigner, TestServer};

use super::remote_sources::{Sources, digest, put, server, version};

/// A server can end its response early, without having announced a length.
#[test]
fn a_truncated_component_is_never_locked() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "");
    sources.succeed(&["fetch"]);
    let good = sources.lock();
    let whole = Plugin::version(2).build();
    for length in [whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        server.put("/one.wasm", &[], &whole[..length]);
        let failed = sources.fail(&["update", "--yes"]);
        assert!(failed.contains("is broken: ") && failed.contains("run the command again"), "{failed}");
        assert_eq!((sources.lock(), sources.stored().len()), (good.clone(), 1), "{length}");
    }
    sources.succeed(&["check"]);
    server.put("/one.wasm", &[], whole);
    sources.succeed(&["update", "--yes"]);
}

#[test]
fn an_update_cannot_hide_what_it_asks_for() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "");
    sources.succeed(&["fetch"]);
    let hiding = Plugin::version(2).describe(Behaviour::NeedsVariables).build();
    server.put("/one.wasm", &[], hiding);
    let page = sources.succeed(&["update", "--dry-run"]);
    for line in [
        "tools: unknown, because it can't be described without grants: ",
        "permissions: +env",
        "imports: +wasi:cli/environment@0.2.0",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}

/// Anyone who can change the lock file could name a signer whose signature was never checked.
#[test]
fn a_forged_lock_entry_is_noticed_when_its_component_is_downloaded() {
    let [ours, stranger] = [MinisignSigner::generate(), MinisignSigner::generate()];
    let server = TestServer::start();
    let bytes = Plugin::version(1).build();
    server.put("/one.wasm", &[], bytes.clone());
    server.put("/one.wasm.minisig", &[], ours.sign(&bytes));
    let signers = format!(
        "[sources]\nrequire_signature = true\nsigners.ours = {{ minisign = \"{}\" }}\n",
        ours.public_key()
    );
    let sources = Sources::one(&server.url("/one.wasm"), &signers);
    sources.succeed(&["fetch"]);
    let good = sources.lock();
    let other = Plugin::version(2).build();
    let size = format!("size = {}", bytes.len());
    // Another component, with the signer of the first.
    let forged = good.replace(&digest(1), &digest(2)).replace(&size, &format!("size = {}", other.len()));
    server.put("/one.wasm", &[], other.clone());
    server.put("/one.wasm.minisig", &[], stranger.sign(&other));
    fs::write(sources.path("moongate.lock"), &forged).unwrap();
    for words in [&["fetch"][..], &["fetch", "--locked"]] {
        let refused = sources.fail(words);
        assert!(refused.contains("isn't signed by `ours`"), "{words:?}: {refused}");
        assert!(!sources.stored().contains_key(&format!("{}.wasm", digest(2))), "{words:?}");
    }
    // Another size.
    put(&server, 1);
    server.put("/one.wasm.minisig", &[], ours.sign(&bytes));
    sources.stored().into_values().for_each(|file| fs::remove_file(file).unwrap());
    fs::write(sources.path("moongate.lock"), good.replace(&size, "size = 1")).unwrap();
    let refused = sources.fail(&["fetch", "--locked"]);
    assert!(refused.contains("bytes instead of 1"), "{refused}");
    fs::write(sources.path("moongate.lock"), &good).unwrap();
    assert!(sources.succeed(&["fetch", "--locked"]).contains("downloaded"));
    assert_eq!(version(&sources.serve()), "v1");
}

#[test]
fn a_failed_add_leaves_no_entry_in_the_lock_file() {
    let server = TestServer::start();
    let sources = Sources::new("");
    let names: Vec<String> = (0..5).map(|number| format!("plugin-{number}")).collect();
    for (number, name) in (0..).zip(&names) {
        server.put(&format!("/{name}.wasm"), &[], Plugin::version(number).build());
    }
    let start = |name: &String| {
        let mut command = sources.command(&["add", &server.url(&format!("/{name}.wasm")), "--yes"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let running: Vec<_> = names.iter().map(start).collect();
    let succeeded: Vec<bool> = running.into_iter().map(|mut child| child.wait().unwrap().success()).collect();
    assert!(succeeded.contains(&true));
    let (lock, config) = (sources.lock(), fs::read_to_string(sources.workspace.config()).unwrap());
    for (name, succeeded) in names.iter().zip(succeeded) {
        let table = format!("[plugins.{name}]");
        assert_eq!(
            (lock.contains(&table), config.contains(&table)),
            (succeeded, succeeded),
            "{name}: {lock}"
        );
    }
    sources.succeed(&["check"]);
}

/// A command of root must not leave files in the service's cache that the service can't read.
#[test]
fn root_stores_nothing_in_the_cache_of_another_user() {
    let server = server(1);
    let sources = Sources::one(&server.url("/one.wasm"), "");
    // As the documentation shows it: root locks the plugin with its own cache, and the service fills its own.
    let other = sources.path("service");
    fs::create_dir(&other).unwrap();
    sources.succeed(&["fetch"]);
    let mut check = sources.command(&["check"]);
    let missing = check.env("MOONGATE_CACHE_DIR", sources.path("empty")).output().unwrap();
    let missing = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(missing.contains("as the gateway's user and with its MOONGATE_CACHE_DIR"), "{missing}");
    if std::os::unix::fs::chown(&other, Some(65532), Some(65532)).is_err() {
        return; // not root
    }
    let mut fetch = sources.command(&["fetch", "--locked"]);
    let refused = fetch.env("MOONGATE_CACHE_DIR", &other).output().unwrap();
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("belongs to the user with the id 65532"), "{refused}");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
}
