//! Tests of the handshake revisions, in which the gateway sends requests to the client.

use std::time::Duration;

use super::*;

const REVISIONS: [Revision; 4] =
    [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];

/// Accepts everything.
fn friendly(method: &str, _params: &Value) -> Result<Value, QuestionError> {
    Ok(match method {
        "elicitation/create" => accepted(&json!({ "name": "Ann" })),
        "sampling/createMessage" => said(),
        _ => json!({ "roots": [{ "uri": "file:///home/ann", "name": "home" }] }),
    })
}

/// Asks one question and returns the answer.
fn asking(method: &'static str, params: Value) -> Gateway {
    Gateway::new(move |context| {
        Ok(match heard(context, "it") {
            None => asks(&[("it", method, params.clone())], None),
            Some(answer) => Outcome::Done(answer.to_string()),
        })
    })
}

async fn told(gateway: &Gateway, client: &Client) -> String {
    let result = gateway.call(client, json!({})).await.unwrap();
    assert_eq!(result["isError"], true, "{result}");
    text(&result).to_owned()
}

#[tokio::test]
async fn form_answer_repeats_the_call() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let gateway = Gateway::new(greets);
        let (client, peer) = Client::answering(revision, friendly);
        let result = gateway.call(&client.declaring(json!({ "elicitation": {} })), json!({})).await.unwrap();
        assert_eq!(text(&result), "Hello, Ann!");
        assert!(result.get("resultType").is_none());
        let asked = peer.asked.lock().unwrap();
        let (method, params) = &asked[0];
        assert_eq!(
            (method.as_str(), &params["message"]),
            ("elicitation/create", &json!("[plugin: p] Who are you?"))
        );
        let mode = if revision == Revision::V2025_06_18 { None } else { Some(&json!("form")) };
        assert_eq!(params.get("mode"), mode.cloned().as_ref());
    }
}

#[tokio::test]
async fn url_elicitation_has_an_id_in_2025_11_25() {
    let gateway = asking(
        "elicitation/create",
        json!({ "mode": "url", "message": "Sign in", "url": "https://example.com/a?b" }),
    );
    let (client, peer) = Client::answering(Revision::V2025_11_25, |_, _| Ok(json!({ "action": "accept" })));
    let result = gateway.call(&client, json!({})).await.unwrap();
    assert_eq!(text(&result), r#"{"action":"accept"}"#);
    let params = peer.asked.lock().unwrap()[0].1.clone();
    assert_eq!(params["elicitationId"].as_str().unwrap().len(), 32);
    assert_eq!(params["url"], "https://example.com/a?b");
    let (older, _) = Client::answering(Revision::V2025_06_18, friendly);
    assert!(
        told(&gateway, &older).await.contains("elicitation.url"),
        "clients of this revision can't declare it"
    );
}

#[tokio::test]
async fn asks_sampling_and_roots_in_every_revision() {
    for revision in REVISIONS {
        let (client, _) = Client::answering(revision, friendly);
        let client = client.declaring(json!({ "sampling": {}, "roots": { "listChanged": true } }));
        let model = gateway_text(&asking("sampling/createMessage", sample()), &client).await;
        assert!(model.contains("Paris"), "{revision}: {model}");
        let roots = gateway_text(&asking("roots/list", Value::Null), &client).await;
        assert!(roots.contains("file:///home/ann"), "{revision}: {roots}");
    }
}

async fn gateway_text(gateway: &Gateway, client: &Client) -> String {
    text(&gateway.call(client, json!({})).await.unwrap()).to_owned()
}

#[tokio::test]
async fn asks_all_questions_of_a_round_at_once() {
    /// Doesn't answer before it was asked two questions.
    #[derive(Debug)]
    struct Patient(tokio::sync::Barrier);
    impl Peer for Patient {
        fn ask<'a>(&'a self, _: &'a str, _: Option<&'a Json>) -> PendingQuestion<'a> {
            Box::pin(async {
                self.0.wait().await;
                Ok(Json::from_value(&accepted(&json!({ "name": "Ann" }))))
            })
        }
    }
    let gateway = Gateway::new(|context| {
        let ask = |key| (key, "elicitation/create", form("?", "name"));
        Ok(if context.answers.is_empty() {
            asks(&[ask("a"), ask("b")], None)
        } else {
            let keys: Vec<_> = context.answers.iter().map(|(key, _)| key.as_str()).collect();
            Outcome::Done(keys.join(" "))
        })
    });
    let client = Client {
        revision: Revision::V2025_11_25,
        peer: Some(Arc::new(Patient(tokio::sync::Barrier::new(2)))),
        ..Client::stateless()
    };
    assert_eq!(gateway_text(&gateway, &client).await, "a b");
}

#[tokio::test]
async fn waiting_holds_no_permit_and_can_be_cancelled() {
    /// Never answers.
    #[derive(Debug)]
    struct Silent(tokio::sync::Notify);
    impl Peer for Silent {
        fn ask<'a>(&'a self, _: &'a str, _: Option<&'a Json>) -> PendingQuestion<'a> {
            self.0.notify_one();
            Box::pin(std::future::pending())
        }
    }
    let gateway = Arc::new(Gateway::new(greets));
    let peer = Arc::new(Silent(tokio::sync::Notify::new()));
    let client = Client {
        revision: Revision::V2025_11_25,
        peer: Some(Arc::clone(&peer) as Arc<dyn Peer>),
        ..Client::stateless()
    };
    let (one, caller) = (Arc::clone(&gateway), client.clone());
    let call = tokio::spawn(async move { one.call(&caller, json!({})).await });
    peer.0.notified().await;
    let load = gateway.limiter.load(gateway.protocol.dispatcher.catalog().plugins()[0].id());
    assert_eq!((load.running, load.waiting), (0, 0));
    client.cancel.cancel();
    assert_eq!(call.await.unwrap().unwrap_err().error.code, -32800);
}

#[tokio::test]
async fn reports_undeclared_capabilities() {
    for revision in REVISIONS {
        let gateway = Gateway::new(greets);
        let (client, peer) = Client::answering(revision, friendly);
        let client = client.declaring(json!({ "sampling": {} }));
        assert!(told(&gateway, &client).await.contains("the client doesn't support: elicitation.form"));
        for (method, params) in [
            (Method::ReadResource, json!({ "uri": "test://ask" })),
            (Method::GetPrompt, json!({ "name": "p_ask" })),
        ] {
            let error = gateway.request(&client, method, &params).await.unwrap_err();
            assert_eq!(error.error.code, -32603, "{error:?}");
        }
        assert_eq!(peer.asked.lock().unwrap().len(), 0);
    }
}

#[tokio::test]
async fn reports_transports_without_questions() {
    let client = Client { revision: Revision::V2025_03_26, ..Client::stateless() };
    let said = told(&asking("roots/list", Value::Null), &client).await;
    assert!(said.contains("came in a batch, or without accepting an event stream"), "{said}");
}

#[tokio::test]
async fn names_features_missing_in_the_revision() {
    let several = json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] } });
    let many =
        json!({ "message": "?", "requestedSchema": { "type": "object", "properties": { "x": several } } });
    let (client, _) = Client::answering(Revision::V2025_06_18, friendly);
    let said = told(&asking("elicitation/create", many), &client).await;
    assert!(
        said.contains("its revision (2025-06-18) doesn't support choosing several values in a form"),
        "{said}"
    );

    let sound = json!({ "type": "audio", "data": "AQI=", "mimeType": "audio/wav" });
    let loud = json!({ "messages": [{ "role": "user", "content": sound }], "maxTokens": 1 });
    let (client, _) = Client::answering(Revision::V2024_11_05, friendly);
    let said = told(&asking("sampling/createMessage", loud), &client).await;
    assert!(said.contains("doesn't support audio"), "{said}");

    let mut with_tools = sample();
    with_tools["toolChoice"] = json!({ "mode": "none" });
    let (client, _) = Client::answering(Revision::V2025_06_18, friendly);
    let said = told(&asking("sampling/createMessage", with_tools), &client).await;
    assert!(said.contains("sampling.tools"), "an older client can't have declared it: {said}");
}

#[tokio::test]
async fn splits_messages_for_older_clients() {
    let block = |text: &str| json!({ "type": "text", "text": text, "_meta": { "com.example/x": 1 } });
    let mut two = sample();
    two["messages"][0]["content"] = json!([block("one"), block("two")]);
    let gateway = asking("sampling/createMessage", two.clone());
    let (client, peer) = Client::answering(Revision::V2025_03_26, friendly);
    gateway_text(&gateway, &client).await;
    let plain = |text: &str| json!({ "role": "user", "content": { "type": "text", "text": text } });
    assert_eq!(peer.asked.lock().unwrap()[0].1["messages"], json!([plain("one"), plain("two")]));
    let (client, peer) = Client::answering(Revision::V2025_11_25, friendly);
    gateway_text(&gateway, &client).await;
    assert_eq!(peer.asked.lock().unwrap()[0].1["messages"], two["messages"]);
}

#[tokio::test]
async fn reports_client_errors() {
    let refuses =
        |_: &str, _: &Value| Err(QuestionError::Refused(ErrorObject::new(-1, "user rejected sampling")));
    let gateway = asking("sampling/createMessage", sample());
    let (client, _) = Client::answering(Revision::V2025_11_25, refuses);
    let said = told(&gateway, &client).await;
    assert!(said.contains("the client refused: user rejected sampling (`sampling/createMessage`)"), "{said}");
    let error = gateway.request(&client, Method::GetPrompt, &json!({ "name": "p_ask" })).await.unwrap_err();
    assert!(error.error.code == -32603 && error.error.message.contains("user rejected"), "{error:?}");
    let silence = |_: &str, _: &Value| Err(QuestionError::TimedOut(Duration::from_secs(600)));
    let (client, _) = Client::answering(Revision::V2025_11_25, silence);
    assert!(told(&gateway, &client).await.contains("didn't answer within 10m"));
}

#[tokio::test]
async fn invalid_answer_fails_the_call() {
    let block = json!({ "type": "text", "text": "x" });
    for (method, params, answer, why) in [
        ("elicitation/create", form("?", "name"), json!([]), "must be an object"),
        ("elicitation/create", form("?", "name"), json!({}), "`action`"),
        ("elicitation/create", form("?", "name"), json!({ "action": "accept" }), "`name`"),
        ("elicitation/create", form("?", "name"), json!({ "action": "accept", "content": [] }), "`content`"),
        (
            "elicitation/create",
            form("?", "name"),
            accepted(&json!({ "name": 7 })),
            "`name` must be of type string",
        ),
        (
            "sampling/createMessage",
            sample(),
            json!({ "role": "system", "model": "m", "content": block }),
            "`role`",
        ),
        ("sampling/createMessage", sample(), json!({ "role": "assistant", "content": block }), "`model`"),
        ("sampling/createMessage", sample(), json!({ "role": "assistant", "model": "m" }), "`content`"),
        (
            "sampling/createMessage",
            sample(),
            json!({ "role": "assistant", "model": "m", "content": { "type": "tool_use", "id": "1", "name": "t", "input": {} } }),
            "no",
        ),
        ("roots/list", Value::Null, json!({ "roots": [{ "uri": "https://example.com" }] }), "file://"),
        ("roots/list", Value::Null, json!({}), "`roots`"),
    ] {
        let gateway = asking(method, params);
        let (client, _) = Client::answering(Revision::V2025_11_25, move |_, _| Ok(answer.clone()));
        let said = told(&gateway, &client).await;
        assert!(said.contains("is invalid") && said.contains(why), "{why}: {said}");
        assert_eq!(gateway.calls(), 1);
    }
}

#[tokio::test]
async fn limits_rounds_to_eight() {
    let gateway = Gateway::new(|_| Ok(asks(&[("name", "elicitation/create", form("?", "name"))], None)));
    let (client, peer) = Client::answering(Revision::V2025_11_25, friendly);
    assert!(told(&gateway, &client).await.contains("asked the client 8 times"));
    assert_eq!((peer.asked.lock().unwrap().len(), gateway.calls()), (8, 9));
}

#[tokio::test]
async fn limits_the_answers_of_one_call() {
    // Each answer is short enough by itself: eight rounds of sixteen would be 120 MB.
    let gateway = Gateway::new(|context| {
        let round = context.answers.len() / 16;
        let keys: Vec<String> = (0..16).map(|at| format!("{round}-{at}")).collect();
        let questions: Vec<_> =
            keys.iter().map(|key| (key.as_str(), "sampling/createMessage", sample())).collect();
        Ok(asks(&questions, None))
    });
    let (client, peer) = Client::answering(Revision::V2025_11_25, |_, _| {
        let mut said = said();
        said["content"]["text"] = "x".repeat(100_000).into();
        Ok(said)
    });
    let why = told(&gateway, &client).await;
    assert!(why.contains("longer than 4 MiB in total"), "{why}");
    assert_eq!((gateway.calls(), peer.asked.lock().unwrap().len()), (3, 42));
}
