//! Roles that change while the gateway runs, notifications by role, and state of each caller.

use moongate_tests::{EventStream, Http, request, text};
use serde_json::{Value, json};

use super::oauth::bearer;
use super::roles::{
    EVERYTHING, listen, names, replace_in_config, result, stateless, token, tools, workspace,
};

/// The log line after the roles changed.
const APPLIED: &str = "configuration applied: `roles`";

/// The methods of the next notifications.
fn methods<const N: usize>(stream: &mut EventStream) -> [String; N] {
    std::array::from_fn(|_| stream.message().unwrap()["method"].as_str().unwrap().to_owned())
}

/// Changes the roles, and waits until the change counts.
fn change_roles(http: &Http, workspace: &moongate_tests::Workspace, before: &str, after: &str) {
    let applied = || http.log().matches(APPLIED).count();
    let earlier = applied();
    replace_in_config(workspace, before, after);
    moongate_tests::wait_until("the roles are applied", || applied() > earlier);
}

#[test]
fn reload_changes_roles_and_notifies_only_the_affected() {
    let workspace = workspace(&format!(
        "{EVERYTHING}[roles.ann]\nmembers = [{{ token = \"ann\" }}]\nallow.tools = [\"*_simple_text\"]\n\
         [roles.bob]\nmembers = [{{ token = \"bob\" }}]\nallow.tools = [\"*_error_handling\"]\n"
    ));
    let http = Http::start(&workspace);
    let mut streams = ["ann", "bob"].map(|name| listen(&http, &token(name), &[]));
    let session = {
        let authorization = bearer(&token("bob"));
        let id = http.open_session(&[("Authorization", &authorization)], "2025-06-18");
        let headers = [("Authorization", &*authorization), ("Mcp-Session-Id", &id)];
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(http.post(&headers, &initialized).status, 202);
        let headers = [headers[0], headers[1], ("Accept", "text/event-stream")];
        http.open("GET", &headers, b"")
    };
    for stream in &mut streams {
        stream.message().unwrap(); // the acknowledgement
    }
    change_roles(&http, &workspace, "*_error_handling", "*_image_content");
    assert_eq!(tools(&http, "bob"), ["everything_test_image_content"]);
    assert_eq!(tools(&http, "ann"), ["everything_test_simple_text"]);
    let (_, refused) = stateless(
        &http,
        "bob",
        "tools/call",
        json!({ "name": "everything_test_error_handling", "arguments": {} }),
    );
    assert!(refused.contains("-32602"), "{refused}");
    let change = ("allow.tools = [\"*_simple_text\"]", "allow.prompts = [\"*_simple_prompt\"]");
    change_roles(&http, &workspace, change.0, change.1);
    let [mut ann, mut bob] = streams;
    // Ann isn't notified of Bob's change, and Bob isn't notified of hers.
    let expected = ["notifications/tools/list_changed", "notifications/prompts/list_changed"];
    assert_eq!(methods::<2>(&mut ann), expected);
    assert_eq!(methods::<1>(&mut bob), [expected[0]]);
    change_roles(
        &http,
        &workspace,
        "allow.tools = [\"*_image_content\"]",
        "allow.resources = [\"test://static-*\"]",
    );
    let expected = ["notifications/tools/list_changed", "notifications/resources/list_changed"];
    assert_eq!(methods::<2>(&mut bob), expected);
    let mut session = session;
    assert_eq!(methods::<1>(&mut session), [expected[0]]);
}

#[test]
fn changes_of_hidden_items_are_not_announced() {
    let workspace = workspace(&format!(
        "{EVERYTHING}[roles.ann]\nmembers = [{{ token = \"ann\" }}]\nallow.plugins = [\"*\"]\n\
         [roles.bob]\nmembers = [{{ token = \"bob\" }}]\nallow.plugins = [\"*\"]\ndeny.tools = [\"*_changing_tool\"]\n"
    ));
    let http = Http::start(&workspace);
    let watched = "test://watched-resource";
    let mut streams = ["ann", "bob"].map(|name| listen(&http, &token(name), &[watched]));
    for stream in &mut streams {
        let first = stream.message().unwrap();
        assert_eq!(first["params"]["notifications"]["resourceSubscriptions"], json!([watched]));
    }
    let trigger = |tool: &str| {
        let name = format!("everything_test_trigger_{tool}");
        let done = result(&http, "ann", "tools/call", json!({ "name": name, "arguments": {} }));
        assert_ne!(done["isError"], true, "{done}");
    };
    let [mut ann, mut bob] = streams;
    trigger("tool_change");
    assert_eq!(methods::<1>(&mut ann), ["notifications/tools/list_changed"]);
    trigger("prompt_change");
    assert_eq!(methods::<1>(&mut ann), ["notifications/prompts/list_changed"]);
    assert_eq!(methods::<1>(&mut bob), ["notifications/prompts/list_changed"]);
    // A resource that is hidden since the subscription.
    let deny = "deny.tools = [\"*_changing_tool\"]\n";
    change_roles(&http, &workspace, deny, &format!("{deny}deny.resources = [\"{watched}\"]\n"));
    assert_eq!(methods::<1>(&mut bob), ["notifications/resources/list_changed"]);
    trigger("resource_update");
    assert_eq!(methods::<1>(&mut ann), ["notifications/resources/updated"]);
    change_roles(&http, &workspace, deny, "deny.prompts = [\"*_simple_prompt\"]\n");
    let expected = ["notifications/tools/list_changed", "notifications/prompts/list_changed"];
    assert_eq!(methods::<2>(&mut bob), expected);
}

#[test]
fn removing_the_roles_shows_everything() {
    let roles = "[roles.ann]\nmembers = [{ token = \"ann\" }]\nallow.plugins = [\"*\"]\n";
    let workspace = workspace(&format!("{EVERYTHING}{roles}"));
    let http = Http::start(&workspace);
    assert_eq!(tools(&http, "bob"), [""; 0]);
    let all = tools(&http, "ann");
    change_roles(&http, &workspace, roles, "");
    assert_eq!(tools(&http, "bob"), all);
    let missing = workspace.path().join("gateway.toml");
    let text = std::fs::read_to_string(missing).unwrap();
    workspace.write("gateway.toml", format!("{text}[roles]\n"));
    http.wait_for_log("`[roles]` has no role");
    assert_eq!(tools(&http, "bob"), all, "a rejected configuration changes nothing");
}

#[test]
fn roles_wait_like_wider_grants() {
    let workspace = workspace(&format!(
        "[gateway]\nwider_grants = \"wait\"\n{EVERYTHING}[roles.ann]\nmembers = [{{ token = \"ann\" }}]\nallow.plugins = [\"*\"]\n"
    ));
    let http = Http::start(&workspace);
    replace_in_config(&workspace, "[{ token = \"ann\" }]", "[{ token = \"ann\" }, { token = \"bob\" }]");
    http.wait_for_log("`roles` changed; the change waits for a reload request");
    assert_eq!(tools(&http, "bob"), [""; 0]);
    moongate_tests::send_signal(http.pid(), "HUP");
    http.wait_for_log(APPLIED);
    assert_eq!(tools(&http, "bob"), tools(&http, "ann"));
}

#[test]
fn callers_have_state_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let table =
        "[plugins.memory]\nsource = \"@memory@\"\nallow.state = true\nallow.state_scope = \"caller\"\n";
    let on_disk = format!("[gateway]\nstate = \"{}\"\n{table}", directory.path().join("state").display());
    {
        let workspace = workspace(&on_disk);
        let http = Http::start(&workspace);
        let call = |name: &str, tool: &str, arguments: Value| {
            result(
                &http,
                name,
                "tools/call",
                json!({ "name": format!("memory_{tool}"), "arguments": arguments }),
            )
        };
        let add = |name: &str, entity: &str| {
            let entity = json!({ "name": entity, "entityType": "thing", "observations": [] });
            let done = call(name, "create_entities", json!({ "entities": [entity] }));
            assert_ne!(done["isError"], true, "{done}");
        };
        let known = |name: &str| {
            let graph = call(name, "read_graph", json!({}));
            graph["content"][0]["text"].as_str().unwrap().to_owned()
        };
        add("ann", "anns-secret");
        add("bob", "bobs-secret");
        assert!(known("ann").contains("anns-secret") && !known("ann").contains("bobs-secret"));
        assert!(known("bob").contains("bobs-secret") && !known("bob").contains("anns-secret"));
        assert!(!known("eve").contains("secret"));
        let (_, resource) = stateless(&http, "eve", "resources/list", json!({}));
        assert!(!resource.contains("secret"), "{resource}");
    }
    // State on disk outlives the gateway, for each caller.
    let workspace = workspace(&on_disk);
    let http = Http::start(&workspace);
    let graph = |name| {
        let params = json!({ "name": "memory_read_graph", "arguments": {} });
        result(&http, name, "tools/call", params)["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(graph("ann").contains("anns-secret") && !graph("eve").contains("secret"));
    // The command line is another caller.
    let output = workspace.run(&["call", "memory_read_graph", "--format", "json"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !printed.contains("secret"), "{printed}");
}

#[test]
fn quota_of_state_counts_for_each_caller() {
    let workspace = workspace(
        "[gateway]\nstate = \"state\"\n[plugins.memory]\nsource = \"@memory@\"\nallow.state = true\n\
         allow.state_scope = \"caller\"\nlimits.state = \"8KiB\"\n",
    );
    let http = Http::start(&workspace);
    let add = |name: &str| {
        let entity = json!({ "name": "e", "entityType": "t", "observations": ["x".repeat(5_000)] });
        let params = json!({ "name": "memory_create_entities", "arguments": { "entities": [entity] } });
        result(&http, name, "tools/call", params)["isError"] == true
    };
    assert!(!add("ann") && !add("bob") && !add("eve"));
    let more = json!({ "name": "memory_create_entities", "arguments": { "entities": [
        { "name": "f", "entityType": "t", "observations": ["x".repeat(5_000)] },
    ] } });
    assert_eq!(result(&http, "ann", "tools/call", more)["isError"], true);
}

#[test]
fn session_sees_the_roles_of_each_moment() {
    let workspace = workspace(&format!(
        "{EVERYTHING}[roles.ann]\nmembers = [{{ token = \"ann\" }}]\nallow.tools = [\"*_simple_text\"]\n"
    ));
    let http = Http::start(&workspace);
    let authorization = bearer(&token("ann"));
    let id = http.open_session(&[("Authorization", &authorization)], "2025-11-25");
    let headers = [("Authorization", &*authorization), ("Mcp-Session-Id", &id)];
    let call = json!({ "name": "everything_test_simple_text", "arguments": {} });
    let answer = http.post(&headers, &request(2, "tools/call", call.clone())).json();
    assert!(!text(&answer).is_empty());
    change_roles(&http, &workspace, "*_simple_text", "*_error_handling");
    let answer = http.post(&headers, &request(3, "tools/call", call)).json();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let listed = http.post(&headers, &request(4, "tools/list", json!({}))).json();
    assert_eq!(names(&listed["result"], "tools", "name"), ["everything_test_error_handling"]);
}
