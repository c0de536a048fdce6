//! The plugin `fetch`: web pages as text for a model.
//!
//! The tool and the prompt have the same arguments and results as those of the Python package `mcp-server-fetch`, so
//! the plugin can replace it. The gateway enforces the grants: it checks each request, including redirects, and
//! rejects non-public addresses.
#![forbid(unsafe_code)]

use moongate_sdk::prelude::*;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use url::Url;

mod charset; // decoding
mod excerpt; // a part of a long text
mod page; // requests
mod robots; // robots.txt
mod simplify; // HTML to Markdown
mod weight; // detection of HTML that takes too long

use page::{PageError, UserAgent};

/// The user agent for requests from the model. Sites can name it in `robots.txt`.
const USER_AGENT_OF_MODELS: &str =
    concat!("ModelContextProtocol/1.0 (Autonomous; moongate-fetch/", env!("CARGO_PKG_VERSION"), ")");
/// The user agent for requests from a user.
const USER_AGENT_OF_USERS: &str =
    concat!("ModelContextProtocol/1.0 (User-Specified; moongate-fetch/", env!("CARGO_PKG_VERSION"), ")");

/// The plugin.
#[derive(Debug, Default)]
pub struct Fetch;

/// The settings in `[plugins.fetch.config]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Settings {
    /// The user agent. Its first word selects the rules in `robots.txt`.
    user_agent: Option<String>,
    /// Ignore `robots.txt`. Default: `false`.
    #[serde(default)]
    ignore_robots_txt: bool,
}

#[derive(Deserialize, JsonSchema)]
struct FetchArgs {
    /// The URL of the page.
    #[schemars(url, length(min = 1))]
    url: String,
    /// The maximum number of characters to return.
    #[serde(default = "default_max_length")]
    #[schemars(range(min = 1, max = 999_999), transform = without_format)]
    max_length: usize,
    /// The index of the first character to return. If a page was truncated, the result contains the next index.
    #[serde(default)]
    #[schemars(transform = without_format)]
    start_index: u64,
    /// Return the page's source without converting it to Markdown.
    #[serde(default)]
    raw: bool,
}

/// Fetch web pages as readable text.
#[plugin(name = "fetch", title = "Fetch", config = Settings)]
impl Fetch {
    /// Fetch a URL and return the page as Markdown, without navigation and ads. Other text, such as JSON, is returned
    /// as is. Use it to read current content from the web.
    #[tool(title = "Fetch a page", read_only, destructive = false, idempotent, open_world)]
    fn fetch(&self, args: &FetchArgs) -> Result<String, ToolError> {
        let url = Url::parse(&args.url).map_err(|error| {
            ToolError::invalid_params(format_args!("invalid URL `{}`: {error}", args.url)).at("/url")
        })?;
        let settings: Settings = config::typed()?;
        let visitor = UserAgent {
            agent: settings.user_agent.as_deref().unwrap_or(USER_AGENT_OF_MODELS),
            asks_robots: !settings.ignore_robots_txt,
        };
        let page = page::visit(&url, &visitor, args.raw.into()).map_err(failed)?;
        // Cap it for the target: no page is longer than a component's memory.
        let start = usize::try_from(args.start_index).unwrap_or(usize::MAX);
        let part = excerpt::of(&page.text, start, args.max_length, page.end_note.as_deref());
        Ok(format!("{}Contents of {url}:\n{part}", page.preface))
    }

    /// Fetch a URL and return the page as Markdown.
    #[prompt(name = "fetch", title = "Fetch a page")]
    fn fetch_prompt(
        &self,
        /// The URL of the page.
        url: &str,
    ) -> Result<String, ToolError> {
        let settings: Settings = config::typed()?;
        let visitor = UserAgent {
            agent: settings.user_agent.as_deref().unwrap_or(USER_AGENT_OF_USERS),
            asks_robots: false,
        };
        // The user requested it and sees the result, including errors.
        let page =
            Url::parse(url).map_err(|error| format!("Failed to fetch {url}: {error}")).and_then(|url| {
                page::visit(&url, &visitor, page::PageFormat::Readable).map_err(|error| error.to_string())
            });
        Ok(match page {
            Ok(page) => format!("{}{}{}", page.preface, page.text, page.end_note.unwrap_or_default()),
            Err(reason) => reason,
        })
    }
}

/// An error in the format of `mcp-server-fetch`, whose framework adds the tool's name.
#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
fn failed(error: PageError) -> ToolError {
    ToolError::failed(format_args!("Error executing tool fetch: {error}"))
}

fn default_max_length() -> usize {
    5000
}

/// Removes integer formats, which don't help a model.
fn without_format(schema: &mut Schema) {
    schema.remove("format");
}

#[cfg(test)]
mod tests;
