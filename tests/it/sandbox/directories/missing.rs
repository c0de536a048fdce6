//! Granted directories that are missing: the others serve, and a directory that appears is used at once.

use std::fs;

use moongate_tests::{Http, Workspace, wait_until};
use serde_json::{Value, json};

/// The `filesystem` plugin with three directories, of which `b` is missing.
fn workspace(more: &str) -> Workspace {
    let dirs =
        ["a", "b", "c"].map(|name| format!("{{ host = \"{name}\", guest = \"/{name}\", mode = \"rw\" }}"));
    let workspace = Workspace::new(&format!(
        "[plugins.files]\nsource = \"@filesystem@\"\n{more}[plugins.files.allow]\ndirs = [{}]\n",
        dirs.join(", ")
    ));
    for name in ["a", "c"] {
        workspace.write(&format!("{name}/x.txt"), name);
    }
    workspace
}

fn call(http: &Http, tool: &str, arguments: Value) -> (bool, String) {
    let answer = http.call(&format!("files_{tool}"), arguments);
    let result = &answer["result"];
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    (result["isError"] == true, texts.collect::<Vec<_>>().join("\n"))
}

fn read(http: &Http, path: &str) -> (bool, String) {
    call(http, "read_text_file", json!({ "path": path }))
}

#[test]
fn missing_directories_are_left_out_until_they_appear() {
    for more in ["", "instances = \"reused\"\n"] {
        let workspace = workspace(more);
        let at = |name: &str| workspace.path().join(name);
        let http = Http::start(&workspace);
        let allowed = || call(&http, "list_allowed_directories", json!({})).1.replace('\n', " ");
        let lost = |name: &str| {
            let line = format!("{name}` can't be opened");
            http.log().matches(&line).count()
        };
        for _ in 0..3 {
            assert_eq!(allowed(), "Allowed directories: /a /c");
            assert_eq!(read(&http, "/a/x.txt"), (false, "a".to_owned()));
            let (failed, message) = read(&http, "/b/x.txt");
            assert!(failed && message.contains("the granted directory `/b` can't be opened"), "{message}");
            let (failed, message) = call(&http, "write_file", json!({ "path": "/b/y.txt", "content": "y" }));
            assert!(failed && message.contains("the granted directory `/b` can't be opened"), "{message}");
        }
        assert!(!at("b").exists() && !at("a/y.txt").exists(), "the file went elsewhere");
        http.wait_for_log("calls to `files` continue without it");
        assert_eq!(lost("b"), 1, "{}", http.log());
        assert!(!http.log().contains("to allow it, add"), "{}", http.log());

        workspace.write("b/x.txt", "b");
        assert_eq!(read(&http, "/b/x.txt"), (false, "b".to_owned()));
        assert_eq!(allowed(), "Allowed directories: /a /b /c");
        http.wait_for_log("b` is available again");

        fs::rename(at("a"), at("aside")).unwrap();
        assert_eq!(allowed(), "Allowed directories: /b /c");
        for name in ["b", "c"] {
            fs::remove_dir_all(at(name)).unwrap();
        }
        for _ in 0..3 {
            let (failed, message) = read(&http, "/c/x.txt");
            assert!(failed && message.contains("the granted directory `/a` can't be opened"), "{message}");
        }
        wait_until("the loss is logged", || lost("a") == 1);
        fs::rename(at("aside"), at("a")).unwrap();
        assert_eq!(read(&http, "/a/x.txt"), (false, "a".to_owned()));
        // The last lines are those of this call, so nothing else follows.
        wait_until("each loss is logged once", || (lost("a"), lost("b"), lost("c")) == (1, 2, 1));
    }
}

#[test]
fn check_warns_of_missing_directories() {
    let workspace = workspace("");
    fs::create_dir(workspace.path().join("bb")).unwrap();
    let output = workspace.run(&["check"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let near = workspace.path().canonicalize().unwrap().join("bb").display().to_string();
    assert!(output.status.success(), "{message}");
    assert!(message.contains("/b` doesn't exist") && message.contains("gateway.toml:"), "{message}");
    assert_eq!(message.matches("/b`").count(), 1, "reported twice: {message}");
    assert!(message.contains(&format!("did you mean `{near}`?")), "{message}");
    assert_eq!(workspace.run(&["check", "--deny-warnings"]).status.code(), Some(78));
}
