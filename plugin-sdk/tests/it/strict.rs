//! The test client rejects everything that a gateway would: a plugin that can't be described, content that doesn't
//! match its schema, questions without a key, progress that doesn't increase.

use std::panic::{AssertUnwindSafe, catch_unwind};

use moongate_sdk::prelude::*;
use moongate_sdk::testing::{Client, HttpAnswer};
use moongate_sdk::{CompletionTarget, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The message of a panic.
#[track_caller]
fn panics<R>(fails: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(fails)) else { panic!("no panic") };
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// A plugin that needs a setting before it can be described.
struct Eager;

impl Default for Eager {
    fn default() -> Self {
        let _: String = config::required("server").unwrap();
        Self
    }
}

/// Needs a setting.
#[plugin]
impl Eager {
    /// Does nothing.
    #[tool]
    fn rest(&self) {}
}

#[test]
fn refuses_plugins_that_need_settings_to_describe_themselves() {
    let panic_text = panics(|| Client::<Eager>::new().config("server", "https://a.example"));
    assert!(panic_text.starts_with("the plugin can't be described without settings"), "{panic_text}");
    assert!(panic_text.contains("Missing") && panic_text.contains("server"), "{panic_text}");
}

#[derive(Serialize, JsonSchema)]
struct Measured {
    degrees: f64,
    place: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Default)]
struct Strict;

/// Does things that a gateway rejects.
#[plugin]
impl Strict {
    /// Measures.
    #[tool]
    fn measure(&self, good: bool) -> Json<Vec<Measured>> {
        let degrees = if good { 20.5 } else { f64::NAN };
        Json(vec![
            Measured { degrees: 1.0, place: None },
            Measured { degrees, place: Some("Oslo".to_owned()) },
        ])
    }

    /// Returns its argument as the promised content.
    #[tool(output = Measured)]
    fn give(&self, content: &Value) -> Result<ToolResult, ToolError> {
        ToolResult::text("given").with_structured(content)
    }

    /// Asks with a key.
    #[tool]
    fn ask(&self, ctx: &Context, key: &str) -> Result<String, ToolError> {
        let Name { name } = ctx.ask(key, Form::new("Your name?"))?;
        Ok(name)
    }

    /// Reports progress.
    #[tool]
    fn report(&self, numbers: Vec<f64>) {
        progress::report(f64::NAN, 1.0);
        for number in numbers {
            progress::report(number, None);
        }
    }

    /// Gets a page.
    #[tool]
    fn page(&self, url: &str) -> Result<String, ToolError> {
        let answer = http::get(url)?;
        Ok(format!("{} {}", answer.status(), answer.text()?))
    }

    /// Greets.
    #[prompt]
    fn greet(&self, who: &str) -> String {
        who.to_owned()
    }

    #[complete(prompt = "greet", argument = "who")]
    fn people(&self, typed: &str) -> Result<Vec<String>, ToolError> {
        let known: Vec<String> = kv::get("people")?.ok_or("nobody is known")?;
        if typed == "?" {
            return Err(ToolError::invalid_params("no name has that"));
        }
        Ok(known)
    }
}

#[test]
fn refuses_content_that_does_not_match_its_schema() {
    let client = Client::<Strict>::new();
    assert!(!client.call("measure", json!({ "good": true })).unwrap().failed());
    let panic_text = panics(|| client.call("measure", json!({ "good": false })));
    assert!(panic_text.contains("`/1/degrees` is null, not of type number"), "{panic_text}");
    let give = |content: Value| client.call("give", json!({ "content": content }));
    give(json!({ "degrees": 1, "place": null, "more": [] })).unwrap();
    for (content, wrong) in [
        (json!([]), "the value is [], not of type object"),
        (json!({ "place": "Oslo" }), "`/degrees` is missing"),
        (json!({ "degrees": "1", "place": null }), "`/degrees` is \"1\", not of type number"),
        (json!({ "degrees": 1, "place": 5 }), "`/place` is 5, not of type string or null"),
    ] {
        let panic_text = panics(|| give(content));
        assert!(panic_text.contains(wrong), "{panic_text}");
    }
}

#[test]
fn refuses_questions_without_a_key() {
    let panic_text = panics(|| Client::<Strict>::new().call("ask", json!({ "key": "" })));
    assert!(panic_text.contains("the key of a question is empty"), "{panic_text}");
}

#[test]
fn drops_progress_that_does_not_increase() {
    let client = Client::<Strict>::new();
    for _ in 0..2 {
        client.call("report", json!({ "numbers": [1, 3, 2, 3, 4] })).unwrap();
    }
    let current: Vec<f64> = client.progress().iter().map(|report| report.current).collect();
    assert_eq!(current, [1.0, 3.0, 4.0, 1.0, 3.0, 4.0]);
}

#[test]
fn names_missing_and_known_pages() {
    let client = Client::<Strict>::new().pages([("https://a.example/b", HttpAnswer::text("b"))]);
    let page = |url: &str| client.call("page", json!({ "url": url })).unwrap().all_text();
    assert_eq!(page("https://a.example/b"), "200 b");
    let missing = page("https://a.example/c");
    assert!(missing.starts_with("404 "), "{missing}");
    assert!(missing.contains("no `https://a.example/c`"), "{missing}");
    assert!(missing.contains("it has `https://a.example/b`"), "{missing}");
}

#[test]
fn returns_errors_of_completions() {
    let target = CompletionTarget::Prompt("greet".to_owned());
    let failure =
        |client: Client<Strict>, typed: &str| client.complete(&target, "who", typed, &[]).unwrap_err();
    let Failure::Internal(fault) = failure(Client::new(), "") else { panic!("another failure") };
    assert_eq!(fault.message, "nobody is known");
    let client = Client::<Strict>::new().kept("people", ["Ada"]);
    assert_eq!(client.complete(&target, "who", "", &[]).unwrap().values, ["Ada"]);
    let Failure::InvalidParams(fault) = failure(client, "?") else { panic!("another failure") };
    assert_eq!(fault.message, "no name has that");
}
