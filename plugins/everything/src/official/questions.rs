//! Questions to the client, with results that show the answers.

use moongate_sdk::input::{Root, Sampled};
use moongate_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::js_number;

/// The arguments of `trigger-sampling-request`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SamplingPrompt {
    /// The prompt for the model.
    prompt: String,
    /// The maximum number of tokens.
    #[serde(default = "SamplingPrompt::default_tokens")]
    #[schemars(extend("default" = 100))]
    max_tokens: f64,
}

impl SamplingPrompt {
    fn default_tokens() -> f64 {
        100.0
    }
}

/// A form with each kind of field.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AllFields {
    /// Your full, legal name
    #[schemars(title = "String")]
    name: String,
    /// Agree to the terms and conditions
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Boolean")]
    check: Option<bool>,
    /// Favorite first line of a story
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "String with default", extend("default" = "It was a dark and stormy night."))]
    first_line: Option<String>,
    /// Your email address
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "String with email format", email)]
    email: Option<String>,
    /// Portfolio or personal website
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "String with uri format", url)]
    homepage: Option<String>,
    /// Your date of birth
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "String with date format", extend("format" = "date"))]
    birthdate: Option<String>,
    /// Your favorite integer
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Integer", range(min = 1, max = 100), extend("default" = 42))]
    integer: Option<i64>,
    /// Favorite number
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Number in range 1-1000", range(min = 0, max = 1000), extend("default" = 2.5))]
    number: Option<f64>,
    /// Choose your favorite friend
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Untitled Single Select Enum", extend("default" = "Monica"))]
    untitled_single_select_enum: Option<Friend>,
    /// Choose your favorite instruments
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Untitled Multiple Select Enum", length(min = 1, max = 3), extend("default" = ["Guitar"]))]
    untitled_multiple_select_enum: Option<Vec<Instrument>>,
    /// Choose your favorite hero
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Titled Single Select Enum", extend("default" = "hero-1"))]
    titled_single_select_enum: Option<Hero>,
    /// Choose your favorite types of fish
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "Titled Multiple Select Enum", length(min = 1, max = 3), extend("default" = ["fish-1"]))]
    titled_multiple_select_enum: Option<Vec<Fish>>,
    /// Choose your favorite type of pet
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        title = "Legacy Titled Single Select Enum",
        extend("enumNames" = ["Cats", "Dogs", "Birds", "Fish", "Reptiles"], "default" = "pet-1")
    )]
    legacy_titled_enum: Option<Pet>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Friend {
    Monica,
    Rachel,
    Joey,
    Chandler,
    Ross,
    Phoebe,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Instrument {
    Guitar,
    Piano,
    Violin,
    Drums,
    Bass,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Hero {
    #[serde(rename = "hero-1")]
    #[schemars(title = "Superman")]
    Superman,
    #[serde(rename = "hero-2")]
    #[schemars(title = "Green Lantern")]
    GreenLantern,
    #[serde(rename = "hero-3")]
    #[schemars(title = "Wonder Woman")]
    WonderWoman,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Fish {
    #[serde(rename = "fish-1")]
    #[schemars(title = "Tuna")]
    Tuna,
    #[serde(rename = "fish-2")]
    #[schemars(title = "Salmon")]
    Salmon,
    #[serde(rename = "fish-3")]
    #[schemars(title = "Trout")]
    Trout,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Pet {
    #[serde(rename = "pet-1")]
    Cats,
    #[serde(rename = "pet-2")]
    Dogs,
    #[serde(rename = "pet-3")]
    Birds,
    #[serde(rename = "pet-4")]
    Fish,
    #[serde(rename = "pet-5")]
    Reptiles,
}

/// The client's answer to a form.
#[derive(Serialize)]
struct FormAnswer {
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<AllFields>,
}

/// The model's answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelAnswer<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'a str>,
    role: &'static str,
    content: ModelText,
}

#[derive(Serialize)]
struct ModelText {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
}

/// The client's roots.
pub(crate) fn roots_page(roots: &[Root]) -> String {
    if roots.is_empty() {
        return "The client supports roots but no roots are currently configured.\n\n\
                This could mean:\n\
                1. The client hasn't provided any roots yet\n\
                2. The client provided an empty roots list\n\
                3. The roots configuration is still being loaded"
            .to_owned();
    }
    let lines = roots.iter().zip(1..).map(|(root, number)| {
        let name = root.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("Unnamed Root");
        format!("{number}. {name}\n   URI: {}", root.uri)
    });
    format!(
        "Current MCP Roots ({} total):\n\n{}\n\n\
         Note: This server demonstrates the roots protocol capability but doesn't actually access files. \
         The roots are provided by the MCP client and can be used by servers that need file system access.",
        roots.len(),
        lines.collect::<Vec<_>>().join("\n\n")
    )
}

/// Asks the user for all fields.
pub(crate) fn form_page(ctx: &Context) -> Result<Vec<Content>, ToolError> {
    let form = Form::<AllFields>::new("Please provide inputs for the following fields:").may_decline();
    let mut texts = Vec::new();
    let answer = match ctx.ask("form", form)? {
        Decision::Accepted(content) => {
            texts.push("✅ User provided the requested information!".to_owned());
            texts.push(format!("User inputs:\n{}", lines(&content).join("\n")));
            FormAnswer { action: "accept", content: Some(content) }
        }
        Decision::Declined => {
            texts.push("❌ User declined to provide the requested information.".to_owned());
            FormAnswer { action: "decline", content: None }
        }
        Decision::Dismissed => {
            texts.push("⚠️ User cancelled the elicitation dialog.".to_owned());
            FormAnswer { action: "cancel", content: None }
        }
    };
    texts.push(format!("\nRaw result: {}", serde_json::to_string_pretty(&answer)?));
    Ok(texts.into_iter().map(Content::text).collect())
}

/// The lines for some of the fields.
fn lines(fields: &AllFields) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let all = [
        ("Name", text(&Some(fields.name.clone()))),
        ("Agreed to terms", fields.check.map(|check| check.to_string())),
        ("Email", text(&fields.email)),
        ("Homepage", text(&fields.homepage)),
        ("Birthdate", text(&fields.birthdate)),
        ("Favorite Integer", fields.integer.map(|integer| integer.to_string())),
        ("Favorite Number", fields.number.map(js_number)),
    ];
    all.into_iter().filter_map(|(name, value)| Some(format!("- {name}: {}", value?))).collect()
}

/// Sends a prompt to the client's model.
pub(crate) fn sampling_page(ctx: &Context, args: &SamplingPrompt) -> Result<String, ToolError> {
    let most = js_number(args.max_tokens).parse::<u32>();
    let most = most.map_err(|_| ToolError::failed("`maxTokens` must be a positive integer"))?;
    let question = Sampling::new(most)
        .user(format!("Resource trigger-sampling-request context: {}", args.prompt))
        .system_prompt("You are a helpful test server.")
        .temperature(0.7);
    let sampled: Sampled = ctx.ask("answer", question)?;
    let role = match sampled.role {
        moongate_sdk::Role::User => "user",
        moongate_sdk::Role::Assistant => "assistant",
    };
    let answer = ModelAnswer {
        model: &sampled.model,
        stop_reason: sampled.stop_reason.as_deref(),
        role,
        content: ModelText { kind: "text", text: sampled.text() },
    };
    Ok(format!("LLM sampling result: \n{}", serde_json::to_string_pretty(&answer)?))
}
