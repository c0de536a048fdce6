//! Following a hint to the letter fixes the problem.

use std::fs;

use moongate_generated::Plugin;
use moongate_tests::{Http, Workspace, component};
use serde_json::{Value, json};

/// Returns true if `check` accepts this configuration, and its stderr.
fn checked(workspace: &Workspace, gateway: &str) -> (bool, String) {
    workspace.write("gateway.toml", gateway);
    let output = workspace.run(&["check"]);
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

/// The line that a hint suggests, at the location of the problem or in the plugin's limits.
fn suggested_line(stderr: &str) -> Option<&str> {
    let (line, place) = stderr.split_once("write `")?.1.split_once("` ")?;
    (place.starts_with("here\n") || place.starts_with("in `[plugins.p.limits]`\n")).then_some(line)
}

/// Raises limits as the hints suggest, and returns the number of hints until the plugin loads.
#[track_caller]
fn count_hints(plugin: &[u8], limit: &str) -> usize {
    let workspace = Workspace::new("");
    workspace.write("p.wasm", plugin);
    let mut limits = vec![limit.to_owned()];
    for step in 0.. {
        let table = "version = 1\n[plugins.p]\nsource = \"p.wasm\"\n[plugins.p.limits]\n";
        let (fine, stderr) = checked(&workspace, &(table.to_owned() + &limits.join("\n")));
        if fine {
            return step;
        }
        assert!(step < 4, "{limit}: too many hints: {stderr}");
        let line = suggested_line(&stderr).unwrap_or_else(|| panic!("{limit}: no suggested line: {stderr}"));
        let key = line.split(' ').next().unwrap();
        limits.retain(|limit| !limit.starts_with(&format!("{key} ")));
        limits.push(line.to_owned());
    }
    unreachable!("the loop returns or panics")
}

#[test]
fn suggested_limits_let_the_plugin_load() {
    for name in ["time", "text", "statistics"] {
        let plugin = fs::read(component(name)).unwrap();
        // One hint per limit is enough. A time limit may already suffice on a fast machine.
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
            let steps = count_hints(&plugin, limit);
            assert!(steps <= most, "{name}, {limit}: {steps} hints");
        }
    }
    let many = (0..1_200).fold(Plugin::version(1), |plugin, at| plugin.tool(format!("t{at}")));
    assert_eq!(count_hints(&many.build(), "timeout = \"1s\""), 1, "a plugin with many tools");
}

#[test]
fn reports_requested_memory_and_how_to_set_limits_of_a_file() {
    let workspace = Workspace::new("");
    let table = "version = 1\n[plugins.p]\nsource = \"@time@\"\n[plugins.p.limits]\nmemory = \"64KiB\"\n";
    let table = table.replace("@time@", &component("time").display().to_string());
    let (_, stderr) = checked(&workspace, &table);
    assert!(stderr.contains("exceeded the memory limit of 64.0 KiB (it requested "), "{stderr}");
    assert!(stderr.contains("memory = \"64KiB\"") && stderr.contains("^^^^"), "no location: {stderr}");
    let many = (0..1_200).fold(Plugin::version(1), |plugin, at| plugin.tool(format!("t{at}")));
    workspace.write("many.wasm", many.build());
    let output = workspace.run(&["inspect", "./many.wasm"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("1201 tools, more than `limits.items` allows (1000)"), "{stderr}");
    assert!(
        stderr.contains("configure it in `gateway.toml`") && stderr.contains("limits = { items = 2000 }"),
        "{stderr}"
    );
}

#[test]
fn suggests_existing_files_for_mistyped_paths() {
    let workspace = Workspace::new("");
    let built = "target/wasm32-wasip2/release/hello_world.wasm";
    workspace.write(built, Plugin::version(1).build());
    workspace.write("notes/a.txt", "");
    workspace.write("secrets/token", "hunter2");
    let there = workspace.path().canonicalize().unwrap();
    for typo in
        ["target/wasm32-wasip2/release/hello-world.wasm", "./target/wasm32-wasip2/release/hello_world.wsm"]
    {
        let (fine, stderr) = checked(&workspace, &format!("version = 1\n[plugins.p]\nsource = \"{typo}\"\n"));
        assert!(
            !fine && stderr.contains("did you mean `") && stderr.contains(&format!("/{built}`?")),
            "{typo}: {stderr}"
        );
        let output = workspace.run(&["inspect", typo]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(&format!("/{built}`?")), "{typo}: {stderr}");
        // The suggested path loads.
        let meant = stderr.split("did you mean `").nth(1).unwrap().split('`').next().unwrap();
        assert!(workspace.run(&["inspect", meant]).status.success(), "{meant}");
    }
    let plugin = format!("version = 1\n[plugins.p]\nsource = \"{built}\"\n");
    let allow = "[plugins.p.allow]\ndirs = [{ host = \"./nots\", guest = \"/notes\" }]\n";
    let (fine, stderr) = checked(&workspace, &(plugin.clone() + allow));
    assert!(
        !fine && stderr.contains(&format!("did you mean `{}`?", there.join("notes").display())),
        "{stderr}"
    );
    let config = "[plugins.p.config]\ntoken = { file = \"./secrets/tokn\" }\n";
    let (fine, stderr) = checked(&workspace, &(plugin.clone() + config));
    assert!(!fine && stderr.contains("did you mean `./secrets/token`?"), "{stderr}");
    let (_, stderr) = checked(&workspace, &plugin.replace(built, "nothing/like/it.wasm"));
    assert!(!stderr.contains("did you mean"), "{stderr}");
    let output = workspace.run(&["check", "--config", "gatway.toml"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("did you mean `gateway.toml`?"));
}

/// A plugin with required settings, and a configuration with these settings.
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
fn check_reports_unknown_and_missing_settings() {
    let (workspace, right) = with_settings("token = \"abc\"\nmost = 5");
    assert!(checked(&workspace, &right).0);
    let misspelt = right.replace("most", "moist");
    let (fine, stderr) = checked(&workspace, &misspelt);
    assert!(fine, "only a warning is expected: {stderr}");
    assert!(stderr.contains("warning: the plugin `p` has no setting `moist`"), "{stderr}");
    assert!(
        stderr.contains("moist = *\n")
            && stderr.contains("^^^^^\n")
            && stderr.contains("did you mean `most`?"),
        "{stderr}"
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
        let (fine, stderr) = checked(&workspace, &wrong);
        assert!(
            !fine && stderr.contains(message) && stderr.contains(caret) && stderr.contains("gateway.toml:"),
            "{stderr}"
        );
    }
}

#[test]
fn logs_wrong_settings_at_start_and_reload_and_still_serves() {
    let (workspace, right) = with_settings("token = \"abc\"");
    workspace.write("gateway.toml", right.replace("token", "tokn"));
    let http = Http::start(&workspace);
    http.wait_for_log("is missing the required setting `token`");
    http.wait_for_log("did you mean `token`?");
    assert!(http.call("p_version", json!({}))["result"].is_object());
    workspace.write("temporary", right + "most = \"many\"\n");
    fs::rename(workspace.path().join("temporary"), workspace.config()).unwrap();
    http.wait_for_log("`most` must be of type integer, not string");
    assert!(http.call("p_version", json!({}))["result"].is_object());
}

#[test]
fn inspect_shows_settings_before_any_is_set() {
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
