//! Mistakes on the command line and unusable files: the message names the fix.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};

use moongate_generated::Plugin;
use moongate_tests::{Workspace, component, gateway_binary};

/// A user that owns no files.
const NOBODY_UID: u32 = 65_534;

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn suggests_the_joined_name_for_plugin_and_tool() {
    let workspace = Workspace::with_plugin("time");
    let output = workspace.run(&["call", "time", "get_current_time", "timezone=UTC"]);
    let stderr = utf8(&output.stderr);
    let suggestion = "did you mean `time_get_current_time`? Write `call time_get_current_time timezone=UTC`";
    assert!(output.status.code() == Some(5) && stderr.contains(suggestion), "{stderr}");
}

#[test]
fn accepts_a_single_value_for_a_list() {
    let workspace = Workspace::new("[plugins.memory]\nsource = \"@memory@\"\nallow.state = true\n");
    for names in ["names=Ada", "names=Ada,Bob", "names=[\"Ada\"]"] {
        let mut call = workspace.command(&["call", "memory_open_nodes", names]);
        let output = call.env("MOONGATE_STATE_DIR", workspace.path().join("state")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{names}: {output:?}");
    }
}

#[test]
fn half_an_emoji_is_replaced_in_json_as_in_requests() {
    let workspace = Workspace::with_plugin("everything");
    let arguments = r#"{"region":"cut \ud83d"}"#;
    let output = workspace.run(&["call", "everything_test_x_mcp_header", "--json", arguments]);
    assert!(output.status.success(), "{output:?}");
    assert!(utf8(&output.stdout).contains("region=cut \u{fffd},"), "{output:?}");
}

#[test]
fn reports_a_failed_plugin_instead_of_an_unknown_tool() {
    let workspace = Workspace::new("[plugins.time]\nsource = \"@time@\"\nlimits = { memory = \"64KiB\" }\n");
    let output = workspace.run(&["call", "time_get_current_time", "timezone=UTC"]);
    let stderr = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{stderr}");
    assert!(stderr.contains("limits.memory"), "{stderr}");
    assert!(
        stderr.contains("`time_get_current_time` can't be called: its plugin `time` couldn't be loaded"),
        "{stderr}"
    );
    assert!(!stderr.contains("unknown tool") && !stderr.contains("to list the tools"), "{stderr}");
}

#[test]
fn suggests_a_sufficient_compile_limit() {
    let check_with = |limit: &str| {
        let workspace =
            Workspace::new(&format!("[plugins.time]\nsource = \"@time@\"\nlimits = {{ {limit} }}\n"));
        let mut check = workspace.command(&["check"]);
        check.env("MOONGATE_CACHE_DIR", workspace.path().join("empty")).output().unwrap()
    };
    let stderr = utf8(&check_with("compile_memory = \"1MiB\"").stderr);
    let (_, suggestion) =
        stderr.split_once("remove the line, or write `").unwrap_or_else(|| panic!("{stderr}"));
    let suggestion = suggestion.split('`').next().unwrap();
    assert!(suggestion.starts_with("compile_memory = "), "{stderr}");
    let fixed = check_with(suggestion);
    assert!(fixed.status.success(), "{suggestion}: {fixed:?}");
}

#[test]
fn reports_a_truncated_file_at_every_length() {
    let workspace = Workspace::new("[plugins.time]\nsource = \"cut.wasm\"\n");
    let whole = fs::read(component("time")).unwrap();
    let first = wasm_section(&whole, 8);
    for length in [9, first - 1, whole.len() / 2, whole.len() - 1] {
        workspace.write("cut.wasm", &whole[..length]);
        let stderr = utf8(&workspace.run(&["check"]).stderr);
        assert!(stderr.contains("the component is broken: truncated"), "{length}: {stderr}");
        assert!(stderr.contains("hint: copy or build the file again"), "{length}: {stderr}");
    }
    // If the file ends between two sections, every announced byte is present.
    workspace.write("cut.wasm", &whole[..first]);
    let stderr = utf8(&workspace.run(&["check"]).stderr);
    assert!(stderr.contains("the file is truncated: copy or build it again"), "{stderr}");
}

/// The end of the section that starts at this offset.
fn wasm_section(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    let mut length = 0;
    let mut shift = 0;
    loop {
        length |= usize::from(bytes[at] & 0x7f) << shift;
        (at, shift) = (at + 1, shift + 7);
        if bytes[at - 1] & 0x80 == 0 {
            return at + length;
        }
    }
}

#[test]
fn warns_of_a_world_writable_cache_with_a_fix() {
    let workspace = Workspace::with_plugin("time");
    let cache = workspace.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let check = || -> Output {
        let mut check = workspace.command(&["check", "--deny-warnings"]);
        check.env("MOONGATE_CACHE_DIR", &cache).output().unwrap()
    };
    let stderr = utf8(&check().stderr);
    assert_eq!(check().status.code(), Some(78), "{stderr}");
    let suggestion = format!("chmod 700 {}", cache.display());
    assert!(
        stderr.contains("warning: can't cache compiled code") && stderr.contains(&suggestion),
        "{stderr}"
    );
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(check().status.success(), "{:?}", check());
}

#[test]
fn warns_of_an_unreadable_granted_directory() {
    let workspace = Workspace::new(
        "[plugins.p]\nsource = \"p.wasm\"\nallow.dirs = [{ host = \"closed\", guest = \"/closed\" }]\n",
    );
    workspace.write("p.wasm", Plugin::version(1).build());
    let directory = workspace.path();
    let closed = directory.join("closed");
    fs::create_dir(&closed).unwrap();
    // The other user may not be able to enter the build directory.
    let program = directory.join("moongate");
    fs::copy(gateway_binary(), &program).unwrap();
    let mut check = Command::new(&program);
    check
        .arg("check")
        .env_clear()
        .env("MOONGATE_CONFIG", workspace.config())
        .env("MOONGATE_CACHE_DIR", directory.join("cache"))
        .current_dir(directory);
    if fs::metadata(directory).unwrap().uid() == 0 {
        // Permissions don't restrict root, so the check runs as another user.
        for path in [directory.to_owned(), workspace.config(), directory.join("p.wasm"), program] {
            chown(path, Some(NOBODY_UID), Some(NOBODY_UID)).unwrap();
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        check.uid(NOBODY_UID).gid(NOBODY_UID);
    } else {
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let output = check.output().unwrap();
    let stderr = utf8(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let warning = "warning: the gateway's user can't read the granted directory `";
    assert!(stderr.contains(warning) && stderr.contains("chmod"), "{stderr}");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!utf8(&check.output().unwrap().stderr).contains("can't read"));
}
