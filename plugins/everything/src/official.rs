//! The tools of the official server `@modelcontextprotocol/server-everything`, with the same names, arguments and results.
//!
//! Left out are tools that work in the background (`toggle-…`) or as tasks: a call of a plugin ends with its result.

use std::collections::BTreeMap;
use std::env;
use std::thread;
use std::time::Duration;

use moongate_sdk::prelude::*;
use moongate_sdk::{Annotations, ResourceInfo, Role};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::assets::PIXEL;

pub(crate) mod archive; // compressed files
pub(crate) mod questions; // questions to the client
pub(crate) mod resources; // resources by number

use resources::ResourceKind;

/// The part with these tools.
#[derive(Debug, Default)]
pub(crate) struct OfficialTools;

/// The arguments of `echo`.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// The message.
    message: String,
}

/// The arguments of `get-annotated-message`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AnnotatedMessage {
    /// The kind of message, which decides its annotations.
    message_type: MessageType,
    /// Whether to add an image.
    #[serde(default)]
    include_image: bool,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MessageType {
    Error,
    Success,
    Debug,
}

/// The arguments of `get-resource-links`.
#[derive(Deserialize, JsonSchema)]
struct Links {
    /// The number of links.
    #[serde(default = "Links::default_count")]
    #[schemars(range(min = 1, max = 10), extend("default" = 3))]
    count: f64,
}

impl Links {
    fn default_count() -> f64 {
        3.0
    }
}

/// The arguments of `get-resource-reference`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Reference {
    /// The type of the resource.
    #[serde(default)]
    resource_type: ResourceKind,
    /// The number of the resource.
    #[serde(default = "Reference::default_id")]
    #[schemars(extend("default" = 1))]
    resource_id: f64,
}

impl Reference {
    fn default_id() -> f64 {
        1.0
    }
}

/// The arguments of `get-structured-content`.
#[derive(Deserialize, JsonSchema)]
struct WeatherPlace {
    /// The city.
    location: City,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
enum City {
    #[serde(rename = "New York")]
    NewYork,
    Chicago,
    #[serde(rename = "Los Angeles")]
    LosAngeles,
}

/// The result of `get-structured-content`.
#[derive(Serialize, JsonSchema)]
struct CityWeather {
    /// The temperature in degrees Celsius.
    #[schemars(with = "f64")]
    temperature: u32,
    /// The conditions.
    conditions: &'static str,
    /// The humidity in percent.
    #[schemars(with = "f64")]
    humidity: u32,
}

/// The arguments of `get-sum`.
#[derive(Deserialize, JsonSchema)]
struct Sum {
    /// The first number.
    #[serde(deserialize_with = "exact")]
    #[schemars(with = "f64")]
    a: f64,
    /// The second number.
    #[serde(deserialize_with = "exact")]
    #[schemars(with = "f64")]
    b: f64,
}

/// Reads a number from its text, because `serde_json` can differ in the last bit.
fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    text.get().parse().map_err(D::Error::custom)
}

/// The arguments of `trigger-long-running-operation`.
#[derive(Deserialize, JsonSchema)]
struct LongOperation {
    /// The duration in seconds.
    #[serde(default = "LongOperation::default_duration")]
    #[schemars(extend("default" = 10))]
    duration: f64,
    /// The number of steps.
    #[serde(default = "LongOperation::default_steps")]
    #[schemars(extend("default" = 5))]
    steps: f64,
}

impl LongOperation {
    fn default_duration() -> f64 {
        10.0
    }

    fn default_steps() -> f64 {
        5.0
    }
}

#[plugin(part)]
impl OfficialTools {
    /// Return a message.
    #[tool(title = "Echo Tool", read_only, destructive = false, idempotent, open_world = false)]
    fn echo(&self, args: &Echo) -> String {
        format!("Echo: {}", args.message)
    }

    /// Return a message with annotations that depend on its type.
    #[tool(
        name = "get-annotated-message",
        title = "Get Annotated Message Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn get_annotated_message(&self, args: &AnnotatedMessage) -> Vec<Content> {
        let (text, priority, audience) = match args.message_type {
            MessageType::Error => ("Error: Operation failed", 1.0, vec![Role::User, Role::Assistant]),
            MessageType::Success => ("Operation completed successfully", 0.7, vec![Role::User]),
            MessageType::Debug => ("Debug: Cache hit ratio 0.95, latency 150ms", 0.3, vec![Role::Assistant]),
        };
        let mut content =
            vec![Content::text(text).annotated(Annotations::audience(audience).priority(priority))];
        if args.include_image {
            let annotations = Annotations::audience([Role::User]).priority(0.5);
            content.push(Content::image(PIXEL, "image/png").annotated(annotations));
        }
        content
    }

    /// Return the environment variables that the operator grants, for debugging the configuration.
    #[tool(
        name = "get-env",
        title = "Print Environment Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn get_env(&self) -> Result<String, ToolError> {
        let variables = env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        Ok(serde_json::to_string_pretty(&variables.collect::<BTreeMap<_, _>>())?)
    }

    /// Return up to ten links to resources of different types.
    #[tool(
        name = "get-resource-links",
        title = "Get Resource Links Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn get_resource_links(&self, args: &Links) -> Vec<Content> {
        let introduction = format!(
            "Here are {} resource links to resources available in this server:",
            js_number(args.count)
        );
        let links = (1..=10_u32).take_while(|id| f64::from(*id) <= args.count).map(|id| {
            let kind = if id % 2 == 0 { ResourceKind::Text } else { ResourceKind::Blob };
            let description = format!("Resource {id}: plaintext resource");
            let link = ResourceInfo::new(kind.uri(id.into()), format!("{} Resource {id}", kind.name()));
            Content::link(link.description(description).mime_type("text/plain"))
        });
        [Content::text(introduction)].into_iter().chain(links).collect()
    }

    /// Return a resource and its URI.
    #[tool(
        name = "get-resource-reference",
        title = "Get Resource Reference Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn get_resource_reference(&self, args: &Reference) -> Result<Vec<Content>, ToolError> {
        let id = resources::number(args.resource_id).ok_or_else(|| {
            let given = js_number(args.resource_id);
            ToolError::failed(format!("Invalid resourceId: {given}. Must be a finite positive integer."))
        })?;
        let uri = args.resource_type.uri(id);
        Ok(vec![
            Content::text(format!("Returning resource reference for Resource {id}:")),
            Content::embedded(args.resource_type.contents(&uri, id)),
            Content::text(format!("You can access this resource using the URI: {uri}")),
        ])
    }

    /// Return structured content, with an output schema to validate it.
    #[tool(
        name = "get-structured-content",
        title = "Get Structured Content Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn get_structured_content(&self, args: &WeatherPlace) -> Json<CityWeather> {
        let (temperature, conditions, humidity) = match args.location {
            City::NewYork => (33, "Cloudy", 82),
            City::Chicago => (36, "Light rain / drizzle", 82),
            City::LosAngeles => (73, "Sunny / Clear", 48),
        };
        Json(CityWeather { temperature, conditions, humidity })
    }

    /// Add two numbers.
    #[tool(
        name = "get-sum",
        title = "Get Sum Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn get_sum(&self, args: &Sum) -> String {
        let [a, b, sum] = [args.a, args.b, args.a + args.b].map(js_number);
        format!("The sum of {a} and {b} is {sum}.")
    }

    /// Return a tiny image.
    #[tool(
        name = "get-tiny-image",
        title = "Get Tiny Image Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn get_tiny_image(&self) -> Vec<Content> {
        vec![
            Content::text("Here's the image you requested:"),
            Content::image(PIXEL, "image/png"),
            Content::text("The image above is a single pixel."),
        ]
    }

    /// Compress a file with gzip, and return it or a link to it. Links require that state is granted.
    #[tool(
        name = "gzip-file-as-resource",
        title = "GZip File as Resource Tool",
        read_only = false,
        destructive = false,
        idempotent,
        open_world
    )]
    fn gzip_file_as_resource(&self, args: &archive::Source) -> Result<Content, ToolError> {
        archive::compress(args)
    }

    /// Run for a while, and report progress after each step.
    #[tool(
        name = "trigger-long-running-operation",
        title = "Trigger Long Running Operation Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn trigger_long_running_operation(&self, args: &LongOperation) -> String {
        let LongOperation { duration, steps } = *args;
        let pause = Duration::try_from_secs_f64(duration / steps).unwrap_or_default();
        let mut step = 1.0;
        while step < steps + 1.0 {
            thread::sleep(pause);
            progress::report(step, steps);
            step += 1.0;
        }
        let [duration, steps] = [duration, steps].map(js_number);
        format!("Long running operation completed. Duration: {duration} seconds, Steps: {steps}.")
    }

    /// List the client's roots. It doesn't read their files.
    #[tool(
        name = "get-roots-list",
        title = "Get Roots List Tool",
        read_only,
        destructive = false,
        idempotent,
        open_world = false
    )]
    fn get_roots_list(&self, ctx: &Context) -> Result<String, ToolError> {
        Ok(questions::roots_page(&ctx.ask("roots", Roots)?))
    }

    /// Ask the user to fill in a form with each kind of field.
    #[tool(
        name = "trigger-elicitation-request",
        title = "Trigger Elicitation Request Tool",
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn trigger_elicitation_request(&self, ctx: &Context) -> Result<Vec<Content>, ToolError> {
        questions::form_page(ctx)
    }

    /// Send a prompt to the client's model.
    #[tool(
        name = "trigger-sampling-request",
        title = "Trigger Sampling Request Tool",
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world
    )]
    fn trigger_sampling_request(
        &self,
        ctx: &Context,
        args: &questions::SamplingPrompt,
    ) -> Result<String, ToolError> {
        questions::sampling_page(ctx, args)
    }
}

/// The text of a number in JavaScript.
pub(crate) fn js_number(number: f64) -> String {
    if number == 0.0 {
        "0".to_owned() // also for -0
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() }
    } else if (1e-6..1e21).contains(&number.abs()) {
        number.to_string()
    } else {
        let text = format!("{number:e}");
        if text.contains("e-") { text } else { text.replace('e', "e+") }
    }
}
