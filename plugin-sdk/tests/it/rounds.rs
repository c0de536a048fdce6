//! Calls that ask the client: questions, answers, restarts, and checks of the test client.

use std::cell::Cell;

use moongate_sdk::input::Url;
use moongate_sdk::prelude::*;
use moongate_sdk::testing::{self, Client};
use moongate_sdk::{CallOutcome, Failure, NeedInput, PromptOutcome, ReadOutcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Default)]
struct Asks;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Sure {
    yes: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Wrong {
    #[expect(dead_code, reason = "it can't be asked")]
    names: Vec<String>,
}

fn who() -> Form<Name> {
    Form::new("Who are you?")
}

/// Asks.
#[plugin]
impl Asks {
    /// Asks one question.
    #[tool]
    fn greet(&self, ctx: &Context) -> Result<String, ToolError> {
        let Name { name } = ctx.ask("name", who())?;
        Ok(format!("Hello, {name}!"))
    }

    /// Asks a question that can be declined.
    #[tool]
    fn greet_anyone(&self, ctx: &Context) -> Result<String, ToolError> {
        Ok(match ctx.ask("name", who().may_decline())? {
            Decision::Accepted(Name { name }) => format!("Hello, {name}!"),
            Decision::Declined => "Hello, whoever you are!".to_owned(),
            Decision::Dismissed => "Hello?".to_owned(),
        })
    }

    /// Asks all kinds of questions together.
    #[tool]
    fn everything(&self, ctx: &Context) -> Result<String, ToolError> {
        let (name, model, roots, page) = ctx.ask_all((
            ("name", who()),
            ("model", Sampling::new(10).user("Hi")),
            ctx.capability("roots").then_some(("roots", Roots)),
            (String::from("page"), Url::new("Log in", "https://example.com").may_decline()),
        ))?;
        let roots: Vec<String> = roots.unwrap_or_default().into_iter().map(|root| root.uri).collect();
        Ok(format!("{} {} {roots:?} {page:?}", name.name, model.text()))
    }

    /// Asks a question for each key.
    #[tool]
    fn each(&self, ctx: &Context, keys: Vec<String>) -> Result<String, ToolError> {
        let names = ctx.ask_all(keys.into_iter().map(|key| (key, who())).collect::<Vec<_>>())?;
        Ok(names.into_iter().map(|name| name.name).collect())
    }

    /// Works in several rounds, and does some of it once.
    #[tool]
    fn order(&self, ctx: &Context) -> Result<String, ToolError> {
        let Name { name } = ctx.ask("name", who())?;
        let number: i64 = ctx.try_once("number", || kv::increment("orders", 1))?;
        let doubled = ctx.once("doubled", || number * 2)?;
        let Sure { yes } = ctx.ask("sure", Form::new(format!("Send order {number} of {name}?")))?;
        kv::set("sent", &yes)?;
        Ok(format!("{name} {number} {doubled} {yes}"))
    }

    /// Keeps its own state over the rounds that `ask` adds.
    #[tool]
    fn by_hand(&self, ctx: &Context) -> Result<String, ToolError> {
        let kept = ctx.once("kept", || "kept".to_owned())?;
        if ctx.answer::<Value>("own").is_none() {
            let requests = vec![moongate_sdk::InputRequest {
                key: "own".to_owned(),
                method: "roots/list".to_owned(),
                params: None,
            }];
            let state = Some(b"mine".to_vec());
            return Err(NeedInput { requests, state, meta: None, extra: None }.into());
        }
        let Name { name } = ctx.ask("name", who())?;
        Ok(format!("{kept} {} {name}", String::from_utf8(ctx.state().unwrap_or_default())?))
    }

    /// Does something that isn't allowed or possible.
    #[tool]
    fn wrong(&self, ctx: &Context, how: &str) -> Result<String, ToolError> {
        match how {
            "act first" => {
                kv::set("a", &1)?;
                ctx.ask("name", who())?;
            }
            "act first, ask by hand" => {
                kv::delete("a")?;
                return Err(NeedInput { requests: vec![], state: None, meta: None, extra: None }.into());
            }
            "one key" => {
                ctx.ask("name", who())?;
                ctx.ask("name", Form::<Name>::new("And your name?"))?;
            }
            "swallow" => return Ok(ctx.ask("name", who()).map_or_else(|_| String::new(), |name| name.name)),
            "once twice" => {
                ctx.once("a", || 1)?;
                ctx.once("a", || 2)?;
            }
            "no form" => drop(ctx.ask("names", Form::<Wrong>::new(""))?),
            "for ever" => {
                return Err(NeedInput { requests: vec![], state: None, meta: None, extra: None }.into());
            }
            other => panic!("{other}"),
        }
        Ok("done".to_owned())
    }

    /// A resource that asks.
    #[resource(uri = "test://name")]
    fn name(&self, ctx: &Context) -> Result<String, ToolError> {
        Ok(ctx.ask("name", who())?.name)
    }

    /// A prompt that asks.
    #[prompt]
    fn ask_name(&self, ctx: &Context) -> Result<String, ToolError> {
        Ok(ctx.ask("name", who())?.name)
    }
}

fn client() -> Client<Asks> {
    Client::new()
}

fn ada() -> Value {
    testing::accepted(json!({ "name": "Ada" }))
}

#[test]
fn asks_and_restarts_with_the_answer() {
    let CallOutcome::NeedInput(input) = client().call_outcome("greet", json!({})).unwrap() else { panic!() };
    let [request] = &input.requests[..] else { panic!() };
    assert_eq!((request.key.as_str(), request.method.as_str()), ("name", "elicitation/create"));
    let params: Value = serde_json::from_str(request.params.as_ref().unwrap()).unwrap();
    assert_eq!(params["message"], "Who are you?");
    assert_eq!(params["requestedSchema"]["required"], json!(["name"]));
    assert_eq!(input.state, None);
    let result = client().answer("name", ada()).call("greet", json!({})).unwrap();
    assert_eq!(result.all_text(), "Hello, Ada!");
}

#[test]
fn a_refusal_ends_the_call_unless_it_is_allowed() {
    let call = |tool: &str, answer: Value| client().answer("name", answer).call(tool, json!({})).unwrap();
    let refused = call("greet", testing::declined());
    assert!(refused.failed());
    assert_eq!(refused.all_text(), "the user declined the question \"Who are you?\"");
    assert!(call("greet", testing::dismissed()).all_text().contains("dismissed"));
    assert_eq!(call("greet_anyone", ada()).all_text(), "Hello, Ada!");
    assert_eq!(call("greet_anyone", testing::declined()).all_text(), "Hello, whoever you are!");
    assert_eq!(call("greet_anyone", testing::dismissed()).all_text(), "Hello?");
}

#[test]
fn asks_several_questions_together() {
    let asked = |client: Client<Asks>| {
        let CallOutcome::NeedInput(input) = client.call_outcome("everything", json!({})).unwrap() else {
            panic!()
        };
        input.requests.into_iter().map(|request| request.method).collect::<Vec<_>>()
    };
    assert_eq!(asked(client()), ["elicitation/create", "sampling/createMessage", "elicitation/create"]);
    assert_eq!(asked(client().capability("roots")).len(), 4);
    let answered = client()
        .capability("roots")
        .answer("name", ada())
        .answer("model", testing::sampled("Hello"))
        .answer("roots", testing::roots(&["file:///x"]))
        .answer("page", testing::accepted(json!({})));
    let result = answered.call("everything", json!({})).unwrap();
    assert_eq!(result.all_text(), "Ada Hello [\"file:///x\"] Accepted(())");
    let each = client()
        .answer("a", ada())
        .answer_with("b", |request| testing::accepted(json!({ "name": request.key })));
    assert_eq!(each.call("each", json!({ "keys": ["a", "b"] })).unwrap().all_text(), "Adab");
}

#[test]
fn once_runs_only_once() {
    let client = client().answer("name", ada()).answer("sure", testing::accepted(json!({ "yes": true })));
    assert_eq!(client.call("order", json!({})).unwrap().all_text(), "Ada 1 2 true");
    assert_eq!((client.kv("orders"), client.kv("sent")), (Some(1), Some(true)));
    // Another call is a new order.
    assert_eq!(client.call("order", json!({})).unwrap().all_text(), "Ada 2 4 true");
}

#[test]
fn keeps_own_state_and_once_results() {
    let client = client().answer("own", testing::roots(&[])).answer("name", ada());
    assert_eq!(client.call("by_hand", json!({})).unwrap().all_text(), "kept mine Ada");
}

#[test]
fn resources_and_prompts_can_ask() {
    let answered = client().answer("name", ada());
    assert_eq!(answered.prompt("ask_name", &[]).unwrap().messages, [PromptMessage::user("Ada")]);
    assert_eq!(answered.read("test://name").unwrap().contents.len(), 1);
    assert!(matches!(client().prompt_outcome("ask_name", &[]), Ok(PromptOutcome::NeedInput(_))));
    assert!(matches!(client().read_outcome("test://name"), Ok(ReadOutcome::NeedInput(_))));
    let declined = client().answer("name", testing::declined()).prompt("ask_name", &[]);
    assert!(matches!(declined, Err(Failure::Internal(_))), "a prompt has no `isError`");
}

#[test]
fn explains_unsupported_forms() {
    let Err(Failure::Internal(fault)) = client().call("wrong", json!({ "how": "no form" })) else { panic!() };
    assert!(fault.message.starts_with(
        "the question `names` can't be asked: `it::rounds::Wrong` can't be shown as a form: its field `names` is a list"
    ));
}

/// The error of a test for a call that does something invalid.
fn blamed(how: &str) -> String {
    let how = json!({ "how": how });
    let call = std::panic::AssertUnwindSafe(move || client().answer("name", ada()).call("wrong", how));
    let panic = std::panic::catch_unwind(call).expect_err("an invalid call");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn fails_on_effects_before_a_question() {
    assert!(blamed("act first").contains("kv::set(\"a\") before it asked `name`"));
    assert!(blamed("act first, ask by hand").contains("kv::delete(\"a\")"));
}

#[test]
fn fails_on_misused_questions() {
    assert!(blamed("one key").contains("`name` is used for two different questions"));
    assert!(blamed("swallow").contains("ended without the answer"));
    assert!(blamed("once twice").contains("used twice"));
    assert!(blamed("for ever").contains("isn't done"));
}

#[test]
fn computes_an_answer_in_each_round() {
    thread_local!(static ASKED: Cell<u32> = const { Cell::new(0) });
    let client = client().answer_with("name", |_| {
        ASKED.set(ASKED.get() + 1);
        ada()
    });
    client.call("greet", json!({})).unwrap();
    assert_eq!(ASKED.get(), 1);
}

/// A custom error that can carry a question.
#[derive(Debug)]
enum Mistake {
    Own(String),
    Asked(ToolError),
}

impl From<ToolError> for Mistake {
    fn from(error: ToolError) -> Self {
        Self::Asked(error)
    }
}

impl From<Mistake> for ToolError {
    fn from(mistake: Mistake) -> Self {
        match mistake {
            Mistake::Own(message) => Self::failed(message),
            Mistake::Asked(error) => error,
        }
    }
}

#[derive(Default)]
struct Careful;

/// Has a custom error type.
#[plugin]
impl Careful {
    /// Greets people with a name.
    #[tool]
    fn greet(&self, ctx: &Context) -> Result<String, Mistake> {
        let Name { name } = ctx.ask("name", who())?;
        if name.is_empty() { Err(Mistake::Own("nobody".to_owned())) } else { Ok(name) }
    }
}

#[test]
fn carries_a_question_in_a_custom_error() {
    let call = |name: &str| {
        let answer = testing::accepted(json!({ "name": name }));
        Client::<Careful>::new().answer("name", answer).call("greet", json!({})).unwrap()
    };
    assert_eq!(call("Ada").all_text(), "Ada");
    assert!(call("").failed());
}
