//! Questions to the client: each kind alone, several together, and in several rounds.

use moongate_sdk::prelude::*;
use serde::Serialize;

use crate::forms::{Color, Confirmation, Name};

/// A form that asks for the user's name.
pub(crate) fn name(message: &str) -> Form<Name> {
    Form::new(message)
}

/// A form that asks for a confirmation.
pub(crate) fn confirmation() -> Form<Confirmation> {
    Form::new("Please confirm")
}

/// The result that the suite expects for a form that can be declined.
pub(crate) fn decided(decision: Decision<impl Serialize>) -> Result<String, ToolError> {
    let (action, content) = match decision {
        Decision::Accepted(content) => ("accept", serde_json::to_string(&content)?),
        Decision::Declined => ("decline", "{}".to_owned()),
        Decision::Dismissed => ("cancel", "{}".to_owned()),
    };
    Ok(format!("action={action}, content={content}"))
}

/// Asks the model one question and returns its answer.
pub(crate) fn model(ctx: &Context, key: &str, most: u32, text: &str) -> Result<String, ToolError> {
    Ok(ctx.ask(key, Sampling::new(most).user(text))?.text())
}

/// Asks the user, the model and the client together.
pub(crate) fn all_at_once(ctx: &Context) -> Result<String, ToolError> {
    // The suite expects state to travel with the questions.
    let round = ctx.once("round", || "first".to_owned())?;
    let (name, greeting, roots) = ctx.ask_all((
        ("user_name", name("What is your name?")),
        ("greeting", Sampling::new(50).user("Generate a greeting")),
        ("client_roots", Roots),
    ))?;
    let (name, greeting) = (name.name, greeting.text());
    Ok(format!("Name: {name}; greeting: {greeting}; roots: {}; state of the {round} round", roots.len()))
}

/// Asks a question, and another one after its answer.
pub(crate) fn one_by_one(ctx: &Context) -> Result<String, ToolError> {
    ctx.once("first", || true)?;
    let Name { name } = ctx.ask("step1", name("Step 1: What is your name?"))?;
    let greeting = ctx.once("second", || format!("Hello, {name}!"))?;
    let Color { color } = ctx.ask("step2", Form::new("Step 2: What is your favorite color?"))?;
    Ok(format!("{greeting} Your color is {color}."))
}

/// Asks only the kinds of questions that the client supports.
pub(crate) fn what_the_client_can(ctx: &Context) -> Result<String, ToolError> {
    let can = |kind: &str| ctx.capability(kind);
    let (name, greeting, roots) = ctx.ask_all((
        can("elicitation").then(|| ("user_name", name("What is your name?"))),
        can("sampling").then(|| ("greeting", Sampling::new(50).user("Generate a greeting"))),
        can("roots").then_some(("client_roots", Roots)),
    ))?;
    let answers = [name.is_some(), greeting.is_some(), roots.is_some()];
    Ok(format!("{} answers", answers.into_iter().filter(|there| *there).count()))
}
