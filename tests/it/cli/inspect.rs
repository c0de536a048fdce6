//! `inspect`, `check` and `call --explain`: what a plugin asks for, beside what it is granted.

use moongate_tests::{Workspace, component};
use serde_json::Value;

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The document that a command printed.
fn document(workspace: &Workspace, arguments: &[&str]) -> Value {
    let output = workspace.run(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// What a document says of one need.
fn need<'a>(document: &'a Value, key: &str) -> Option<&'a Value> {
    document["grants"].as_array().unwrap().iter().find(|grant| grant["key"] == key)
}

#[test]
fn a_file_is_shown_without_a_configuration_and_without_grants() {
    let workspace = Workspace::new("");
    std::fs::remove_file(workspace.config()).unwrap();
    let file = component("keeper").display().to_string();
    let text = workspace.run(&["inspect", &file]);
    assert!(text.status.success(), "{text:?}");
    let page = said(&text.stdout);
    // That nothing is granted is no trouble, but what was asked for.
    assert!(text.stderr.is_empty(), "{text:?}");
    for part in [
        "contract  moongate:plugin@0.1.0",
        "\nasks for\n",
        "keep state",
        "to allow it, add `state = true`",
        "\ntools\n",
    ] {
        assert!(page.contains(part), "`{part}` is missing:\n{page}");
    }
    let document = document(&workspace, &["inspect", &file, "--format", "json"]);
    assert_eq!(document["size"].as_u64(), Some(std::fs::metadata(component("keeper")).unwrap().len()));
    assert_eq!(need(&document, "state").unwrap()["asked"], "yes");
    assert_eq!(need(&document, "http"), None);
    let imports = document["imports"].as_array().unwrap();
    assert!(imports.iter().any(|name| name == "wasi:keyvalue/store@0.2.0-draft2"), "{imports:?}");
    let schema = &document["tools"][0]["input"];
    assert_eq!(schema["type"], "object", "{document}");
}

#[test]
fn sockets_that_are_imported_are_said_to_be_granted_never() {
    let workspace = Workspace::new("");
    for (plugin, has) in [("zoo", true), ("time", false)] {
        let page = said(&workspace.run(&["inspect", &component(plugin).display().to_string()]).stdout);
        let sockets: Vec<&str> = page.lines().filter(|line| line.contains("wasi:sockets/")).collect();
        assert_eq!(!sockets.is_empty(), has, "{page}");
        assert!(sockets.iter().all(|line| line.ends_with("  sockets: never granted")), "{page}");
    }
}

#[test]
fn a_plugin_of_the_configuration_is_shown_with_its_grants() {
    let workspace = Workspace::new(
        "[plugins.a]\nsource = \"@keeper@\"\n[plugins.a.allow]\nstate = \"notes\"\nenv = [\"PATH\"]\n\
         [plugins.b]\nsource = \"nowhere.wasm\"\n",
    );
    let found = document(&workspace, &["inspect", "a", "--format", "json"]);
    assert_eq!(need(&found, "state").unwrap()["granted"][0], "the store notes");
    assert_eq!(need(&found, "env").unwrap()["granted"][0], "PATH");
    let unknown = workspace.run(&["inspect", "c"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(said(&unknown.stderr).contains("it has `a`, `b`"), "{unknown:?}");
    let broken = workspace.run(&["inspect", "b"]);
    assert_eq!(broken.status.code(), Some(78), "{broken:?}");
    assert!(said(&broken.stderr).contains("gateway.toml:"), "{broken:?}");
}

#[test]
fn all_that_a_plugin_has_is_shown_without_its_secrets() {
    let workspace = Workspace::new(
        "[gateway]\nstate = \"state\"\n[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\n\
         http = [{ url = \"https://api.example.com/v1\", methods = [\"get\"], networks = [\"10.1.0.0/16\"] }]\n\
         credentials = [{ origin = \"https://api.example.com\", headers = { authorization = { env = \"PATH\" } } }]\n\
         dirs = [{ host = \"notes\", guest = \"/notes\", mode = \"rw\" }]\n\
         env = [\"HOME\"]\nclient = [\"roots\"]\nstate = \"notes\"\ninstructions = true\n\
         [plugins.zoo.limits]\ntimeout = \"5s\"\nqueue = 7\n\
         [plugins.zoo.config]\nplain = \"hunter2-in-the-file\"\nkey = { file = \"secret.txt\" }\n",
    );
    workspace.write("notes/a.txt", "");
    workspace.write("secret.txt", "hunter2-beside-it\n");
    let shown = workspace.run(&["inspect", "zoo"]);
    let page = said(&shown.stdout);
    let [notes, secret, state] = ["notes", "secret.txt", "state"].map(|name| workspace.path().join(name));
    for part in [
        "https://api.example.com/v1 by GET in 10.1.0.0/16",
        "send credentials            https://api.example.com: authorization from env PATH",
        &format!("/notes = {} (rw)", notes.canonicalize().unwrap().display()),
        &format!("the store notes, in {}", state.display()),
        &format!("key (from file {}), plain", secret.display()),
        "timeout = \"5s\"",
        "queue = 7",
    ] {
        assert!(page.contains(part), "`{part}` is missing:\n{page}");
    }
    let document = document(&workspace, &["inspect", "zoo", "--format", "json"]);
    assert_eq!(document["limits"], serde_json::json!({ "queue": 7, "timeout": "5s" }));
    assert_eq!(document["instructions"]["granted"], true);
    assert_eq!(document["state"], state.display().to_string());
    for hidden in ["hunter2", "/usr/bin"] {
        assert!(!page.contains(hidden) && !document.to_string().contains(hidden), "{page}\n{document}");
    }
}

#[test]
fn a_file_that_is_no_plugin_is_told_with_its_cure() {
    let workspace = Workspace::new("");
    for (file, content, told) in [
        ("text.wasm", "(component)", "text format"),
        ("module.wasm", "\0asm\u{1}\0\0\0", "wasm-tools component new"),
        ("empty.wasm", "", "it is empty"),
    ] {
        workspace.write(file, content);
        let output = workspace.run(&["inspect", file]);
        assert_eq!(output.status.code(), Some(78), "{file}: {output:?}");
        assert!(said(&output.stderr).contains(told), "{file}: {output:?}");
        assert!(output.stdout.is_empty(), "{file}: {output:?}");
    }
    let absent = workspace.run(&["inspect", "./absent.wasm"]);
    assert_eq!(absent.status.code(), Some(78), "{absent:?}");
    assert!(said(&absent.stderr).contains("doesn't exist"), "{absent:?}");
}

#[test]
fn check_names_grants_that_nothing_uses_and_wishes_that_nothing_grants() {
    let workspace = Workspace::new(
        "[plugins.keeper]\nsource = \"@keeper@\"\n\
         [plugins.time]\nsource = \"@time@\"\n[plugins.time.allow]\nhttp = [\"https://example.com\"]\n",
    );
    let output = workspace.run(&["check"]);
    assert!(output.status.success(), "warnings don't fail: {output:?}");
    let told = said(&output.stderr);
    assert!(told.contains("`keeper` was built to keep state, which isn't granted"), "{told}");
    assert!(told.contains("`time` is granted `http` but can't send requests"), "{told}");
    let fitting = Workspace::new(
        "[gateway]\nstate = \"state\"\n[plugins.keeper]\nsource = \"@keeper@\"\n[plugins.keeper.allow]\nstate = true\n[plugins.time]\nsource = \"@time@\"\n",
    );
    let output = fitting.run(&["check"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_call_says_which_grants_it_used_and_which_it_lacked() {
    let without = Workspace::new("[plugins.keeper]\nsource = \"@keeper@\"\n");
    let call = ["call", "keeper_get", "key=a", "--explain"];
    let output = without.run(&call);
    let told = said(&output.stderr);
    assert!(
        told.contains("missing\n") && told.contains("[plugins.keeper.allow]\n  state = true\n"),
        "{output:?}"
    );
    let with =
        Workspace::new("[plugins.keeper]\nsource = \"@keeper@\"\n[plugins.keeper.allow]\nstate = true\n");
    let output = with.run(&call);
    assert!(output.status.success() && said(&output.stderr).contains("used\n  state\n"), "{output:?}");
    let explained = document(&with, &["call", "keeper_get", "key=a", "--explain", "--format", "json"]);
    assert_eq!(explained["grants"]["used"][0], "state", "{explained}");
    assert_eq!(explained["grants"]["lacked"], serde_json::json!([]), "{explained}");
    let plain = document(&with, &["call", "keeper_get", "key=a", "--format", "json"]);
    assert!(plain.get("grants").is_none(), "{plain}");
}

#[test]
fn check_warns_of_state_that_would_be_lost_with_the_line_that_keeps_it() {
    let workspace =
        Workspace::new("[plugins.keeper]\nsource = \"@keeper@\"\n[plugins.keeper.allow]\nstate = true\n");
    let output = workspace.run(&["check"]);
    let told = said(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    assert!(told.contains("lost when the gateway ends") && told.contains("kept in memory only"), "{told}");
    assert!(told.contains("add `state = \"state\"` to `[gateway]`"), "{told}");
}

#[test]
fn check_points_at_a_denied_tool_that_is_not_there() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[plugins.time.tools]\ndeny = [\"convert_tim\"]\n",
    );
    let output = workspace.run(&["check"]);
    let told = said(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(
        told.contains("deny = [\"convert_tim\"]") && told.contains("did you mean `convert_time`?"),
        "{told}"
    );
}

#[test]
fn a_call_says_that_it_read_variables_and_settings() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\nenv = [\"PATH\"]\n[plugins.zoo.config]\nzone = \"UTC\"\n",
    );
    let used = |call: &[&str]| {
        let arguments = [&["call"], call, &["--explain", "--format", "json"]].concat();
        document(&workspace, &arguments)["grants"]["used"].clone()
    };
    assert_eq!(used(&["zoo_read_env"]), serde_json::json!(["env PATH"]));
    assert_eq!(used(&["zoo_config_get", "key=zone"]), serde_json::json!(["config zone"]));
    assert_eq!(used(&["zoo_config_get", "key=absent"]), serde_json::json!([]));
}

#[test]
fn a_call_says_which_limit_held_it_back_and_what_would_be_enough() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\ndirs = [{ host = \"notes\", guest = \"/notes\", mode = \"rw\" }]\n\
         [plugins.zoo.limits]\nwritten = \"5KiB\"\n",
    );
    workspace.write("notes/a.txt", "");
    let text = format!("text={}", "x".repeat(6000));
    let output = workspace.run(&["call", "zoo_write_file", "path=/notes/a.txt", &text, "--explain"]);
    let told = said(&output.stderr);
    assert!(
        told.contains("reached limits\n")
            && told.contains("[plugins.zoo.limits]\n  written = ")
            && told.contains("  # instead of \"5KiB\"\n"),
        "{output:?}"
    );
    // Written there, it is enough.
    let (_, cure) = told.split_once("  written = ").unwrap();
    let cure = cure.split("  #").next().unwrap();
    let config = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", config.replace("\"5KiB\"", cure));
    let output = workspace.run(&["call", "zoo_write_file", "path=/notes/a.txt", &text, "--explain"]);
    assert!(output.status.success() && !said(&output.stderr).contains("held back"), "{output:?}");
}

#[test]
fn resources_and_prompts_are_shown_with_what_their_author_says_of_them() {
    let workspace = Workspace::new("[plugins.everything]\nsource = \"@everything@\"\n");
    let document = document(&workspace, &["inspect", "everything", "--format", "json"]);
    let page = said(&workspace.run(&["inspect", "everything"]).stdout);
    let mut shown = 0;
    for kind in ["resources", "templates", "prompts"] {
        for item in document[kind].as_array().unwrap() {
            let name = item["uri"].as_str().or(item["name"].as_str()).unwrap();
            let Some(description) = item["description"].as_str() else { panic!("no description: {item}") };
            let first: String = description.lines().next().unwrap().chars().take(100).collect();
            let line = page.lines().find(|line| line.trim_start().starts_with(&format!("{name}  ")));
            let line = line.unwrap_or_else(|| panic!("`{name}` isn't in: {page}"));
            assert!(line.contains(&first), "`{first}` isn't in: {line}");
            shown += 1;
        }
    }
    assert!(shown > 5, "{document}");
    assert_eq!(document["prompts"][1]["arguments"][0]["required"], true, "{document}");
}

#[test]
fn that_a_plugin_may_look_for_files_is_said_where_none_are_granted() {
    let granted = "[plugins.b.allow]\ndirs = [{ host = \"notes\", guest = \"/notes\" }]\n";
    let workspace = Workspace::new(&format!(
        "[plugins.a]\nsource = \"@zoo@\"\n[plugins.b]\nsource = \"@zoo@\"\nprefix = \"b\"\n{granted}[plugins.c]\nsource = \"@time@\"\n"
    ));
    workspace.write("notes/a.txt", "");
    let page = |which: &str| said(&workspace.run(&["inspect", which]).stdout);
    let told = "  can access files; no directory is granted\n";
    assert!(page("a").contains(told), "{}", page("a"));
    assert!(!page("b").contains("can access files") && !page("c").contains("can access files"));
    assert!(page(&component("zoo").display().to_string()).contains("  can access files\n"));
}
