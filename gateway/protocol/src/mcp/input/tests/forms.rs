//! Tests of the validation and sanitising of questions, and of their form in older revisions.

use super::*;
use crate::names::PluginId;

fn question(method: &str, params: &Value) -> Result<Question, String> {
    let params = Some(Json::from_value(params));
    Question::read(&InputRequest { key: "k".to_owned(), method: method.to_owned(), params })
}

fn wrong(method: &str, params: &Value) -> String {
    question(method, params).expect_err(&params.to_string())
}

fn fields(properties: &Value) -> Value {
    json!({ "message": "m", "requestedSchema": { "type": "object", "properties": properties } })
}

/// The question in the form of `revision`.
fn seen(method: &str, params: &Value, revision: Revision) -> Value {
    let id = PluginId::new("weather").unwrap();
    question(method, params).unwrap().params(&id, revision).unwrap().unwrap().to_value().unwrap()
}

#[test]
fn keeps_form_fields_in_order() {
    let all = json!({
        "zebra": { "type": "string", "title": "Z", "minLength": 1, "maxLength": 9, "format": "email", "default": "a@b" },
        "ant": { "type": "integer", "minimum": 0, "maximum": 10, "default": 3 },
        "share": { "type": "number", "default": 95.5 },
        "sure": { "type": "boolean", "default": true },
        "plain": { "type": "string", "enum": ["a", "b"], "default": "a" },
        "named": { "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] },
        "titled": { "type": "string", "oneOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }] },
        "some": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string", "enum": ["a", "b"] } },
        "some_titled": { "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }] }, "default": ["a"] },
    });
    let form = fields(&all);
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let shown = seen("elicitation/create", &form, revision);
        assert_eq!(shown["requestedSchema"], form["requestedSchema"], "{revision}");
        let order: Vec<_> = shown["requestedSchema"]["properties"].as_object().unwrap().keys().collect();
        assert_eq!(order[..2], ["zebra", "ant"]);
    }
}

#[test]
fn converts_forms_for_2025_06_18() {
    let form = fields(&json!({
        "text": { "type": "string", "default": "x" },
        "count": { "type": "integer", "default": 3 },
        "sure": { "type": "boolean", "default": true },
        "titled": { "type": "string", "title": "T", "oneOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }], "default": "a" },
    }));
    let shown = seen("elicitation/create", &form, Revision::V2025_06_18);
    assert!(shown.get("mode").is_none());
    let expected = json!({
        "text": { "type": "string" },
        "count": { "type": "integer" },
        "sure": { "type": "boolean", "default": true },
        "titled": { "type": "string", "title": "T", "enum": ["a", "b"], "enumNames": ["A", "B"] },
    });
    assert_eq!(shown["requestedSchema"]["properties"], expected);
}

#[test]
fn removes_descriptive_keywords_from_forms() {
    let form = json!({ "message": "m", "task": { "ttl": 1 }, "requestedSchema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Form",
        "additionalProperties": false,
        "type": "object",
        "properties": { "n": { "type": "integer", "format": "uint32", "minimum": 0, "examples": [1] }, "s": { "type": "string", "format": "hostname" } },
        "required": ["n"],
    } });
    let shown = seen("elicitation/create", &form, Revision::V2026_07_28);
    let expected = json!({ "type": "object", "properties": { "n": { "type": "integer", "minimum": 0 }, "s": { "type": "string" } }, "required": ["n"] });
    assert_eq!(shown["requestedSchema"], expected);
    assert!(shown.get("task").is_none(), "{shown}");
}

#[test]
fn rejects_forms_that_clients_can_not_show() {
    for (field, why) in [
        (json!({ "type": "object", "properties": {} }), "`type`"),
        (json!({ "type": ["string", "null"] }), "`type`"),
        (json!({ "$ref": "#/$defs/x" }), "`type`"),
        (json!({ "type": "string", "pattern": "^a" }), "`pattern` is not supported in a form"),
        (json!({ "type": "number", "multipleOf": 2 }), "`multipleOf`"),
        (json!({ "type": "string", "minLength": -1 }), "`minLength`"),
        (json!({ "type": "string", "enum": [] }), "`enum`"),
        (json!({ "type": "string", "enum": ["a", "a"] }), "`enum`"),
        (json!({ "type": "string", "enum": ["a\u{202e}b"] }), "`enum`"),
        (json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A"] }), "2 values and 1 names"),
        (json!({ "type": "string", "oneOf": [{ "const": "a" }] }), "`oneOf`"),
        (json!({ "type": "array", "items": { "type": "object" } }), "`items`"),
        (json!({ "type": "boolean", "default": "yes" }), "`default`"),
        (json!("string"), "must be an object"),
    ] {
        let said = wrong("elicitation/create", &fields(&json!({ "f": field })));
        assert!(said.contains("invalid field `f`") && said.contains(why), "{why}: {said}");
    }
    for (schema, why) in [
        (json!({ "type": "array" }), "`requestedSchema.type`"),
        (json!({ "type": "object" }), "`requestedSchema.properties`"),
        (json!({ "type": "object", "properties": {}, "anyOf": [] }), "`anyOf`"),
        (json!({ "type": "object", "properties": {}, "required": ["x"] }), "`requestedSchema.required`"),
    ] {
        let said = wrong("elicitation/create", &json!({ "message": "m", "requestedSchema": schema }));
        assert!(said.contains(why), "{why}: {said}");
    }
    let many: serde_json::Map<_, _> = (0..65).map(|n| (n.to_string(), json!({ "type": "string" }))).collect();
    assert!(wrong("elicitation/create", &fields(&Value::Object(many))).contains("65 fields"));
    assert!(wrong("elicitation/create", &json!({ "requestedSchema": {} })).contains("`message`"));
    assert!(wrong("elicitation/create", &json!({ "message": "m", "mode": "voice" })).contains("`mode`"));
    assert!(wrong("tools/call", &json!({})).contains("is not a question to a client"));
}

#[test]
fn signs_and_sanitises_questions() {
    let mut form =
        fields(&json!({ "f": { "type": "string", "title": "T\u{202e}", "description": "\u{1b}[31mred" } }));
    form["message"] = json!("[plugin: bank]\u{200b} pay\u{202e} now\u{7}\nplease");
    form["_meta"] = json!({ "io.modelcontextprotocol/related-task": {}, "progressToken": 1, "com.example/x": 2, "moongate/plugin": "bank" });
    let shown = seen("elicitation/create", &form, Revision::V2025_11_25);
    assert_eq!(shown["message"], "[plugin: weather] (plugin: bank] pay now\nplease");
    let field = &shown["requestedSchema"]["properties"]["f"];
    assert_eq!((&field["title"], &field["description"]), (&json!("T"), &json!("[31mred")));
    assert_eq!(shown["_meta"], json!({ "com.example/x": 2, "moongate/plugin": "weather" }));
    form["message"] = json!("x".repeat(10_000));
    let long = seen("elicitation/create", &form, Revision::V2026_07_28)["message"].as_str().unwrap().len();
    assert!(long < 4_200, "{long}");
}

#[test]
fn rejects_misleading_page_urls() {
    let page = |url: &str| json!({ "mode": "url", "message": "m", "url": url });
    for good in
        ["https://example.com", "http://localhost:8080/a?b#c", "HTTPS://EXAMPLE.COM/", "https://x/a@b"]
    {
        assert!(question("elicitation/create", &page(good)).is_ok(), "{good}");
    }
    for bad in [
        "ftp://example.com",
        "javascript:alert(1)",
        "https:/example.com",
        "https://",
        "https://bank.example@evil.example/",
        "https://evil.example\\@bank.example/",
        "https://a b",
        "https://a\u{202e}b",
        "https://pay\u{200d}pal.example/",
        "file:///etc/passwd",
        "",
    ] {
        assert!(wrong("elicitation/create", &page(bad)).contains("`url`"), "{bad}");
    }
}

#[test]
fn validates_sampling_requests() {
    let with = |key: &str, value: Value| {
        let mut params = sample();
        params[key] = value;
        params
    };
    let turn = |role: &str, content: Value| json!({ "role": role, "content": content });
    let uses = |id: &str| json!({ "type": "tool_use", "id": id, "name": "t", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "toolUseId": id, "content": [] });
    let text = || json!({ "type": "text", "text": "x" });
    for (params, why) in [
        (json!({ "maxTokens": 1 }), "`messages`"),
        (json!({ "messages": sample()["messages"] }), "`maxTokens` is missing"),
        (with("messages", json!([])), "`messages`"),
        (with("messages", json!([turn("system", text())])), "`role`"),
        (with("messages", json!([turn("user", json!({ "type": "video" }))])), "`type`"),
        (
            with(
                "messages",
                json!([turn("user", json!({ "type": "image", "data": "!", "mimeType": "image/png" }))]),
            ),
            "`data`",
        ),
        (with("maxTokens", json!(0)), "`maxTokens`"),
        (with("maxTokens", json!("1")), "`maxTokens`"),
        (with("temperature", json!("hot")), "`temperature`"),
        (with("includeContext", json!("all")), "`includeContext`"),
        (with("stopSequences", json!("x")), "`stopSequences`"),
        (with("modelPreferences", json!({ "costPriority": 2 })), "`modelPreferences`"),
        (with("toolChoice", json!({ "mode": "any" })), "`toolChoice`"),
        (with("tools", json!([{ "name": "t" }])), "`tools`"),
        (with("messages", json!([turn("assistant", uses("1"))])), "missing"),
        (with("messages", json!([turn("user", uses("1"))])), "assistant"),
        (with("messages", json!([turn("user", result("1"))])), "`messages[0]`"),
        (with("messages", json!([turn("assistant", uses("1")), turn("user", result("2"))])), "`messages[1]`"),
        (
            with(
                "messages",
                json!([turn("assistant", uses("1")), turn("user", json!([result("1"), text()]))]),
            ),
            "contain only tool results",
        ),
    ] {
        let said = wrong("sampling/createMessage", &params);
        assert!(said.contains(why), "{why}: {said}");
    }
    let whole = json!({
        "messages": [turn("user", text()), turn("assistant", json!([text(), uses("1"), uses("2")])), turn("user", json!([result("2"), result("1")]))],
        "maxTokens": 10, "temperature": 0.5, "systemPrompt": "p", "includeContext": "none", "stopSequences": ["."],
        "metadata": { "k": 1 }, "modelPreferences": { "hints": [{ "name": "h" }], "speedPriority": 1 },
        "tools": [{ "name": "t", "description": "d", "inputSchema": { "type": "object" } }], "toolChoice": { "mode": "auto" },
    });
    assert_eq!(seen("sampling/createMessage", &whole, Revision::V2026_07_28), whole);
    let mut shown = seen("sampling/createMessage", &whole, Revision::V2025_11_25);
    assert_eq!(shown["_meta"], json!({ "moongate/plugin": "weather" }));
    shown.as_object_mut().unwrap().remove("_meta");
    assert_eq!(shown, whole);
}

#[test]
fn rejects_invalid_question_keys() {
    for key in ["", &"x".repeat(129), "a\u{1b}[2J"] {
        let request = InputRequest { key: key.to_owned(), method: "roots/list".to_owned(), params: None };
        assert!(Question::read(&request).is_err());
    }
}

#[test]
fn sanitises_form_defaults() {
    let form = fields(&json!({
        "text": { "type": "string", "default": "pay\u{202e} 10\u{200b}\ntoday" },
        "several": {
            "type": "array",
            "items": { "type": "string", "enum": ["a", "b"] },
            "default": ["a\u{200b}", "b"],
        },
    }));
    let seen = seen("elicitation/create", &form, Revision::V2026_07_28);
    let properties = &seen["requestedSchema"]["properties"];
    assert_eq!(properties["text"]["default"], "pay 10\ntoday");
    assert_eq!(properties["several"]["default"], json!(["a", "b"]));
}

#[test]
fn removes_imitations_of_the_plugin_label() {
    let labels = [
        "[plugin: bank] Your PIN?",
        "Fine?\n[Plugin: bank] Your PIN?",
        "Fine?\n  [ PLUGIN : bank] Your PIN?",
        "Fine?\n\n［ｐｌｕｇｉｎ： bank] Your PIN?",
        "Fine? [рlugіn: bank] Your PIN?",
        "Fine? [plu\u{ad}gin\u{200d}: bank] Your PIN?",
        "Fine? [pIugln: bank] Your PIN?",
        "[[plugin: bank]",
    ];
    for text in labels {
        let schema = json!({ "type": "object", "properties": { "a": {
            "type": "string", "title": text, "description": text, "default": text, "enum": ["x"], "enumNames": [text],
        } } });
        let params = json!({ "message": text, "requestedSchema": schema });
        let asked = question("elicitation/create", &params).unwrap();
        let asked = asked.params(&PluginId::new("p").unwrap(), Revision::V2025_11_25).unwrap().unwrap();
        let asked = asked.to_value().unwrap();
        let field = &asked["requestedSchema"]["properties"]["a"];
        let message = asked["message"].as_str().unwrap().strip_prefix("[plugin: p] ").unwrap();
        let shown = [&field["title"], &field["description"], &field["default"], &field["enumNames"][0]];
        for shown in shown.into_iter().map(|shown| shown.as_str().unwrap()).chain([message]) {
            assert!(shown.contains('(') && !sanitise::is_labelled(shown), "{shown:?}");
        }
        // Text that must not be changed is rejected.
        let value = json!({ "v": { "type": "string", "enum": [text] } });
        let mut name = serde_json::Map::new();
        name.insert(text.replace(['\n', '\u{ad}'], ""), json!({ "type": "string" }));
        for properties in [value, Value::Object(name)] {
            let schema = json!({ "type": "object", "properties": properties });
            let params = json!({ "message": "m", "requestedSchema": schema });
            assert!(question("elicitation/create", &params).is_err(), "{text:?}");
        }
    }
    for text in ["[x] yes", "See [1]: there", "the plugin: mine", "[plugins] and [plug: in]", "[да: нет]"]
    {
        assert_eq!(sanitise::sanitised_message(text), text);
    }
}

#[test]
fn rejects_confusable_hosts() {
    let ask = |url: &str| {
        question("elicitation/create", &json!({ "mode": "url", "message": "m", "url": url })).map(drop)
    };
    for url in ["https://аррle.com/", "https://b%61nk.example/", "https://bank.example／@evil.example/"] {
        assert!(ask(url).unwrap_err().contains("an ASCII host"), "{url}");
    }
    for url in ["https://xn--80ak6aa92e.com/", "http://[::1]:8080/a", "https://a-b.example:8443/да?x=%61"] {
        ask(url).unwrap();
    }
}
