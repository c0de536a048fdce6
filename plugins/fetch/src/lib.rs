//! The plugin `fetch`: pages of the web as text that a model can read.
//!
//! Its tool and its prompt take the same arguments and give the same answers as those of the Python package
//! `mcp-server-fetch`, so it can stand in for that one. Where requests may go is the gateway's matter: it checks each
//! one, and each step of a redirect, against what the operator granted, and refuses addresses that aren't public.
#![forbid(unsafe_code)]

use moongate_sdk::prelude::*;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use url::Url;

mod charset; // from bytes to text
mod excerpt; // a part of a long text
mod page; // from a URL to a page
mod robots; // what a site lets programs read
mod simplify; // from HTML to Markdown
mod weight; // HTML that would take too long to simplify

use page::{PageError, Visitor};

/// How programs of MCP that read on their own introduce themselves; sites name it in `robots.txt`.
const ALONE: &str =
    concat!("ModelContextProtocol/1.0 (Autonomous; moongate-fetch/", env!("CARGO_PKG_VERSION"), ")");
/// The same, where a person named the page.
const BY_HAND: &str =
    concat!("ModelContextProtocol/1.0 (User-Specified; moongate-fetch/", env!("CARGO_PKG_VERSION"), ")");

/// The plugin.
#[derive(Debug, Default)]
pub struct Fetch;

/// What `gateway.toml` can say in `[plugins.fetch.config]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Settings {
    /// How the plugin introduces itself to servers, in place of its own words. Rules of `robots.txt` for the first word
    /// of it hold.
    user_agent: Option<String>,
    /// Whether the tool reads pages without asking what `robots.txt` lets programs read. Default: `false`.
    #[serde(default)]
    ignore_robots_txt: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Wanted {
    /// The URL of the page.
    #[schemars(url, length(min = 1))]
    url: String,
    /// How many characters to return at most.
    #[serde(default = "five_thousand")]
    #[schemars(range(min = 1, max = 999_999), transform = without_format)]
    max_length: usize,
    /// Which character of the page to begin with. Where a page was cut off, the answer says which one comes next.
    #[serde(default)]
    #[schemars(transform = without_format)]
    start_index: u64,
    /// Whether to return the page as the server sent it, without making it readable.
    #[serde(default)]
    raw: bool,
}

/// Pages of the web, as text that can be read.
#[plugin(name = "fetch", title = "Fetch", config = Settings)]
impl Fetch {
    /// Gets what is at a URL of the web now. A page of HTML is given back as Markdown, without what surrounds its text;
    /// anything else that is text as it is. With this tool you can read what is on the web today.
    #[tool(title = "Fetch a page", read_only, destructive = false, idempotent, open_world)]
    fn fetch(&self, args: &Wanted) -> Result<String, ToolError> {
        let url = Url::parse(&args.url).map_err(|error| {
            ToolError::invalid_params(format_args!("`{}` is no URL: {error}", args.url)).at("/url")
        })?;
        let settings: Settings = config::typed()?;
        let visitor = Visitor {
            agent: settings.user_agent.as_deref().unwrap_or(ALONE),
            asks_robots: !settings.ignore_robots_txt,
        };
        let page = page::visit(&url, &visitor, args.raw.into()).map_err(failed)?;
        // No page is as long as a component's memory.
        let start = usize::try_from(args.start_index).unwrap_or(usize::MAX);
        let part = excerpt::of(&page.text, start, args.max_length, page.end_note.as_deref());
        Ok(format!("{}Contents of {url}:\n{part}", page.preface))
    }

    /// The page at a URL, as Markdown.
    #[prompt(name = "fetch", title = "Fetch a page")]
    fn fetch_prompt(
        &self,
        /// The URL of the page.
        url: &str,
    ) -> Result<String, ToolError> {
        let settings: Settings = config::typed()?;
        let visitor =
            Visitor { agent: settings.user_agent.as_deref().unwrap_or(BY_HAND), asks_robots: false };
        // A person asked for it and sees what comes, also why nothing does.
        let page =
            Url::parse(url).map_err(|error| format!("Failed to fetch {url}: {error}")).and_then(|url| {
                page::visit(&url, &visitor, page::Form::Readable).map_err(|error| error.to_string())
            });
        Ok(match page {
            Ok(page) => format!("{}{}{}", page.preface, page.text, page.end_note.unwrap_or_default()),
            Err(reason) => reason,
        })
    }
}

/// A failure as `mcp-server-fetch` says it, whose framework puts the tool's name before each.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn failed(error: PageError) -> ToolError {
    ToolError::failed(format_args!("Error executing tool fetch: {error}"))
}

fn five_thousand() -> usize {
    5000
}

/// Which numbers the machine can hold is nothing that a model has to know.
fn without_format(schema: &mut Schema) {
    schema.remove("format");
}

#[cfg(test)]
mod tests;
