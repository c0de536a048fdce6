//! What a hint says cures what it is said of, when it is done to the letter.

use std::fs;

use moongate_generated::Plugin;
use moongate_tests::{Http, Workspace, component};
use serde_json::{Value, json};

/// How a check of this configuration ends, and what it says.
fn checked(workspace: &Workspace, gateway: &str) -> (bool, String) {
    workspace.write("gateway.toml", gateway);
    let output = workspace.run(&["check"]);
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

/// The line that a hint would have written: where the message points, or else in the plugin's limits.
fn line(told: &str) -> Option<&str> {
    let (line, place) = told.split_once("write `")?.1.split_once("` ")?;
    (place.starts_with("here\n") || place.starts_with("in `[plugins.p.limits]`\n")).then_some(line)
}

/// Raises limits as the messages say, and tells how often it was wrong before it was right.
#[track_caller]
fn steps(plugin: &[u8], limit: &str) -> usize {
    let workspace = Workspace::new("");
    workspace.write("p.wasm", plugin);
    let mut limits = vec![limit.to_owned()];
    for step in 0.. {
        let table = "version = 1\n[plugins.p]\nsource = \"p.wasm\"\n[plugins.p.limits]\n";
        let (fine, told) = checked(&workspace, &(table.to_owned() + &limits.join("\n")));
        if fine {
            return step;
        }
        assert!(step < 4, "{limit}: it goes on and on: {told}");
        let line = line(&told).unwrap_or_else(|| panic!("{limit}: no line to write: {told}"));
        let key = line.split(' ').next().unwrap();
        limits.retain(|limit| !limit.starts_with(&format!("{key} ")));
        limits.push(line.to_owned());
    }
    unreachable!("it returns or panics")
}

#[test]
fn a_limit_that_a_plugin_does_not_load_with_is_cured_by_the_line_that_the_message_says() {
    for name in ["time", "text", "statistics"] {
        let plugin = fs::read(component(name)).unwrap();
        // The other limits keep what it may use while it loads; those of time may be enough on a quick machine.
        for (limit, most) in [
            ("memory = \"64KiB\"", 1),
            ("memory = \"6MiB\"", 1),
            ("table_elements = 1", 1),
            ("describe_timeout = \"1ms\"", 1),
            ("cpu_time = \"1ms\"", 1),
            ("handles = 1", 1),
            ("transfer = \"16B\"", 1),
            ("component = \"1KiB\"", 1),
            ("items = 1", 1),
            ("schema = \"16B\"", 1),
            ("schema_depth = 1", 1),
            ("memory = \"64KiB\"\nitems = 1", 2),
        ] {
            let steps = steps(&plugin, limit);
            assert!(steps <= most, "{name}, {limit}: {steps} steps");
        }
    }
    let many = (0..1_200).fold(Plugin::version(1), |plugin, at| plugin.tool(format!("t{at}")));
    assert_eq!(steps(&many.build(), "timeout = \"1s\""), 1, "more tools than is usual");
}

#[test]
fn it_is_said_how_much_a_plugin_asked_for_and_where_a_file_alone_gets_it() {
    let workspace = Workspace::new("");
    let table = "version = 1\n[plugins.p]\nsource = \"@time@\"\n[plugins.p.limits]\nmemory = \"64KiB\"\n";
    let table = table.replace("@time@", &component("time").display().to_string());
    let (_, told) = checked(&workspace, &table);
    assert!(
        told.contains("it can't be started: it needed more than 64.0 KiB of memory (it requested "),
        "{told}"
    );
    assert!(told.contains("memory = \"64KiB\"") && told.contains("^^^^"), "no place: {told}");
    let many = (0..1_200).fold(Plugin::version(1), |plugin, at| plugin.tool(format!("t{at}")));
    workspace.write("many.wasm", many.build());
    let output = workspace.run(&["inspect", "./many.wasm"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("1201 tools, more than `limits.items` allows (1000)"), "{told}");
    assert!(
        told.contains("configure it in `gateway.toml`") && told.contains("limits = { items = 2000 }"),
        "{told}"
    );
}

#[test]
fn a_slip_in_a_path_names_what_is_there() {
    let workspace = Workspace::new("");
    let built = "target/wasm32-wasip2/release/hello_world.wasm";
    workspace.write(built, Plugin::version(1).build());
    workspace.write("notes/a.txt", "");
    workspace.write("secrets/token", "hunter2");
    let there = workspace.path().canonicalize().unwrap();
    for slip in
        ["target/wasm32-wasip2/release/hello-world.wasm", "./target/wasm32-wasip2/release/hello_world.wsm"]
    {
        let (fine, told) = checked(&workspace, &format!("version = 1\n[plugins.p]\nsource = \"{slip}\"\n"));
        assert!(
            !fine && told.contains("did you mean `") && told.contains(&format!("/{built}`?")),
            "{slip}: {told}"
        );
        let output = workspace.run(&["inspect", slip]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(&format!("/{built}`?")), "{slip}: {told}");
        // Done to the letter, it loads.
        let meant = told.split("did you mean `").nth(1).unwrap().split('`').next().unwrap();
        assert!(workspace.run(&["inspect", meant]).status.success(), "{meant}");
    }
    let plugin = format!("version = 1\n[plugins.p]\nsource = \"{built}\"\n");
    let allow = "[plugins.p.allow]\ndirs = [{ host = \"./nots\", guest = \"/notes\" }]\n";
    let (fine, told) = checked(&workspace, &(plugin.clone() + allow));
    assert!(!fine && told.contains(&format!("did you mean `{}`?", there.join("notes").display())), "{told}");
    let config = "[plugins.p.config]\ntoken = { file = \"./secrets/tokn\" }\n";
    let (fine, told) = checked(&workspace, &(plugin.clone() + config));
    assert!(!fine && told.contains("did you mean `./secrets/token`?"), "{told}");
    let (_, told) = checked(&workspace, &plugin.replace(built, "nothing/like/it.wasm"));
    assert!(!told.contains("did you mean"), "{told}");
    let output = workspace.run(&["check", "--config", "gatway.toml"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("did you mean `gateway.toml`?"));
}

/// A plugin that wants settings, and a gateway's file in which they are so.
fn with_settings(settings: &str) -> (Workspace, String) {
    let schema = json!({
        "type": "object",
        "properties": {
            "token": { "type": "string", "description": "Who it is.\nIn several lines." },
            "most": { "type": "integer", "description": "How many it gives." },
        },
        "required": ["token"],
    });
    let workspace = Workspace::new("");
    workspace.write("p.wasm", Plugin::version(1).settings(schema.to_string()).build());
    let http = "[http]\nlisten = \"127.0.0.1:0\"\n";
    let text =
        format!("version = 1\n{http}[plugins.p]\nsource = \"p.wasm\"\n[plugins.p.config]\n{settings}\n");
    workspace.write("gateway.toml", &text);
    (workspace, text)
}

#[test]
fn settings_that_a_plugin_does_not_know_or_misses_are_told_before_any_call() {
    let (workspace, right) = with_settings("token = \"abc\"\nmost = 5");
    assert!(checked(&workspace, &right).0);
    let misspelt = right.replace("most", "moist");
    let (fine, told) = checked(&workspace, &misspelt);
    assert!(fine, "it is only a warning: {told}");
    assert!(told.contains("warning: the plugin `p` has no setting `moist`"), "{told}");
    assert!(
        told.contains("moist = *\n") && told.contains("^^^^^\n") && told.contains("did you mean `most`?"),
        "{told}"
    );
    // Excerpts mask the values of settings.
    for (wrong, message, caret) in [
        (
            right.replace("token = \"abc\"\n", ""),
            "is missing the required setting `token`",
            "[plugins.p.config]",
        ),
        (right.replace("= 5", "= \"many\""), "`most` must be of type integer, not string", "most = \"****\""),
    ] {
        let (fine, told) = checked(&workspace, &wrong);
        assert!(
            !fine && told.contains(message) && told.contains(caret) && told.contains("gateway.toml:"),
            "{told}"
        );
    }
}

#[test]
fn settings_that_are_wrong_are_told_at_the_start_and_at_a_reload_and_the_plugin_serves() {
    let (workspace, right) = with_settings("token = \"abc\"");
    workspace.write("gateway.toml", right.replace("token", "tokn"));
    let http = Http::start(&workspace);
    http.logged("is missing the required setting `token`");
    http.logged("did you mean `token`?");
    assert!(http.call("p_version", json!({}))["result"].is_object());
    workspace.write("beside", right + "most = \"many\"\n");
    fs::rename(workspace.path().join("beside"), workspace.config()).unwrap();
    http.logged("`most` must be of type integer, not string");
    assert!(http.call("p_version", json!({}))["result"].is_object());
}

#[test]
fn a_plugins_settings_are_shown_before_any_is_set() {
    let (workspace, _) = with_settings("token = \"abc\"");
    for which in ["p", "./p.wasm"] {
        let page = String::from_utf8(workspace.run(&["inspect", which]).stdout).unwrap();
        for part in [
            "\nsettings, ",
            "\n  token: text (required); Who it is.\n",
            "\n  most: whole number; How many it gives.\n",
        ] {
            assert!(page.contains(part), "`{part}` isn't in: {page}");
        }
        let output = workspace.run(&["inspect", which, "--format", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["settings"]["properties"]["most"]["type"], "integer", "{document}");
        assert_eq!(document["settings"]["required"], json!(["token"]), "{document}");
    }
}
