//! What `check` says of mistakes that only loading a component brings to light: at the line that has to change, and all of
//! them at once.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use moongate_tests::Workspace;
use serde_json::Value;

/// The problems that `check` finds in plugins' tables, and how it ends.
fn problems(workspace: &Workspace) -> (Vec<Value>, Option<i32>) {
    let output = workspace.run(&["check", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (document["problems"].as_array().unwrap().clone(), output.status.code())
}

/// What stands in the file where a problem is.
fn at(workspace: &Workspace, problem: &Value) -> String {
    let text = fs::read_to_string(workspace.path().join("gateway.toml")).unwrap();
    let place = |key: &str| usize::try_from(problem[key].as_u64().unwrap()).unwrap() - 1;
    text.lines().nth(place("line")).unwrap()[place("column")..].to_owned()
}

#[test]
fn what_a_component_breaks_is_shown_at_the_key_that_sets_it() {
    let no_digest = format!("\"{}\"", "0".repeat(64));
    for (table, place, word) in [
        ("limits.items = 1", "1", "items"),
        ("[plugins.time.limits]\nitems = 1", "1", "items"),
        ("[defaults.limits]\nitems = 1", "1", "items"),
        (&*format!("sha256 = {no_digest}"), &*no_digest, "digest"),
        ("limits.component = \"4KiB\"", "\"4KiB\"", "component"),
        ("tools.deny = [\"get_current_tim\"]", "\"get_current_tim\"]", "`get_current_time`"),
    ] {
        let workspace = Workspace::new(&format!("[plugins.time]\nsource = \"@time@\"\n{table}\n"));
        let (problems, code) = problems(&workspace);
        let told = problems
            .iter()
            .find(|problem| problem["severity"] == "error")
            .unwrap_or_else(|| panic!("{table}"));
        assert_eq!((at(&workspace, told).as_str(), code), (place, Some(78)), "{table}: {told}");
        let said = format!("{} {}", told["message"], told["hint"]);
        assert!(said.contains(word), "{table}: {said}");
        let drawn = String::from_utf8(workspace.run(&["check"]).stderr).unwrap();
        assert!(
            drawn.contains(&format!("gateway.toml:{}:{}", told["line"], told["column"])),
            "{table}: {drawn}"
        );
    }
}

#[test]
fn names_that_no_tool_has_are_told_together_each_at_its_place() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[plugins.time.tools]\ndeny = [\"convert_tim\"]\n\
         rename = { get_current_tme = \"now\" }\n",
    );
    let (problems, code) = problems(&workspace);
    assert_eq!(code, Some(78), "{problems:?}");
    let told = |name: &str| {
        let told = problems.iter().find(|problem| problem["message"].as_str().unwrap().contains(name));
        let told = told.unwrap_or_else(|| panic!("`{name}` isn't in {problems:?}"));
        (at(&workspace, told), told["hint"].as_str().unwrap().to_owned())
    };
    let (deny, rename) = (told("`convert_tim`"), told("`get_current_tme`"));
    assert!(deny.0.starts_with("\"convert_tim\"") && deny.1.contains("`convert_time`"), "{deny:?}");
    assert!(rename.0.starts_with("get_current_tme") && rename.1.contains("`get_current_time`"), "{rename:?}");
}

#[test]
fn a_secret_that_everybody_may_read_is_a_warning_with_the_command_that_mends_it() {
    let workspace = Workspace::new(
        "[http.auth]\ntokens = [{ name = \"ci\", token = { file = \"token\" } }]\n[plugins.time]\nsource = \"@time@\"\n",
    );
    workspace.write("token", "0123456789abcdef0123456789abcdef");
    let file = workspace.path().join("token");
    let allow =
        |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // The workspace itself lies in a directory of this user alone.
    allow(workspace.path(), 0o755);
    allow(&file, 0o604);
    let (said, code) = problems(&workspace);
    assert_eq!((said.len(), code), (1, Some(0)), "{said:?}");
    assert_eq!(said[0]["severity"], "warning");
    assert!(said[0]["message"].as_str().unwrap().contains("every user of this machine can read"), "{said:?}");
    assert_eq!(said[0]["hint"], format!("run `chmod 600 {}`", file.display()));
    for mode in [0o600, 0o640] {
        allow(&file, mode);
        assert_eq!(problems(&workspace).0, Vec::<Value>::new(), "{mode:o}");
    }
    allow(&file, 0o604);
    allow(workspace.path(), 0o700);
    assert_eq!(problems(&workspace).0, Vec::<Value>::new(), "nobody gets to it");
}
