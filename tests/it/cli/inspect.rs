//! `inspect`, `check` and `call --explain`: the grants that a plugin requests, and those that it has.

use moongate_tests::{Workspace, component};
use serde_json::Value;

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The JSON document that a command prints.
fn document(workspace: &Workspace, arguments: &[&str]) -> Value {
    let output = workspace.run(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The entry of one grant in a document.
fn need<'a>(document: &'a Value, key: &str) -> Option<&'a Value> {
    document["grants"].as_array().unwrap().iter().find(|grant| grant["key"] == key)
}

#[test]
fn inspects_a_file_without_a_configuration() {
    let workspace = Workspace::new("");
    std::fs::remove_file(workspace.config()).unwrap();
    let file = component("stateful").display().to_string();
    let text = workspace.run(&["inspect", &file]);
    assert!(text.status.success(), "{text:?}");
    let page = utf8(&text.stdout);
    // Missing grants aren't warnings here.
    assert!(text.stderr.is_empty(), "{text:?}");
    for part in [
        "contract  moongate:plugin@0.1.0",
        "\nneeds\n",
        "keep state",
        "to allow it, add `state = true`",
        "\ntools\n",
    ] {
        assert!(page.contains(part), "`{part}` is missing:\n{page}");
    }
    let document = document(&workspace, &["inspect", &file, "--format", "json"]);
    assert_eq!(document["size"].as_u64(), Some(std::fs::metadata(component("stateful")).unwrap().len()));
    assert_eq!(need(&document, "state").unwrap()["asked"], "yes");
    assert_eq!(need(&document, "http"), None);
    let imports = document["imports"].as_array().unwrap();
    assert!(imports.iter().any(|name| name == "wasi:keyvalue/store@0.2.0-draft2"), "{imports:?}");
    let schema = &document["tools"][0]["input"];
    assert_eq!(schema["type"], "object", "{document}");
}

#[test]
fn shows_imported_sockets_as_never_granted() {
    let workspace = Workspace::new("");
    for (plugin, has) in [("zoo", true), ("time", false)] {
        let page = utf8(&workspace.run(&["inspect", &component(plugin).display().to_string()]).stdout);
        let sockets: Vec<&str> = page.lines().filter(|line| line.contains("wasi:sockets/")).collect();
        assert_eq!(!sockets.is_empty(), has, "{page}");
        assert!(sockets.iter().all(|line| line.ends_with("  sockets: never granted")), "{page}");
    }
}

#[test]
fn inspects_a_configured_plugin_with_its_grants() {
    let workspace = Workspace::new(
        "[plugins.a]\nsource = \"@stateful@\"\n[plugins.a.allow]\nstate = \"notes\"\nenv = [\"PATH\"]\n\
         [plugins.b]\nsource = \"nowhere.wasm\"\n",
    );
    let found = document(&workspace, &["inspect", "a", "--format", "json"]);
    assert_eq!(need(&found, "state").unwrap()["granted"][0], "the store notes");
    assert_eq!(need(&found, "env").unwrap()["granted"][0], "PATH");
    let unknown = workspace.run(&["inspect", "c"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(utf8(&unknown.stderr).contains("the plugins are `a`, `b`"), "{unknown:?}");
    let broken = workspace.run(&["inspect", "b"]);
    assert_eq!(broken.status.code(), Some(78), "{broken:?}");
    assert!(utf8(&broken.stderr).contains("gateway.toml:"), "{broken:?}");
}

#[test]
fn inspects_every_grant_without_secrets() {
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
    let page = utf8(&shown.stdout);
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
fn marks_items_that_the_configuration_hides() {
    let workspace = Workspace::new(
        "[plugins.e]\nsource = \"@everything@\"\ntools.deny = [\"test_simple_text\"]\n\
         prompts.allow = [\"test_simple_prompt\"]\n\
         resources.deny = [\"test://static-text\", \"test://template/{id}/data\"]\n",
    );
    let page = utf8(&workspace.run(&["inspect", "e"]).stdout);
    let shown = document(&workspace, &["inspect", "e", "--format", "json"]);
    for (kind, key, name, is_hidden) in [
        ("tools", "name", "test_simple_text", true),
        ("tools", "name", "test_image_content", false),
        ("prompts", "name", "test_simple_prompt", false),
        ("prompts", "name", "test_prompt_with_image", true),
        ("resources", "uri", "test://static-text", true),
        ("resources", "uri", "test://static-binary", false),
        ("templates", "uri", "test://template/{id}/data", true),
    ] {
        let item = shown[kind].as_array().unwrap().iter().find(|item| item[key] == name).unwrap();
        assert_eq!(item["hidden"], is_hidden, "{item}");
        assert_eq!(page.contains(&format!("  {name}  (hidden) ")), is_hidden, "{name}: {page}");
    }
}

#[test]
fn explains_files_that_are_not_plugins() {
    let workspace = Workspace::new("");
    for (file, content, expected) in [
        ("text.wasm", "(component)", "text format"),
        ("module.wasm", "\0asm\u{1}\0\0\0", "wasm-tools component new"),
        ("empty.wasm", "", "it is empty"),
    ] {
        workspace.write(file, content);
        let output = workspace.run(&["inspect", file]);
        assert_eq!(output.status.code(), Some(78), "{file}: {output:?}");
        assert!(utf8(&output.stderr).contains(expected), "{file}: {output:?}");
        assert!(output.stdout.is_empty(), "{file}: {output:?}");
    }
    let absent = workspace.run(&["inspect", "./absent.wasm"]);
    assert_eq!(absent.status.code(), Some(78), "{absent:?}");
    assert!(utf8(&absent.stderr).contains("doesn't exist"), "{absent:?}");
}

#[test]
fn check_warns_of_unused_and_missing_grants() {
    let workspace = Workspace::new(
        "[plugins.stateful]\nsource = \"@stateful@\"\n\
         [plugins.time]\nsource = \"@time@\"\n[plugins.time.allow]\nhttp = [\"https://example.com\"]\n",
    );
    let output = workspace.run(&["check"]);
    assert!(output.status.success(), "warnings don't fail: {output:?}");
    let stderr = utf8(&output.stderr);
    assert!(stderr.contains("`stateful` was built to keep state, which isn't granted"), "{stderr}");
    assert!(stderr.contains("`time` is granted `http` but can't send requests"), "{stderr}");
    let fitting = Workspace::new(
        "[gateway]\nstate = \"state\"\n[plugins.stateful]\nsource = \"@stateful@\"\n[plugins.stateful.allow]\n\
         state = true\n[plugins.time]\nsource = \"@time@\"\n",
    );
    let output = fitting.run(&["check"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn explain_lists_used_and_missing_grants() {
    let without = Workspace::new("[plugins.stateful]\nsource = \"@stateful@\"\n");
    let call = ["call", "stateful_get", "key=a", "--explain"];
    let output = without.run(&call);
    let stderr = utf8(&output.stderr);
    assert!(
        stderr.contains("missing\n") && stderr.contains("[plugins.stateful.allow]\n  state = true\n"),
        "{output:?}"
    );
    let with = Workspace::new(
        "[plugins.stateful]\nsource = \"@stateful@\"\n[plugins.stateful.allow]\nstate = true\n",
    );
    let output = with.run(&call);
    assert!(output.status.success() && utf8(&output.stderr).contains("used\n  state\n"), "{output:?}");
    let explained = document(&with, &["call", "stateful_get", "key=a", "--explain", "--format", "json"]);
    assert_eq!(explained["grants"]["used"][0], "state", "{explained}");
    assert_eq!(explained["grants"]["lacked"], serde_json::json!([]), "{explained}");
    let plain = document(&with, &["call", "stateful_get", "key=a", "--format", "json"]);
    assert!(plain.get("grants").is_none(), "{plain}");
}

#[test]
fn check_warns_of_in_memory_state_with_the_line_to_add() {
    let workspace = Workspace::new(
        "[plugins.stateful]\nsource = \"@stateful@\"\n[plugins.stateful.allow]\nstate = true\n",
    );
    let output = workspace.run(&["check"]);
    let stderr = utf8(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    assert!(
        stderr.contains("lost when the gateway stops") && stderr.contains("kept in memory only"),
        "{stderr}"
    );
    assert!(stderr.contains("add `state = \"state\"` to `[gateway]`"), "{stderr}");
}

#[test]
fn check_points_at_an_unknown_denied_tool() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[plugins.time.tools]\ndeny = [\"convert_tim\"]\n",
    );
    let output = workspace.run(&["check"]);
    let stderr = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(
        stderr.contains("deny = [\"convert_tim\"]") && stderr.contains("did you mean `convert_time`?"),
        "{stderr}"
    );
}

#[test]
fn explain_lists_used_variables_and_settings() {
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
fn explain_names_the_reached_limit_and_a_sufficient_value() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\ndirs = [{ host = \"notes\", guest = \"/notes\", mode = \"rw\" }]\n\
         [plugins.zoo.limits]\nwritten = \"5KiB\"\n",
    );
    workspace.write("notes/a.txt", "");
    let text = format!("text={}", "x".repeat(6000));
    let output = workspace.run(&["call", "zoo_write_file", "path=/notes/a.txt", &text, "--explain"]);
    let stderr = utf8(&output.stderr);
    assert!(
        stderr.contains("reached limits\n")
            && stderr.contains("[plugins.zoo.limits]\n  written = ")
            && stderr.contains("  # instead of \"5KiB\"\n"),
        "{output:?}"
    );
    // With the suggested value, the call succeeds.
    let (_, suggestion) = stderr.split_once("  written = ").unwrap();
    let suggestion = suggestion.split("  #").next().unwrap();
    let config = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", config.replace("\"5KiB\"", suggestion));
    let output = workspace.run(&["call", "zoo_write_file", "path=/notes/a.txt", &text, "--explain"]);
    assert!(output.status.success() && !utf8(&output.stderr).contains("reached limits"), "{output:?}");
}

#[test]
fn inspects_resources_and_prompts_with_descriptions() {
    let workspace = Workspace::new("[plugins.everything]\nsource = \"@everything@\"\n");
    let document = document(&workspace, &["inspect", "everything", "--format", "json"]);
    let page = utf8(&workspace.run(&["inspect", "everything"]).stdout);
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
fn inspect_shows_file_access_without_a_directory_grant() {
    let granted = "[plugins.b.allow]\ndirs = [{ host = \"notes\", guest = \"/notes\" }]\n";
    let workspace = Workspace::new(&format!(
        "[plugins.a]\nsource = \"@zoo@\"\n[plugins.b]\nsource = \"@zoo@\"\nprefix = \"b\"\n{granted}[plugins.c]\nsource = \"@time@\"\n"
    ));
    workspace.write("notes/a.txt", "");
    let page = |which: &str| utf8(&workspace.run(&["inspect", which]).stdout);
    let expected = "  can access files; no directory is granted\n";
    assert!(page("a").contains(expected), "{}", page("a"));
    assert!(!page("b").contains("can access files") && !page("c").contains("can access files"));
    assert!(page(&component("zoo").display().to_string()).contains("  can access files\n"));
}

#[test]
fn shows_origin_and_packages_of_a_component() {
    let workspace = Workspace::new("");
    let provenance = |plugin: &str| {
        let file = component(plugin).display().to_string();
        let page = utf8(&workspace.run(&["inspect", &file]).stdout);
        assert!(page.contains("\norigin (unverified)\n"), "{page}");
        (page, document(&workspace, &["inspect", &file, "--format", "json"])["provenance"].clone())
    };
    let (_, time) = provenance("time");
    let producers = time["producers"].as_array().unwrap();
    assert!(
        producers.iter().any(|it| it["field"] == "processed-by" && it["name"] == "wit-component"),
        "{time}"
    );
    assert_eq!(time["packages"], Value::Null);
    // Its JavaScript engine was built with cargo-auditable.
    let (page, text) = provenance("text");
    let packages = text["packages"].as_array().unwrap();
    assert!(packages.iter().any(|package| package["name"] == "rquickjs"), "{text}");
    assert!(page.contains("\npackages (unverified)\n"), "{page}");
}
