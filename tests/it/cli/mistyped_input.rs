//! Slips at the command line, and files that aren't what they should be: what is said is the cure.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};

use moongate_generated::Plugin;
use moongate_tests::{Workspace, component, gateway_binary};

/// A user that nothing belongs to.
const NOBODY: u32 = 65_534;

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_plugin_and_its_tool_as_two_words_are_shown_as_one() {
    let workspace = Workspace::with_plugin("time");
    let output = workspace.run(&["call", "time", "get_current_time", "timezone=UTC"]);
    let told = said(&output.stderr);
    let cure = "did you mean `time_get_current_time`? Write `call time_get_current_time timezone=UTC`";
    assert!(output.status.code() == Some(5) && told.contains(cure), "{told}");
}

#[test]
fn one_value_is_enough_for_a_list() {
    let workspace = Workspace::new("[plugins.memory]\nsource = \"@memory@\"\nallow.state = true\n");
    for names in ["names=Ada", "names=Ada,Bob", "names=[\"Ada\"]"] {
        let mut call = workspace.command(&["call", "memory_open_nodes", names]);
        let output = call.env("MOONGATE_STATE_DIR", workspace.path().join("state")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{names}: {output:?}");
    }
}

#[test]
fn a_tool_whose_plugin_could_not_be_loaded_is_not_called_unknown() {
    let workspace = Workspace::new("[plugins.time]\nsource = \"@time@\"\nlimits = { memory = \"64KiB\" }\n");
    let output = workspace.run(&["call", "time_get_current_time", "timezone=UTC"]);
    let told = said(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{told}");
    assert!(told.contains("limits.memory"), "{told}");
    assert!(
        told.contains("`time_get_current_time` can't be called: its plugin `time` couldn't be loaded"),
        "{told}"
    );
    assert!(!told.contains("unknown tool") && !told.contains("to list the tools"), "{told}");
}

#[test]
fn a_compiler_that_was_held_too_short_gets_enough_at_once() {
    let held = |limit: &str| {
        let workspace =
            Workspace::new(&format!("[plugins.time]\nsource = \"@time@\"\nlimits = {{ {limit} }}\n"));
        let mut check = workspace.command(&["check"]);
        check.env("MOONGATE_CACHE_DIR", workspace.path().join("empty")).output().unwrap()
    };
    let told = said(&held("compile_memory = \"1MiB\"").stderr);
    let (_, cure) = told.split_once("remove the line, or write `").unwrap_or_else(|| panic!("{told}"));
    let cure = cure.split('`').next().unwrap();
    assert!(cure.starts_with("compile_memory = "), "{told}");
    let cured = held(cure);
    assert!(cured.status.success(), "{cure}: {cured:?}");
}

#[test]
fn a_file_that_is_cut_short_is_told_so_wherever_it_ends() {
    let workspace = Workspace::new("[plugins.time]\nsource = \"cut.wasm\"\n");
    let whole = fs::read(component("time")).unwrap();
    let first = wasm_section(&whole, 8);
    for length in [9, first - 1, whole.len() / 2, whole.len() - 1] {
        workspace.write("cut.wasm", &whole[..length]);
        let told = said(&workspace.run(&["check"]).stderr);
        assert!(told.contains("it is truncated"), "{length}: {told}");
        assert!(told.contains("hint: copy or build the file again"), "{length}: {told}");
    }
    // Between two of its parts, nothing is missing that was announced.
    workspace.write("cut.wasm", &whole[..first]);
    let told = said(&workspace.run(&["check"]).stderr);
    assert!(told.contains("the file is truncated: copy or build it again"), "{told}");
}

/// Where the section that begins here ends.
fn wasm_section(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    let (mut length, mut shift) = (0, 0);
    loop {
        length |= usize::from(bytes[at] & 0x7f) << shift;
        (at, shift) = (at + 1, shift + 7);
        if bytes[at - 1] & 0x80 == 0 {
            return at + length;
        }
    }
}

#[test]
fn a_cache_that_others_may_write_to_is_a_warning_with_its_cure() {
    let workspace = Workspace::with_plugin("time");
    let cache = workspace.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let check = || -> Output {
        let mut check = workspace.command(&["check", "--deny-warnings"]);
        check.env("MOONGATE_CACHE_DIR", &cache).output().unwrap()
    };
    let told = said(&check().stderr);
    assert_eq!(check().status.code(), Some(78), "{told}");
    let cure = format!("chmod 700 {}", cache.display());
    assert!(told.contains("warning: compiled code can't be cached") && told.contains(&cure), "{told}");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(check().status.success(), "{:?}", check());
}

#[test]
fn a_granted_directory_that_the_gateways_user_may_not_read_is_a_warning() {
    let workspace = Workspace::new(
        "[plugins.p]\nsource = \"p.wasm\"\nallow.dirs = [{ host = \"closed\", guest = \"/closed\" }]\n",
    );
    workspace.write("p.wasm", Plugin::version(1).build());
    let (folder, closed) = (workspace.path(), workspace.path().join("closed"));
    fs::create_dir(&closed).unwrap();
    // Whoever runs it may not have the way to where it was built.
    let program = folder.join("moongate");
    fs::copy(gateway_binary(), &program).unwrap();
    let mut check = Command::new(&program);
    check
        .arg("check")
        .env_clear()
        .env("MOONGATE_CONFIG", workspace.config())
        .env("MOONGATE_CACHE_DIR", folder.join("cache"))
        .current_dir(folder);
    if fs::metadata(folder).unwrap().uid() == 0 {
        // To the superuser nothing is closed.
        for path in [folder.to_owned(), workspace.config(), folder.join("p.wasm"), program] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        check.uid(NOBODY).gid(NOBODY);
    } else {
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let output = check.output().unwrap();
    let told = said(&output.stderr);
    assert!(output.status.success(), "{told}");
    let warning = "warning: the gateway's user can't read the granted directory `";
    assert!(told.contains(warning) && told.contains("chmod"), "{told}");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!said(&check.output().unwrap().stderr).contains("can't read"));
}
