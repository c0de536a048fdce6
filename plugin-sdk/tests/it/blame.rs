//! Errors of failing plugin tests, and their locations: lines of the plugin author.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Once;

use moongate_sdk::Failure;
use moongate_sdk::input::Url;
use moongate_sdk::prelude::*;
use moongate_sdk::testing::{self, Client};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

thread_local! {
    /// The line of the last panic of this thread, if it is in this file. Otherwise 0.
    static LINE: Cell<u32> = const { Cell::new(0) };
}

/// The message of a panic, and its line in this file.
fn blamed<R>(fails: impl FnOnce() -> R) -> (String, u32) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let here = panic.location().filter(|location| location.file() == file!());
            LINE.set(here.map_or(0, Location::line));
            before(panic);
        }));
    });
    let Err(panic) = catch_unwind(AssertUnwindSafe(fails)) else { panic!("no panic") };
    (panic.downcast_ref::<String>().cloned().unwrap_or_default(), LINE.get())
}

/// The line of this file with this ending.
fn line_of(end: &str) -> u32 {
    let before = include_str!("blame.rs").lines().take_while(|line| !line.ends_with(end)).count();
    u32::try_from(before).unwrap() + 1
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its form is wanted")]
struct Booking {
    name: String,
    persons: u8,
    place: Place,
    quiet: bool,
    remarks: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Place {
    Garden,
    Bar,
}

#[derive(Default)]
struct Asks;

/// Asks.
#[plugin]
impl Asks {
    /// Acts, then asks.
    #[tool]
    fn act(&self, ctx: &Context) -> Result<(), ToolError> {
        kv::set("a", &1)?;
        ctx.ask("directories", Roots)?; // asks too late
        Ok(())
    }

    /// Uses a key of `once` twice.
    #[tool]
    fn once(&self, ctx: &Context) -> Result<(), ToolError> {
        ctx.once("a", || 1)?;
        ctx.once("a", || 2)?; // once more
        Ok(())
    }

    /// Asks for a booking.
    #[tool]
    fn book(&self, ctx: &Context) -> Result<(), ToolError> {
        ctx.ask("booking", Form::<Booking>::new("Who comes?"))?;
        Ok(())
    }

    /// Asks for everything else.
    #[tool]
    fn others(&self, ctx: &Context) -> Result<(), ToolError> {
        ctx.ask_all((
            ("poem", Sampling::new(10).user("A poem.")),
            ("directories", Roots),
            ("page", Url::new("Log in.", "https://a.example")),
        ))?;
        Ok(())
    }

    /// Asks.
    #[resource(uri = "a://b")]
    fn directories(&self, ctx: &Context) -> Result<String, ToolError> {
        ctx.ask("directories", Roots)?;
        Ok(String::new())
    }
}

#[test]
fn prints_the_code_for_a_missing_answer() {
    let (panic_text, line) = blamed(|| Client::<Asks>::new().call("book", json!({})));
    let call = r#".answer("booking", testing::accepted(json!({ "name": "…", "persons": 1, "place": "garden", "quiet": true, "remarks": "…" })))"#;
    assert_eq!(panic_text, format!("no answer to the question `booking`; add `{call}` to the client"));
    assert_eq!(line, line!() - 3, "the panic's location is the call");
    let (panic_text, _) =
        blamed(|| Client::<Asks>::new().answer("fodlers", Value::Null).call("others", json!({})));
    assert_eq!(
        panic_text,
        "no answer to the questions `poem`, `directories`, `page`; add `.answer(\"poem\", testing::sampled(\"…\"))` and \
         `.answer(\"directories\", testing::roots(&[\"file:///…\"]))` and \
         `.answer(\"page\", testing::accepted(json!({})))` to the client (answers exist for `fodlers`)"
    );
    let (panic_text, line) = blamed(|| Client::<Asks>::new().read("a://b"));
    assert_eq!(line, line!() - 1);
    assert!(panic_text.contains("`.answer(\"directories\", testing::roots("), "{panic_text}");
}

#[test]
fn prints_the_code_for_an_invalid_answer() {
    let client = Client::<Asks>::new().answer("booking", json!({ "name": "Ada" }));
    let (panic_text, line) = blamed(|| client.call("book", json!({})));
    assert_eq!(line, line!() - 1);
    assert!(panic_text.contains("`booking` isn't a result of `elicitation/create`"), "{panic_text}");
    assert!(panic_text.contains(".answer(\"booking\", testing::accepted(json!("), "{panic_text}");
}

#[test]
fn points_to_the_line_with_the_problem() {
    let client = || Client::<Asks>::new().answer("directories", testing::roots(&[]));
    let (panic_text, line) = blamed(|| client().call("act", json!({})));
    assert_eq!(line, line_of("// asks too late"), "{panic_text}");
    let (panic_text, line) = blamed(|| client().call("once", json!({})));
    assert_eq!(line, line_of("// once more"), "{panic_text}");
}

#[derive(Debug, Default)]
struct Broken;

impl moongate_sdk::Plugin for Broken {
    fn info() -> moongate_sdk::PluginInfo {
        moongate_sdk::PluginInfo::new("broken", "1")
    }

    fn prompts(&self) -> Result<Vec<moongate_sdk::Prompt>, Failure> {
        Err(Failure::Internal(moongate_sdk::Fault { message: "no".to_owned(), at: None, data: None }))
    }
}

#[test]
fn points_to_the_line_that_lists() {
    let (panic_text, line) = blamed(|| Client::<Broken>::new().prompts());
    assert_eq!(line, line!() - 1);
    assert!(panic_text.starts_with("the plugin failed to list its prompts: "), "{panic_text}");
}

#[test]
fn shows_a_stored_value_of_another_type() {
    let client = Client::<Broken>::new().kept("count", "many");
    let (panic_text, line) = blamed(|| client.kv::<u32>("count"));
    assert_eq!(line, line!() - 1);
    assert!(
        panic_text.contains("the value under `count` has another type") && panic_text.contains("\"many\""),
        "{panic_text}"
    );
}
