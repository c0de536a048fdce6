//! Locations of problems that `check` finds only by loading a component. All problems are reported together.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use moongate_tests::Workspace;
use serde_json::Value;

/// The problems that `check` reports, and its exit code.
fn problems(workspace: &Workspace) -> (Vec<Value>, Option<i32>) {
    let output = workspace.run(&["check", "--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (document["problems"].as_array().unwrap().clone(), output.status.code())
}

/// The text in the file at the location of a problem.
fn at(workspace: &Workspace, problem: &Value) -> String {
    let text = fs::read_to_string(workspace.path().join("gateway.toml")).unwrap();
    let place = |key: &str| usize::try_from(problem[key].as_u64().unwrap()).unwrap() - 1;
    text.lines().nth(place("line")).unwrap()[place("column")..].to_owned()
}

#[test]
fn reports_load_problems_at_the_configured_key() {
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
        let problem = problems
            .iter()
            .find(|problem| problem["severity"] == "error")
            .unwrap_or_else(|| panic!("{table}"));
        assert_eq!((at(&workspace, problem).as_str(), code), (place, Some(78)), "{table}: {problem}");
        let text = format!("{} {}", problem["message"], problem["hint"]);
        assert!(text.contains(word), "{table}: {text}");
        let drawn = String::from_utf8(workspace.run(&["check"]).stderr).unwrap();
        assert!(
            drawn.contains(&format!("gateway.toml:{}:{}", problem["line"], problem["column"])),
            "{table}: {drawn}"
        );
    }
}

#[test]
fn reports_all_unknown_tool_names_at_their_locations() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[plugins.time.tools]\ndeny = [\"convert_tim\"]\n\
         rename = { get_current_tme = \"now\" }\n",
    );
    let (problems, code) = problems(&workspace);
    assert_eq!(code, Some(78), "{problems:?}");
    let text_and_hint = |name: &str| {
        let found = problems.iter().find(|problem| problem["message"].as_str().unwrap().contains(name));
        let found = found.unwrap_or_else(|| panic!("`{name}` isn't in {problems:?}"));
        (at(&workspace, found), found["hint"].as_str().unwrap().to_owned())
    };
    let deny = text_and_hint("`convert_tim`");
    let rename = text_and_hint("`get_current_tme`");
    assert!(deny.0.starts_with("\"convert_tim\"") && deny.1.contains("`convert_time`"), "{deny:?}");
    assert!(rename.0.starts_with("get_current_tme") && rename.1.contains("`get_current_time`"), "{rename:?}");
}

#[test]
fn warns_of_a_world_readable_secret_with_a_chmod_hint() {
    let workspace = Workspace::new(
        "[http.auth]\ntokens = [{ name = \"ci\", token = { file = \"token\" } }]\n[plugins.time]\nsource = \"@time@\"\n",
    );
    workspace.write("token", "0123456789abcdef0123456789abcdef");
    let file = workspace.path().join("token");
    let allow =
        |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // By default, only this user can enter the workspace.
    allow(workspace.path(), 0o755);
    allow(&file, 0o604);
    let (warnings, code) = problems(&workspace);
    assert_eq!((warnings.len(), code), (1, Some(0)), "{warnings:?}");
    assert_eq!(warnings[0]["severity"], "warning");
    assert!(
        warnings[0]["message"].as_str().unwrap().contains("every user of this machine can read"),
        "{warnings:?}"
    );
    assert_eq!(warnings[0]["hint"], format!("run `chmod 600 {}`", file.display()));
    for mode in [0o600, 0o640] {
        allow(&file, mode);
        assert_eq!(problems(&workspace).0, Vec::<Value>::new(), "{mode:o}");
    }
    allow(&file, 0o604);
    allow(workspace.path(), 0o700);
    assert_eq!(problems(&workspace).0, Vec::<Value>::new(), "other users can't reach the file");
}
