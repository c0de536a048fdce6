//! Conflicts between the names and resources of plugins.

use moongate_tests::{Stdio, Workspace};
use serde_json::{Value, json};

fn names(list: &Value) -> Vec<&str> {
    list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn rejects_duplicate_tool_names_with_both_locations() {
    let workspace = Workspace::new(
        "[plugins.one]\nsource = \"@time@\"\nprefix = \"t\"\n[plugins.two]\nsource = \"@time@\"\nprefix = \"t\"\n[plugins.three]\nsource = \"@time@\"\n",
    );
    let output = workspace.run(&["check"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{message}");
    for word in ["t_get_current_time", "`one`", "`two`", "prefix", "gateway.toml:5"] {
        assert!(message.contains(word), "`{word}` is missing in: {message}");
    }
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let list = stdio.request_and_wait("tools/list", json!({}));
    assert_eq!(
        names(&list),
        ["t_get_current_time", "t_convert_time", "three_get_current_time", "three_convert_time"],
        "the first plugin in the file wins, the other is rejected as a whole"
    );
}

#[test]
fn rejects_duplicate_resources_unless_uris_select_them() {
    let two = "[plugins.one]\nsource = \"@everything@\"\n[plugins.two]\nsource = \"@everything@\"\n";
    let output = Workspace::new(two).run(&["check"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{message}");
    assert!(message.contains("test://") && message.contains("uris"), "{message}");
}

#[test]
fn lists_tools_in_config_order_filtered_and_renamed() {
    let workspace = Workspace::new(
        "[plugins.zebra]\nsource = \"@time@\"\ntools = { deny = [\"convert_time\"] }\n[plugins.ape]\nsource = \"@time@\"\nprefix = \"\"\ntools = { rename = { convert_time = \"to-zone\" } }\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let list = stdio.request_and_wait("tools/list", json!({}));
    assert_eq!(names(&list), ["zebra_get_current_time", "get_current_time", "to-zone"]);
    let arguments = json!({ "source_timezone": "UTC", "time": "10:00", "target_timezone": "UTC" });
    assert!(stdio.call("to-zone", arguments.clone())["result"]["isError"].is_null());
    for hidden in ["zebra_convert_time", "convert_time", "ape_convert_time", ""] {
        let rejected = stdio.call(hidden, arguments.clone());
        assert_eq!(rejected["error"]["code"], -32602, "{hidden}: {rejected}");
    }
}
