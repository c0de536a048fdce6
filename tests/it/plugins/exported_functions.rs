//! Components without the contract: their exported functions are tools.

use std::fs;

use moongate_tests::{Http, Stdio, Workspace, component, text, wait_until};
use serde_json::{Value, json};

const FUNCTIONS: &str = "[plugins.functions]\nsource = \"@functions@\"\n";

/// The tools of the component in Rust, under their own names.
const TOOLS: [&str; 15] = [
    "area",
    "shapes.describe",
    "greet",
    "oldest",
    "people.describe",
    "counter.limit",
    "mirror",
    "check-age",
    "crash",
    "divide",
    "infinity",
    "next",
    "nothing",
    "read-file",
    "repeated",
];

fn stdio(workspace: &Workspace) -> Stdio {
    Stdio::initialized(workspace, "2025-11-25")
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn tools(stdio: &mut Stdio) -> Vec<Value> {
    let list = stdio.request_and_wait("tools/list", json!({}));
    list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}")).clone()
}

fn tool(stdio: &mut Stdio, name: &str) -> Value {
    let found = tools(stdio).into_iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("there is no tool `{name}`"))
}

/// A value with every type that has a form in JSON.
fn sample() -> Value {
    json!({
        "truth": true,
        "signed": [-128, -32768, -2_147_483_648_i64, -9_007_199_254_740_991_i64],
        "unsigned": [255, 65535, 4_294_967_295_u32, "18446744073709551615"],
        "single": 0.5,
        "double": 1e300,
        "letter": "é",
        "text": "Größe \u{0} 👋",
        "bytes": "AP8=",
        "numbers": [1, -2],
        "headers": { "b": 1, "a": 2 },
        "shape": { "tag": "rectangle", "val": [2.5, 3.5] },
        "unit": "inch",
        "maybe": null,
        "outcome": { "tag": "err", "val": "no" },
        "nothing": { "tag": "ok" },
        "rights": ["read", "admin"],
    })
}

#[test]
fn functions_become_tools_with_schemas() {
    let workspace = Workspace::new(FUNCTIONS);
    let mut stdio = stdio(&workspace);
    let names: Vec<_> = tools(&mut stdio).iter().map(|tool| tool["name"].clone()).collect();
    let mut expected: Vec<_> =
        TOOLS.iter().map(|name| format!("functions_{}", name.replace('.', "_"))).collect();
    expected.push("functions_reverse".to_owned());
    let mut sorted: Vec<_> = names.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    let divide = tool(&mut stdio, "functions_divide");
    assert_eq!(divide["description"], "Call the function `divide`.");
    assert_eq!(divide["inputSchema"]["required"], json!(["dividend", "divisor"]), "{divide}");
    assert_eq!(divide["inputSchema"]["properties"]["divisor"]["minimum"], i32::MIN, "{divide}");
    let oldest = tool(&mut stdio, "functions_oldest");
    assert_eq!(oldest["description"], "Call the function `oldest` of `test:functions/people@1.2.0`.");
    let person = &oldest["inputSchema"]["properties"]["people"]["items"];
    assert_eq!(person["required"], json!(["first-name", "age", "tags"]), "{oldest}");
    assert!(tool(&mut stdio, "functions_greet")["outputSchema"].is_null());
}

#[test]
fn values_of_every_type_are_passed_and_returned() {
    let workspace = Workspace::new(FUNCTIONS);
    for revision in ["2025-11-25", "2024-11-05"] {
        let mut stdio = Stdio::initialized(&workspace, revision);
        let answer = stdio.call("functions_mirror", json!({ "sample": sample() }));
        let returned: Value = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!(returned, sample());
        if revision == "2025-11-25" {
            assert_eq!(answer["result"]["structuredContent"], sample(), "{answer}");
        }
    }
    let mut stdio = stdio(&workspace);
    // Other forms of the same values.
    let mut other = sample();
    other["unsigned"] = json!([255.0, 65535, 4_294_967_295_u32, u64::MAX]);
    other["bytes"] = json!([0, 255]);
    other["headers"] = json!([["b", 1], ["a", 2]]);
    other["shape"] = json!({ "val": [2.5, 3.5], "tag": "rectangle" });
    other.as_object_mut().unwrap().remove("maybe");
    let answer = stdio.call("functions_mirror", json!({ "sample": other }));
    assert_eq!(answer["result"]["structuredContent"], sample(), "{answer}");
    for (tool, arguments, expected) in [
        ("next", json!({ "number": "41" }), json!(42)),
        ("next", json!({ "number": 9_007_199_254_740_991_u64 }), json!("9007199254740992")),
        ("infinity", json!({}), json!(null)),
        ("reverse", json!({ "bytes": "AQID" }), json!("AwIB")),
        ("repeated", json!({ "key": "a" }), json!([["a", 1], ["a", 2]])),
        ("counter_limit", json!({}), json!(10)),
        ("oldest", json!({ "people": [] }), json!(null)),
        ("area", json!({ "shape": { "tag": "rectangle", "val": [2, 3] } }), json!(6.0)),
        ("area", json!({ "shape": { "tag": "empty" }, "unit": "inch" }), json!(0.0)),
    ] {
        let answer = stdio.call(&format!("functions_{tool}"), arguments);
        let returned: Value = serde_json::from_str(text(&answer)).unwrap_or_else(|_| panic!("{answer}"));
        assert_eq!(returned, expected, "{tool}");
        // Clients of this revision get other values than objects in one.
        let structured = &answer["result"]["structuredContent"];
        assert!(structured.as_object().unwrap().values().any(|value| *value == expected), "{answer}");
    }
}

#[test]
fn strings_and_results_without_a_value_are_text() {
    let workspace = Workspace::new(FUNCTIONS);
    let mut stdio = stdio(&workspace);
    let person = json!({ "first-name": "Ada", "age": 36, "nickname": null, "tags": { "born": "London" } });
    for (tool, arguments, expected) in [
        ("greet", json!({ "person": person, "rights": ["admin"] }), "Hello, Ada, admin! born=London"),
        ("people_describe", json!({}), "people have names"),
        ("shapes_describe", json!({}), "shapes have areas"),
        ("nothing", json!({}), "done"),
        ("check-age", json!({ "age": 36 }), "done"),
    ] {
        let answer = stdio.call(&format!("functions_{tool}"), arguments);
        assert_eq!(text(&answer), expected, "{answer}");
        assert!(answer["result"]["structuredContent"].is_null(), "{answer}");
        assert!(answer["result"]["isError"] != true, "{answer}");
    }
}

#[test]
fn errors_of_functions_are_tool_errors() {
    let workspace = Workspace::new(FUNCTIONS);
    let mut stdio = stdio(&workspace);
    for (tool, arguments, expected) in [
        ("divide", json!({ "dividend": 1, "divisor": 0 }), "can't divide 1 by 0"),
        ("check-age", json!({ "age": 200 }), "200"),
        ("area", json!({ "shape": { "tag": "circle", "val": -1 } }), "the radius is negative"),
        ("crash", json!({}), "plugin `functions`: crashed"),
        ("read-file", json!({ "path": "/etc/hostname" }), "os error 44"),
        // Refused before the call.
        ("check-age", json!({ "age": 256 }), "`age`"),
        ("divide", json!({ "dividend": 1 }), "`divisor` is missing"),
        ("divide", json!({ "dividend": 1.5, "divisor": 1 }), "`dividend`"),
        ("area", json!({ "shape": { "tag": "square" } }), "tag"),
        ("greet", json!({ "person": {}, "rights": [] }), "/person/first-name"),
    ] {
        let answer = stdio.call(&format!("functions_{tool}"), arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        assert!(text(&answer).contains(expected), "{tool}: `{expected}` isn't in: {answer}");
    }
    assert_eq!(text(&stdio.call("functions_divide", json!({ "dividend": 6, "divisor": 3 }))), "2");
    // Errors that a schema can't express.
    for (tool, arguments, place, expected) in [
        ("next", json!({ "number": "18446744073709551616" }), "/number", "an integer from 0"),
        ("reverse", json!({ "bytes": "?" }), "/bytes", "Base64"),
    ] {
        let name = format!("functions_{tool}");
        let call = json!({ "name": name, "arguments": arguments });
        let error = stdio.request_and_wait("tools/call", call)["error"].clone();
        assert_eq!((&error["code"], &error["data"]["at"]), (&json!(-32602), &json!(place)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(expected), "{error}");
    }
}

#[test]
fn grants_and_limits_apply_to_functions() {
    let workspace = Workspace::new(
        "[plugins.open]\nsource = \"@functions@\"\nallow.dirs = [{ host = \"files\", guest = \"/files\" }]\n\
         [plugins.small]\nsource = \"@functions@\"\nlimits.transfer = \"64KiB\"\n",
    );
    fs::create_dir(workspace.path().join("files")).unwrap();
    workspace.write("files/a.txt", "content");
    let mut stdio = stdio(&workspace);
    assert_eq!(text(&stdio.call("open_read-file", json!({ "path": "/files/a.txt" }))), "content");
    let answer = stdio.call("open_read-file", json!({ "path": "/files/b.txt" }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let bytes = "AAAA".repeat(2000);
    let answer = stdio.call("open_reverse", json!({ "bytes": bytes }));
    assert_eq!(answer["result"]["structuredContent"]["result"], bytes, "{answer}");
    let answer = stdio.call("small_reverse", json!({ "bytes": bytes }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("plugins.small.limits.transfer"), "{answer}");
    assert_eq!(text(&stdio.call("small_next", json!({ "number": 1 }))), "2");
}

#[test]
fn refused_functions_are_warnings_and_the_others_serve() {
    let workspace = Workspace::new(FUNCTIONS);
    let output = workspace.run(&["check"]);
    let stderr = utf8(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    for (name, part) in [
        ("[constructor]counter", "its result contains a resource"),
        ("[method]counter.increment", "its parameter `self` contains a resource"),
        ("reset", "its parameter `counter` contains a resource"),
    ] {
        let line = format!("the tool `{name}` of plugin `functions` is left out: {part}");
        assert!(stderr.contains(&line), "`{line}` isn't in: {stderr}");
    }
    let page = utf8(&workspace.run(&["inspect", "functions"]).stdout);
    for part in ["contract  none; its exported functions are tools", "reset", "divide", "dividend"] {
        assert!(page.contains(part), "`{part}` isn't in: {page}");
    }
    let denied = "tools.deny = [\"reset\", \"[constructor]counter\", \"[method]counter.increment\"]\n";
    let quiet = Workspace::new(&format!("{FUNCTIONS}{denied}"));
    let output = quiet.run(&["check"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn descriptions_come_from_the_configuration() {
    let config = |description: &str| {
        format!("{FUNCTIONS}[plugins.functions.tools.describe]\ndivide = \"{description}\"\n")
    };
    let workspace = Workspace::new(&config("Divide whole numbers."));
    let mut stdio = stdio(&workspace);
    assert_eq!(tool(&mut stdio, "functions_divide")["description"], "Divide whole numbers.");
    for arguments in [&["list", "tools"][..], &["inspect", "functions"]] {
        let page = utf8(&workspace.run(arguments).stdout);
        assert!(page.contains("Divide whole numbers."), "{page}");
    }
    workspace.write("new.toml", fs::read_to_string(workspace.config()).unwrap().replace("whole", "integer"));
    fs::rename(workspace.path().join("new.toml"), workspace.config()).unwrap();
    while stdio.receive()["method"] != "notifications/tools/list_changed" {}
    assert_eq!(tool(&mut stdio, "functions_divide")["description"], "Divide integer numbers.");
    for (line, message) in [
        ("divide = \" \"", "empty description of the tool `divide`"),
        ("divid = \"Divide.\"", "plugin `functions` has no tool `divid`, which `tools.describe` names"),
        ("divide = 1", "must be a description"),
    ] {
        let text = format!("{FUNCTIONS}[plugins.functions.tools.describe]\n{line}\n");
        let stderr = utf8(&Workspace::new(&text).run(&["check"]).stderr);
        assert!(stderr.contains(message), "`{message}` isn't in: {stderr}");
    }
}

#[test]
fn commands_work_with_a_component_file() {
    let file = component("functions").display().to_string();
    let workspace = Workspace::new("");
    let output = workspace.run(&["call", "--plugin", &file, "divide", "dividend=7", "divisor=2"]);
    assert_eq!(utf8(&output.stdout), "3\n", "{output:?}");
    let output = workspace.run(&["call", "--plugin", &file, "divide", "dividend=7", "divisor=0"]);
    assert!(!output.status.success() && utf8(&output.stdout) == "can't divide 7 by 0\n", "{output:?}");
    let page = utf8(&workspace.run(&["inspect", &file, "--format", "json"]).stdout);
    let document: Value = serde_json::from_str(&page).unwrap();
    assert!(document["contract"].is_null() && document["tools"].as_array().unwrap().len() == 16, "{page}");
    let added = workspace.run(&["add", &file, "--name", "maths", "--yes"]);
    let sheet = utf8(&added.stderr);
    assert!(added.status.success() && sheet.contains("16 tools: "), "{added:?}");
    let page = utf8(&workspace.run(&["list", "tools"]).stdout);
    assert!(page.contains("maths_divide"), "{page}");
}

#[test]
fn components_in_javascript_are_plugins() {
    // componentize-qjs exports `init` for its own use.
    let config = "[plugins.words]\nsource = \"@words@\"\ntools.deny = [\"init\"]\n";
    let workspace = Workspace::new(config);
    let output = workspace.run(&["check"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    // The second start uses the cached description.
    let mut stdio = stdio(&workspace);
    let names: Vec<_> = tools(&mut stdio).iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["words_count-words", "words_longest-word", "words_shout"]);
    let arguments = json!({ "text": "to be or not to be", "order": "frequency" });
    let answer = stdio.call("words_count-words", arguments);
    let first: Value = serde_json::from_str(text(&answer)).unwrap_or_else(|_| panic!("{answer}"));
    assert_eq!(first[0], json!({ "text": "be", "count": 2 }), "{answer}");
    assert_eq!(text(&stdio.call("words_shout", json!({ "text": "hi" }))), "HI!");
    assert_eq!(text(&stdio.call("words_longest-word", json!({ "text": "" }))), "null");
    let answer = stdio.call("words_count-words", json!({ "text": "12" }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(text(&answer), "the text contains no words");
}

#[test]
fn a_file_can_change_between_contract_and_functions() {
    let workspace = Workspace::new("[plugins.it]\nsource = \"it.wasm\"\n");
    let replace = |name: &str| {
        fs::copy(component(name), workspace.path().join("new.wasm")).unwrap();
        fs::rename(workspace.path().join("new.wasm"), workspace.path().join("it.wasm")).unwrap();
    };
    replace("echo");
    let http = Http::start(&workspace);
    for (name, tool) in [("words", "it_shout"), ("functions", "it_divide"), ("echo", "it_echo")] {
        replace(name);
        wait_until(&format!("`{tool}` is listed"), || {
            let list = http.request_and_wait("tools/list", json!({})).json();
            list["result"]["tools"].as_array().unwrap().iter().any(|listed| listed["name"] == tool)
        });
    }
}
