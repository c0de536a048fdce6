//! Outcomes of calls: errors of any kind, panics, and results that a gateway rejects.

use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use moongate_sdk::prelude::*;
use moongate_sdk::testing::Client;
use moongate_sdk::{Failure, PromptMessage, ReadResult, ResourceBody};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// An error with a source, as in libraries.
#[derive(Debug)]
struct Outer(std::num::ParseIntError);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot parse the page")
    }
}

impl Error for Outer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[derive(Serialize, JsonSchema)]
struct Size {
    area: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Trip {
    to: String,
    days: u8,
    quiet: Option<bool>,
}

#[derive(Default)]
struct Ends;

/// Ends in different ways.
#[plugin]
impl Ends {
    /// Parses a number.
    #[tool]
    fn parse(&self, text: &str) -> Result<i32, Box<dyn Error>> {
        let number: i32 = text.parse().map_err(Outer)?;
        if number < 0 { Err("it is negative".into()) } else { Ok(number) }
    }

    /// Returns an error of another kind.
    #[tool]
    fn through(&self, how: &str) -> Result<String, ToolError> {
        match how {
            "text" => Err("just a string")?,
            "owned" => Err("just a string".to_owned())?,
            "boxed" => return Ok(self.parse("x")?.to_string()),
            "failure" => Err(Failure::MissingCapability(vec!["roots".to_owned()]))?,
            "setting" => return Ok(config::typed::<Option<u8>>()?.unwrap_or_default().to_string()),
            _ => {}
        }
        Ok(env::get(how).unwrap_or_default())
    }

    /// Fails with a string.
    #[tool]
    fn in_words(&self) -> Result<(), String> {
        Err("no such thing".to_owned())
    }

    /// Panics.
    #[tool]
    fn give_up(&self) -> String {
        log::info("before");
        panic!("out of ideas")
    }

    /// Returns a result without the promised content.
    #[tool(output = Size)]
    fn promise(&self, how: &str) -> ToolResult {
        match how {
            "nothing" => ToolResult::text("1"),
            "broken" => ToolResult { structured: Some("{".to_owned()), ..ToolResult::text("1") },
            _ => ToolResult::error("it failed"),
        }
    }

    /// A trip.
    #[prompt]
    fn trip(&self, args: &Trip) -> Vec<PromptMessage> {
        vec![PromptMessage::user(format!("{} {} {:?}", args.to, args.days, args.quiet))]
    }

    /// A page that can be cached.
    #[resource(uri = "test://page")]
    fn page(&self) -> ReadResult {
        let contents = vec![ResourceContents::text("test://page", "x").mime_type("text/plain")];
        ReadResult::new(contents).keep_for(std::time::Duration::from_secs(5)).shareable()
    }
}

fn outcome(tool: &str, args: serde_json::Value) -> (bool, String) {
    let result = Client::<Ends>::new().call(tool, args).unwrap();
    (result.failed(), result.all_text())
}

#[test]
fn converts_every_kind_of_error() {
    let failed = |text: &str| (true, text.to_owned());
    assert_eq!(
        outcome("parse", json!({ "text": "x" })),
        failed("cannot parse the page: invalid digit found in string")
    );
    assert_eq!(outcome("parse", json!({ "text": "-1" })), failed("it is negative"));
    assert_eq!(outcome("through", json!({ "how": "text" })), failed("just a string"));
    assert_eq!(outcome("through", json!({ "how": "owned" })), failed("just a string"));
    assert_eq!(
        outcome("through", json!({ "how": "boxed" })),
        failed("cannot parse the page: invalid digit found in string")
    );
    assert_eq!(outcome("in_words", json!({})), failed("no such thing"));
    let missing = Client::<Ends>::new().call("through", json!({ "how": "failure" }));
    assert_eq!(missing, Err(Failure::MissingCapability(vec!["roots".to_owned()])));
}

#[test]
fn reads_only_the_tests_environment() {
    assert_eq!(outcome("through", json!({ "how": "PATH" })), (false, String::new()));
    let client = Client::<Ends>::new().env("PATH", "here");
    assert_eq!(client.call("through", json!({ "how": "PATH" })).unwrap().all_text(), "here");
}

#[test]
fn client_works_after_a_panic() {
    let client = Client::<Ends>::new();
    let panic = catch_unwind(AssertUnwindSafe(|| client.call("give_up", json!({})))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"out of ideas"));
    assert_eq!(client.logs()[0].data, "before");
    assert_eq!(client.call("parse", json!({ "text": "7" })).unwrap().all_text(), "7");
}

#[test]
fn fails_on_results_without_promised_content() {
    let panic = |how: &str| {
        let client = Client::<Ends>::new();
        let args = json!({ "how": how });
        let panic = catch_unwind(AssertUnwindSafe(|| client.call("promise", args))).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    };
    assert!(
        panic("nothing")
            .starts_with("`promise` has an output schema, but its result has no structured content")
    );
    assert!(panic("broken").starts_with("the structured content of `promise` isn't valid JSON"));
    assert_eq!(outcome("promise", json!({ "how": "failed" })), (true, "it failed".to_owned()));
}

#[test]
fn parses_arguments_of_a_prompt() {
    let client = Client::<Ends>::new();
    let args = [("to", "7"), ("days", "3"), ("quiet", "true")];
    assert_eq!(client.prompt("trip", &args).unwrap().messages, [PromptMessage::user("7 3 Some(true)")]);
    let Err(Failure::InvalidParams(fault)) = client.prompt("trip", &[("to", "Oslo"), ("days", "soon")])
    else {
        panic!()
    };
    assert!(fault.message.starts_with("invalid argument `days`: "), "{}", fault.message);
    let Err(Failure::InvalidParams(fault)) = client.prompt("trip", &[("to", "Oslo")]) else { panic!() };
    assert_eq!(fault.message, "missing argument `days`; expected an integer from 0 to 255");
}

#[test]
fn resource_sets_its_cache_time() {
    let result = Client::<Ends>::new().read("test://page").unwrap();
    assert_eq!((result.ttl_ms, result.shareable), (Some(5000), Some(true)));
    assert_eq!(result.contents[0].body, ResourceBody::Text("x".to_owned()));
    assert_eq!(result.contents[0].as_text(), Some("x"));
}
