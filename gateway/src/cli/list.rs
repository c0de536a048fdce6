//! `list`: what the gateway offers, as clients will see it.

use std::sync::Arc;

use anyhow::Result;
use clap::{Args, ValueEnum};
use moongate_protocol::catalog::Catalog;
use serde_json::{Map, Value, json};
use url::Url;

use crate::admin;
use crate::cli::ask::Where;
use crate::cli::call::endpoint;
use crate::cli::failure::{Done, Failure};
use crate::cli::{Common, Exit, Format, configuration, print};
use crate::supervisor::{Options, Supervisor};

mod live;
mod remote;

use live::Asked;

/// List what the plugins offer
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate list
  moongate list tools --format json
  moongate list plugins
  moongate list tools --url http://127.0.0.1:8931/mcp

`list plugins` asks the running gateway, which knows their states, if the configuration has an `[admin]` listener and a \
gateway answers there. Else, and for all other kinds, the plugins are loaded anew.")]
pub(super) struct List {
    /// What to list; everything if left out
    #[arg(value_name = "KIND")]
    kind: Option<Kind>,
    #[command(flatten)]
    place: Where,
    /// List what the gateway that runs at this endpoint offers to its clients
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with = "admin")]
    url: Option<Url>,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// What a model may call
    Tools,
    /// What can be read
    Resources,
    /// Families of what can be read
    Templates,
    /// What a person picks from a menu
    Prompts,
    /// The plugins themselves
    Plugins,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Plugins, Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "templates",
            Self::Prompts => "prompts",
            Self::Plugins => "plugins",
        }
    }

    /// All of this kind, each as an object whose first member names it.
    fn of(self, supervisor: &Supervisor) -> Vec<Value> {
        let catalog = Arc::clone(&supervisor.catalog().borrow());
        match self {
            Self::Plugins => plugins(supervisor),
            Self::Tools => tools(&catalog),
            Self::Resources => resources(&catalog),
            Self::Templates => templates(&catalog),
            Self::Prompts => prompts(&catalog),
        }
    }
}

impl List {
    pub(super) async fn run(self, common: &Common) -> Done {
        if let Some(url) = &self.url {
            return self.elsewhere(url).await;
        }
        let why = match self.kind {
            Some(Kind::Plugins) => match live::ask(&self.place, common).await? {
                Asked::Plugins(plugins) => {
                    self.show(&plugins)?;
                    return Ok(Exit::Success);
                }
                Asked::Nobody(why) => Some(why),
            },
            Some(Kind::Tools | Kind::Resources | Kind::Templates | Kind::Prompts) | None => None,
        };
        if why.is_none() && self.place.named().is_some() {
            let hint = "`moongate list plugins --admin ADDR`";
            let message = "a running gateway tells of its plugins only";
            return Err(Failure::new(Exit::Usage).says(message, Some(hint)));
        }
        let supervisor = configuration::load(common, Options::looking()).await?;
        if let Some(why) = why {
            live::note(common, &format!("the plugins were loaded here: {why}"));
            self.show(&plugins(&supervisor))?;
        } else {
            let kinds = self.kind.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
            let lists = kinds.into_iter().map(|kind| (kind.name(), kind.of(&supervisor)));
            self.print(&lists.collect::<Vec<_>>())?;
        }
        Ok(Exit::Success)
    }

    /// Lists what the gateway at an endpoint offers.
    async fn elsewhere(&self, url: &Url) -> Done {
        if matches!(self.kind, Some(Kind::Plugins)) {
            let message = "an endpoint tells clients nothing of plugins";
            let hint = "ask the operator's listener: `moongate list plugins --admin ADDR`";
            return Err(Failure::new(Exit::Usage).says(message, Some(hint)));
        }
        self.print(&remote::lists(url, self.kind).await?)?;
        Ok(Exit::Success)
    }

    /// Prints lists: the one that was asked for, or each under its name.
    fn print(&self, lists: &[(&str, Vec<Value>)]) -> Result<()> {
        match (self.format, self.kind) {
            (Format::Json, _) => {
                let lists = lists.iter().map(|(name, items)| ((*name).to_owned(), json!(items)));
                print::json(&Value::Object(lists.collect::<Map<_, _>>()))
            }
            (Format::Text, Some(_)) => {
                print::foreign(&lists.iter().map(|(_, items)| table(items, "")).collect::<String>())
            }
            (Format::Text, None) => print::foreign(&sections(lists)),
        }
    }

    /// Prints plugins.
    fn show(&self, plugins: &[Value]) -> Result<()> {
        match self.format {
            Format::Json => print::json(&json!({ "plugins": plugins })),
            Format::Text => print::foreign(&live::text(plugins)),
        }
    }
}

/// Every kind that there is something of, under its name.
fn sections(lists: &[(&str, Vec<Value>)]) -> String {
    let filled = lists.iter().filter(|(_, items)| !items.is_empty());
    filled.map(|(name, items)| format!("{name}\n{}", table(items, "  "))).collect::<Vec<_>>().join("\n")
}

/// Names in one column, and the first line of what is said of each in another.
fn table(items: &[Value], indent: &str) -> String {
    let rows: Vec<(String, String)> = items
        .iter()
        .map(|item| {
            // Resources have names, too, but are known by their URIs.
            let name = ["uri", "uriTemplate", "id", "name"].iter().find_map(|key| item[key].as_str());
            let about = ["description", "title"].iter().find_map(|key| item[key].as_str());
            // What is wrong is said whole.
            let reason = item["trouble"]["reason"].as_str().and_then(|reason| reason.lines().next());
            let about = about.map(print::first_line).or(reason.map(print::said)).unwrap_or_default();
            (print::said(name.unwrap_or_default()), about)
        })
        .collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    rows.iter()
        .map(|(name, about)| format!("{indent}{}\n", format!("{name:width$}  {about}").trim_end()))
        .collect()
}

/// An object of the members that are there.
fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let there = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect())
}

fn text(text: &Option<String>) -> Option<Value> {
    text.as_ref().map(|text| json!(text))
}

/// The plugins as `/status.json` has them, but that nobody is served by those that were loaded here.
fn plugins(supervisor: &Supervisor) -> Vec<Value> {
    let mut plugins = admin::plugins(&supervisor.status().borrow());
    for plugin in &mut plugins {
        if plugin["state"] == "serving" {
            plugin["state"] = json!("usable");
        }
        plugin["since"] = Value::Null;
        if let Some(retry) = plugin["trouble"].get_mut("retry_at") {
            *retry = Value::Null;
        }
    }
    plugins
}

fn tools(catalog: &Catalog) -> Vec<Value> {
    let entries = catalog.tools().iter().map(|entry| {
        let tool = entry.tool();
        object([
            ("name", Some(json!(entry.public().as_str()))),
            ("plugin", Some(json!(entry.member().id().as_str()))),
            ("title", text(&tool.title)),
            ("description", Some(json!(tool.description))),
            ("input", tool.input_schema.to_value().ok()),
            ("output", tool.output_schema.as_ref().and_then(|schema| schema.to_value().ok())),
        ])
    });
    entries.collect()
}

fn resources(catalog: &Catalog) -> Vec<Value> {
    let entries = catalog.resources().iter().map(|entry| {
        let resource = entry.resource();
        object([
            ("uri", Some(json!(resource.uri.as_str()))),
            ("plugin", Some(json!(entry.member().id().as_str()))),
            ("name", Some(json!(resource.name))),
            ("title", text(&resource.title)),
            ("description", text(&resource.description)),
            ("mimeType", text(&resource.mime_type)),
            ("size", resource.size.map(|size| json!(size))),
        ])
    });
    entries.collect()
}

fn templates(catalog: &Catalog) -> Vec<Value> {
    let entries = catalog.templates().iter().map(|entry| {
        let template = entry.template();
        object([
            ("uriTemplate", Some(json!(template.uri_template.as_str()))),
            ("plugin", Some(json!(entry.member().id().as_str()))),
            ("name", Some(json!(template.name))),
            ("title", text(&template.title)),
            ("description", text(&template.description)),
            ("mimeType", text(&template.mime_type)),
        ])
    });
    entries.collect()
}

fn prompts(catalog: &Catalog) -> Vec<Value> {
    let entries = catalog.prompts().iter().map(|entry| {
        let prompt = entry.prompt();
        let arguments = prompt.arguments.iter().map(|argument| {
            object([
                ("name", Some(json!(argument.name))),
                ("title", text(&argument.title)),
                ("description", text(&argument.description)),
                ("required", Some(json!(argument.required))),
            ])
        });
        object([
            ("name", Some(json!(entry.public().as_str()))),
            ("plugin", Some(json!(entry.member().id().as_str()))),
            ("title", text(&prompt.title)),
            ("description", Some(json!(prompt.description))),
            ("arguments", Some(arguments.collect())),
        ])
    });
    entries.collect()
}
