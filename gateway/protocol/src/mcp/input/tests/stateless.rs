//! Tests of 2026-07-28, in which the client carries the state and repeats its request.

use super::*;

/// Calls and expects questions: returns the questions and the state.
async fn asked(gateway: &Gateway, client: &Client, more: Value) -> (Value, String) {
    let result = gateway.call(client, more).await.unwrap();
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert!(result.get("content").is_none());
    (result["inputRequests"].clone(), result["requestState"].as_str().unwrap().to_owned())
}

fn retry(state: &str, responses: Value) -> Value {
    let mut more = json!({ "requestState": state });
    more["inputResponses"] = responses;
    more
}

async fn refused(gateway: &Gateway, client: &Client, more: Value) -> ProtocolError {
    let error = gateway.call(client, more).await.unwrap_err();
    assert_eq!((error.error.code, error.status), (-32602, 200), "{error:?}");
    error
}

#[tokio::test]
async fn question_is_a_result_and_retry_has_the_answer() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    let (questions, state) = asked(&gateway, &client, json!({})).await;
    let expected = json!({ "name": { "method": "elicitation/create", "params": {
        "mode": "form",
        "message": "[plugin: p] Who are you?",
        "requestedSchema": form("", "name")["requestedSchema"],
    } } });
    assert_eq!(questions, expected);
    let answers = json!({ "name": accepted(&json!({ "name": "Ann" })), "unasked": 1 });
    let result = gateway.call(&client, retry(&state, answers)).await.unwrap();
    assert_eq!((&result["resultType"], text(&result)), (&json!("complete"), "Hello, Ann!"));
    assert_eq!(gateway.calls(), 2);
}

#[tokio::test]
async fn resources_and_prompts_can_ask() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    for (method, params) in [
        (Method::ReadResource, json!({ "uri": "test://ask" })),
        (Method::GetPrompt, json!({ "name": "p_ask" })),
    ] {
        let asked = gateway.request(&client, method, &params).await.unwrap();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let mut again = params;
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({ "name": accepted(&json!({ "name": "Ann" })) });
        let result = gateway.request(&client, method, &again).await.unwrap();
        assert_eq!(result["resultType"], "complete", "{result}");
    }
}

#[tokio::test]
async fn declining_is_an_answer() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    for action in ["decline", "cancel"] {
        let (_, state) = asked(&gateway, &client, json!({})).await;
        let answers = json!({ "name": { "action": action, "content": { "name": "ignored" } } });
        let result = gateway.call(&client, retry(&state, answers)).await.unwrap();
        assert_eq!(text(&result), format!("the person chose to {action}"));
    }
}

#[tokio::test]
async fn rounds_carry_answers_and_plugin_state() {
    let gateway = Gateway::new(|context| {
        let state = context.round_state.as_deref().map(|state| String::from_utf8_lossy(state).into_owned());
        Ok(match (heard(context, "first"), heard(context, "second")) {
            (None, _) => asks(&[("first", "elicitation/create", form("?", "x"))], Some("A")),
            (Some(_), None) => {
                assert_eq!(state.as_deref(), Some("A"));
                asks(&[("second", "sampling/createMessage", sample())], Some("B"))
            }
            (Some(first), Some(second)) => {
                let (first, second) = (&first["content"]["x"], &second["content"]["text"]);
                Outcome::Done(format!("{first} {second} {}", state.unwrap()))
            }
        })
    });
    let client = Client::stateless();
    let (_, one) = asked(&gateway, &client, json!({})).await;
    let answer = json!({ "first": accepted(&json!({ "x": "1" })) });
    let (questions, two) = asked(&gateway, &client, retry(&one, answer)).await;
    assert_eq!(questions["second"]["method"], "sampling/createMessage");
    assert_eq!(questions["second"]["params"], sample(), "the request to the model is passed on unchanged");
    assert!(questions.get("first").is_none());
    let result = gateway.call(&client, retry(&two, json!({ "second": said() }))).await.unwrap();
    assert_eq!(text(&result), r#""1" "Paris" B"#);
}

#[tokio::test]
async fn asks_again_for_missing_and_invalid_answers() {
    let gateway = Gateway::new(|context| {
        Ok(match (heard(context, "name"), heard(context, "place")) {
            (Some(_), Some(_)) => Outcome::Done("both".to_owned()),
            _ => asks(
                &[
                    ("name", "elicitation/create", form("Name?", "name")),
                    ("place", "elicitation/create", form("Place?", "place")),
                ],
                None,
            ),
        })
    });
    let client = Client::stateless();
    let (_, state) = asked(&gateway, &client, json!({})).await;
    let good = accepted(&json!({ "name": "Ann" }));
    let mut state = state;
    for wrong in [
        json!({ "name": good }),
        json!({ "name": "not looked at again", "place": 1 }),
        json!({ "place": { "action": "accept" } }),
        json!({ "place": accepted(&json!({ "place": 1 })) }),
        json!({ "place": accepted(&json!({})) }),
        json!({ "place": { "action": "maybe" } }),
        json!({}),
    ] {
        let (questions, next) = asked(&gateway, &client, retry(&state, wrong)).await;
        let keys: Vec<_> = questions.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["place"]);
        assert_eq!(questions["place"]["params"]["message"], "[plugin: p] Place?");
        state = next;
    }
    assert_eq!(gateway.calls(), 1);
    let (questions, state) = asked(&gateway, &client, json!({ "requestState": state })).await;
    assert!(questions.get("place").is_some());
    let last = retry(&state, json!({ "place": accepted(&json!({ "place": "here", "more": true })) }));
    assert_eq!(text(&gateway.call(&client, last).await.unwrap()), "both");
}

#[tokio::test]
async fn uses_answers_sent_in_advance() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    let ahead = |answer: Value| json!({ "inputResponses": { "name": answer, "other": {} } });
    let result = gateway.call(&client, ahead(accepted(&json!({ "name": "Ann" })))).await.unwrap();
    assert_eq!(text(&result), "Hello, Ann!");
    asked(&gateway, &client, ahead(json!(12345))).await;
    asked(&gateway, &client, json!({ "inputResponses": { "wrong": accepted(&json!({ "name": "x" })) } }))
        .await;
}

#[tokio::test]
async fn uses_an_advance_answer_once() {
    let gateway = Gateway::new(|_| Ok(asks(&[("name", "elicitation/create", form("Who?", "name"))], None)));
    let ahead = json!({ "inputResponses": { "name": accepted(&json!({ "name": "Ann" })) } });
    asked(&gateway, &Client::stateless(), ahead).await;
    assert_eq!(gateway.calls(), 2);
}

#[tokio::test]
async fn reports_why_it_asks_again() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    let (_, state) = asked(&gateway, &client, json!({})).await;
    let wrong = json!({ "name": accepted(&json!({ "nme": "Ann" })) });
    let result = gateway.call(&client, retry(&state, wrong.clone())).await.unwrap();
    let why = result["_meta"]["moongate/unusable"]["name"].as_str().unwrap();
    assert!(why.contains("`name`"), "{why}");
    // The same if the answer came before its question. Without an answer there is no reason.
    let result = gateway.call(&client, json!({ "inputResponses": wrong })).await.unwrap();
    assert_eq!(result["_meta"]["moongate/unusable"]["name"], why);
    let result = gateway.call(&client, json!({})).await.unwrap();
    assert!(result["_meta"].get("moongate/unusable").is_none(), "{result}");
}

#[tokio::test]
async fn rejects_responses_and_states_of_wrong_type() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    for responses in [json!(null), json!([]), json!(1), json!("x")] {
        refused(&gateway, &client, json!({ "inputResponses": responses })).await;
    }
    let many: serde_json::Map<_, _> = (0..129).map(|at| (format!("k{at}"), json!({}))).collect();
    let error = refused(&gateway, &client, json!({ "inputResponses": many })).await;
    assert!(error.error.message.contains("more than 128 members"), "{error:?}");
    for state in [json!(null), json!({}), json!(1)] {
        refused(&gateway, &client, json!({ "requestState": state })).await;
    }
    assert_eq!(gateway.calls(), 0);
}

#[tokio::test]
async fn state_is_bound_to_its_request_and_single_use() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    let answers = json!({ "name": accepted(&json!({ "name": "Ann" })) });
    let (_, state) = asked(&gateway, &client, json!({})).await;
    let named = |name: &str| Client { caller: Caller::Named(name.into()), ..client.clone() };
    for (who, more) in [
        (client.clone(), retry(&format!("{state}-TAMPERED"), answers.clone())),
        (client.clone(), retry(&state[1..], answers.clone())),
        (client.clone(), retry("", answers.clone())),
        (named("ann"), retry(&state, answers.clone())),
        (named("anonymous"), retry(&state, answers.clone())),
    ] {
        let error = refused(&gateway, &who, more).await;
        assert_eq!(reason(&error), "invalid_request_state");
        assert!(error.error.message.contains("doesn't belong to this request"), "{error:?}");
    }
    let mut other = retry(&state, answers.clone());
    other["arguments"] = json!({ "a": 2, "b": 2 });
    assert_eq!(reason(&refused(&gateway, &client, other).await), "invalid_request_state");
    let mut same = retry(&state, answers.clone());
    same["arguments"] = json!({ "a": 2, "b": 1 });
    assert_eq!(text(&gateway.call(&client, same).await.unwrap()), "Hello, Ann!", "only the order differs");
    let error = refused(&gateway, &client, retry(&state, answers)).await;
    assert_eq!(reason(&error), "invalid_request_state");
    assert!(error.error.message.contains("already used"), "{error:?}");
    assert_eq!(gateway.calls(), 2);
}

#[tokio::test]
async fn state_is_bound_to_its_method() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    let params = json!({ "name": "p_ask" });
    let asked = gateway.request(&client, Method::GetPrompt, &params).await.unwrap();
    let more = json!({ "name": "p_ask", "requestState": asked["requestState"], "inputResponses": {} });
    let error = gateway.request(&client, Method::CallTool, &more).await.unwrap_err();
    assert_eq!(reason(&error), "invalid_request_state");
}

#[tokio::test]
async fn state_is_bound_to_the_plugin_version() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    let answers = json!({ "name": accepted(&json!({ "name": "Ann" })) });
    let (_, state) = asked(&gateway, &client, json!({})).await;
    gateway.now_serves("p", 2);
    let error = refused(&gateway, &client, retry(&state, answers.clone())).await;
    assert!(error.error.message.contains("replaced"), "{error:?}");
    assert_eq!(reason(&error), "invalid_request_state");
    gateway.now_serves("other", 1);
    let error = refused(&gateway, &client, retry(&state, answers.clone())).await;
    assert!(error.error.message.contains("doesn't belong"), "{error:?}");
    gateway.now_serves("p", 1);
    assert_eq!(text(&gateway.call(&client, retry(&state, answers)).await.unwrap()), "Hello, Ann!");
}

#[tokio::test]
async fn revoked_grant_invalidates_the_state() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    let (_, state) = asked(&gateway, &client, json!({})).await;
    gateway.catalog.send_replace(plugin("p", 1, &gateway.script, &gateway.calls, |_| {}));
    let error = refused(&gateway, &client, retry(&state, json!({}))).await;
    assert_eq!(reason(&error), "invalid_request_state");
}

#[tokio::test]
async fn names_all_undeclared_capabilities() {
    let gateway = Gateway::new(|_| {
        let mut with_tools = sample();
        with_tools["tools"] = json!([{ "name": "t", "inputSchema": { "type": "object" } }]);
        with_tools["includeContext"] = json!("thisServer");
        let page = json!({ "mode": "url", "message": "m", "url": "https://example.com/x" });
        Ok(asks(
            &[
                ("a", "elicitation/create", form("?", "x")),
                ("b", "elicitation/create", page),
                ("c", "sampling/createMessage", with_tools),
                ("d", "roots/list", Value::Null),
            ],
            None,
        ))
    });
    let needed = json!({
        "elicitation": { "form": {}, "url": {} },
        "sampling": { "context": {}, "tools": {} },
        "roots": {},
    });
    for (declares, left) in [
        (json!({}), needed),
        (
            json!({ "elicitation": {}, "sampling": { "tools": {}, "context": {} }, "roots": {} }),
            json!({ "elicitation": { "url": {} } }),
        ),
        (
            json!({ "elicitation": { "url": {} }, "sampling": { "tools": {} }, "roots": {} }),
            json!({ "elicitation": { "form": {} }, "sampling": { "context": {} } }),
        ),
    ] {
        let client = Client::stateless().declaring(declares);
        let error = gateway.call(&client, json!({})).await.unwrap_err();
        assert_eq!((error.error.code, error.status), (-32021, 400), "{error:?}");
        let data = error.error.data.unwrap().to_value().unwrap();
        assert_eq!(data, json!({ "requiredCapabilities": left }));
    }
    let all = gateway.call(&Client::stateless(), json!({})).await.unwrap();
    assert_eq!(all["inputRequests"].as_object().unwrap().len(), 4);
    assert_eq!(all["inputRequests"]["d"]["params"], json!({ "_meta": { "moongate/plugin": "p" } }));
    let page = &all["inputRequests"]["b"]["params"];
    assert!(page.get("elicitationId").is_none() && page["mode"] == "url", "{page}");
}

#[tokio::test]
async fn retry_must_declare_capabilities() {
    let (gateway, client) = (Gateway::new(greets), Client::stateless());
    let (_, state) = asked(&gateway, &client, json!({})).await;
    let error = gateway.call(&client.declaring(json!({})), retry(&state, json!({}))).await.unwrap_err();
    assert_eq!(error.error.code, -32021);
}

#[tokio::test]
async fn carries_plugin_state_without_questions() {
    let gateway = Gateway::new(|context| {
        Ok(if context.round_state.is_none() {
            asks(&[], Some("s"))
        } else {
            Outcome::Done("back".to_owned())
        })
    });
    let client = Client::stateless();
    let result = gateway.call(&client, json!({})).await.unwrap();
    assert!(result["resultType"] == "input_required" && result.get("inputRequests").is_none(), "{result}");
    let again = json!({ "requestState": result["requestState"] });
    assert_eq!(text(&gateway.call(&client, again).await.unwrap()), "back");
}

#[tokio::test]
async fn limits_stateless_rounds() {
    let gateway = Gateway::new(|context| {
        let key = format!("round{}", context.answers.len());
        Ok(asks(&[(&key, "elicitation/create", form("?", "x"))], None))
    });
    let client = Client::stateless();
    let (mut questions, mut state) = asked(&gateway, &client, json!({})).await;
    for _ in 1..8 {
        let key = questions.as_object().unwrap().keys().next().unwrap().clone();
        let answer = json!({ key: accepted(&json!({ "x": "y" })) });
        (questions, state) = asked(&gateway, &client, retry(&state, answer)).await;
    }
    let last = retry(&state, json!({ "round7": accepted(&json!({ "x": "y" })) }));
    let result = gateway.call(&client, last).await.unwrap();
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("asked the client 8 times"), "{result}");
}

#[tokio::test]
async fn reports_states_that_are_too_large() {
    let gateway = Gateway::new(|_| {
        let state = "x".repeat(MAX_STATE_BYTES);
        Ok(asks(&[("name", "elicitation/create", form("?", "x"))], Some(&state)))
    });
    let result = gateway.call(&Client::stateless(), json!({})).await.unwrap();
    assert!(result["isError"] == true && text(&result).contains("256 KiB"), "{result}");
    let read = json!({ "uri": "test://ask" });
    let error = gateway.request(&Client::stateless(), Method::ReadResource, &read).await.unwrap_err();
    assert_eq!(error.error.code, -32603);
}

#[tokio::test]
async fn long_sampling_request_is_not_carried() {
    let gateway = Gateway::new(|context| {
        let mut long = sample();
        long["systemPrompt"] = json!("x".repeat(500_000));
        Ok(match heard(context, "model") {
            None => asks(&[("model", "sampling/createMessage", long)], None),
            Some(answer) => Outcome::Done(answer["content"]["text"].to_string()),
        })
    });
    let client = Client::stateless();
    let (_, state) = asked(&gateway, &client, json!({})).await;
    assert!(state.len() < 4096);
    let error = refused(&gateway, &client, retry(&state, json!({}))).await;
    assert!(error.error.message.contains("send the request again"), "{error:?}");
    let (_, state) = asked(&gateway, &client, json!({})).await;
    let result = gateway.call(&client, retry(&state, json!({ "model": said() }))).await.unwrap();
    assert_eq!(text(&result), r#""Paris""#);
}

#[tokio::test]
async fn missing_grant_says_that_an_operator_can_allow_it() {
    let gateway = Gateway::granting(|_| {}, greets);
    let line = "asking the client for elicitation is not granted; an operator can allow it";
    let result = gateway.call(&Client::stateless(), json!({})).await.unwrap();
    assert!(result["isError"] == true && text(&result).contains(line), "{result}");
    let prompt = json!({ "name": "p_ask" });
    let error = gateway.request(&Client::stateless(), Method::GetPrompt, &prompt).await.unwrap_err();
    assert!(error.error.code == -32603 && error.error.message.contains(line), "{error:?}");
}

#[test]
fn remembers_used_states_until_they_expire() {
    use std::time::{Duration, SystemTime};
    let script: Script = Arc::new(greets);
    let catalog = plugin("p", 1, &script, &Arc::default(), granting_all);
    let catalog_plugin = catalog.tool("p_ask").unwrap().plugin();
    let claim =
        state::StateClaim::new(catalog_plugin, &Caller::Local.principal(), "tools/call", &Params::default())
            .unwrap();
    let states = StateStore::new(SealingKey::shared("test"), None);
    let now = SystemTime::now();
    let sealed = states.seal(&claim, &state::RoundState::default(), now).unwrap();
    let opened = states.open(&claim, &sealed, now + Duration::from_secs(598)).unwrap();
    states.mark_used(&opened, now).unwrap();
    assert_eq!(states.mark_used(&opened, now).unwrap_err(), state::MarkUsedError::Already);
    let late = states.open(&claim, &sealed, now + Duration::from_secs(601)).unwrap_err();
    assert_eq!(late, state::StateError::Expired);
}
