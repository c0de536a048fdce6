//! `list`: lists tools, resources, prompts and plugins, as clients see them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use moongate_protocol::catalog::Catalog;
use serde_json::{Map, Value, json};
use url::Url;

use crate::admin;
use crate::cli::admin_client::AdminOptions;
use crate::cli::call::{DEFAULT_TIMEOUT_SECS, endpoint};
use crate::cli::client_tls::ClientTlsOptions;
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::mcp_client::McpClient;
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, print};
use crate::supervisor::{Supervisor, SupervisorOptions};

mod builtin;
mod live;
mod viewer;

use live::LivePlugins;
use viewer::ViewerOptions;

/// List tools, resources, prompts and plugins
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate list
  moongate list tools --format json
  moongate list plugins
  moongate list builtin
  moongate list tools --url http://127.0.0.1:8931/mcp
  moongate list tools --url unix:/run/moongate/mcp.sock
  moongate list --as ci
  moongate list tools --as 'https://auth.example.com ann' --scope notes:write

`list plugins` asks the running gateway for the plugins' states if the configuration has an `[admin]` listener. If no \
gateway responds, and for all other kinds, the command loads the plugins itself. Their state is then `usable` or `failed`.")]
pub(super) struct List {
    /// Kind of items to list [default: all]
    #[arg(value_name = "KIND")]
    kind: Option<ListKind>,
    #[command(flatten)]
    place: AdminOptions,
    /// List the items of the gateway at this endpoint
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with = "admin")]
    url: Option<Url>,
    #[command(flatten)]
    viewer: ViewerOptions,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListKind {
    /// Tools
    Tools,
    /// Resources
    Resources,
    /// Resource templates
    Templates,
    /// Prompts
    Prompts,
    /// Plugins and their states
    Plugins,
    /// Plugins that are part of the gateway, for `moongate add`
    Builtin,
}

impl ListKind {
    const ALL: [Self; 5] = [Self::Plugins, Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "templates",
            Self::Prompts => "prompts",
            Self::Plugins => "plugins",
            Self::Builtin => "builtin",
        }
    }

    /// All items of this kind; the first member of each is its name.
    fn items(self, supervisor: &Supervisor, view: &Catalog) -> Vec<Value> {
        match self {
            Self::Plugins => visible_plugins(supervisor, view),
            Self::Tools => tools(view),
            Self::Resources => resources(view),
            Self::Templates => templates(view),
            Self::Prompts => prompts(view),
            Self::Builtin => builtin::documents(),
        }
    }
}

impl List {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        if self.kind == Some(ListKind::Builtin) {
            builtin::print_builtin_plugins(self.format)?;
            return Ok(ExitKind::Success);
        }
        if let Some(url) = &self.url {
            return self.run_remote(url, common).await;
        }
        let why = match self.kind {
            Some(ListKind::Plugins) if !self.viewer.is_set() => {
                match live::list_live_plugins(&self.place, common).await? {
                    LivePlugins::Listed(plugins) => {
                        self.print_plugins(&plugins)?;
                        return Ok(ExitKind::Success);
                    }
                    LivePlugins::Unavailable(why) => Some(why),
                }
            }
            Some(
                ListKind::Tools
                | ListKind::Resources
                | ListKind::Templates
                | ListKind::Prompts
                | ListKind::Plugins
                | ListKind::Builtin,
            )
            | None => None,
        };
        if why.is_none() && self.place.is_named() {
            let hint = "`moongate list plugins --admin ADDR`";
            let message = "`--admin` lists plugins only";
            return Err(CommandError::new(ExitKind::Usage).message(message, Some(hint)));
        }
        if why.is_none() && self.place.tls.is_set() {
            let message = "`--cert`, `--key` and `--ca` need `--url` or `--admin`";
            return Err(CommandError::new(ExitKind::Usage).message(message, None));
        }
        let loaded = configuration::load(common, SupervisorOptions::inspecting()).await?;
        loaded.report_errors(common);
        let file = loaded.shown_file();
        let supervisor = loaded.supervisor;
        let catalog = Arc::clone(&supervisor.catalog().borrow());
        let view = self.viewer.view(&catalog, common)?;
        if let Some(why) = why {
            live::note(common, &format!("this command loaded the plugins itself: {why}"));
            self.print_plugins(&plugins(&supervisor))?;
        } else {
            let kinds = self.kind.map_or(ListKind::ALL.to_vec(), |kind| vec![kind]);
            let lists = kinds.into_iter().map(|kind| (kind.name(), kind.items(&supervisor, &view)));
            let lists = lists.collect::<Vec<_>>();
            self.print_lists(&lists)?;
            if lists.iter().all(|(_, items)| items.is_empty()) {
                live::note(common, &format!("there is nothing to list; the configuration is `{file}`"));
            }
        }
        Ok(ExitKind::Success)
    }

    /// Lists the items of the gateway at an endpoint.
    async fn run_remote(&self, url: &Url, common: &CommonOptions) -> CommandResult {
        if matches!(self.kind, Some(ListKind::Plugins)) {
            let message = "`--url` can't list plugins, because clients don't see them";
            let hint = "use the admin listener: `moongate list plugins --admin ADDR`";
            return Err(CommandError::new(ExitKind::Usage).message(message, Some(hint)));
        }
        let config = common.config.as_deref();
        self.print_lists(&remote_lists(url, self.kind, config, &self.place.tls).await?)?;
        Ok(ExitKind::Success)
    }

    /// Prints one list, or all lists with their names.
    fn print_lists(&self, lists: &[(&str, Vec<Value>)]) -> Result<()> {
        match (self.format, self.kind) {
            (OutputFormat::Json, _) => {
                let lists = lists.iter().map(|(name, items)| ((*name).to_owned(), json!(items)));
                print::json(&Value::Object(lists.collect::<Map<_, _>>()))
            }
            (OutputFormat::Text, Some(_)) => {
                print::untrusted(&lists.iter().map(|(_, items)| table(items, "")).collect::<String>())
            }
            (OutputFormat::Text, None) => print::untrusted(&sections(lists)),
        }
    }

    /// Prints plugins.
    fn print_plugins(&self, plugins: &[Value]) -> Result<()> {
        match self.format {
            OutputFormat::Json => print::json(&json!({ "plugins": plugins })),
            OutputFormat::Text => print::untrusted(&live::plugins_table(plugins)),
        }
    }
}

/// All lists that aren't empty, with their names.
fn sections(lists: &[(&str, Vec<Value>)]) -> String {
    let filled = lists.iter().filter(|(_, items)| !items.is_empty());
    filled.map(|(name, items)| format!("{name}\n{}", table(items, "  "))).collect::<Vec<_>>().join("\n")
}

/// A table of names and the first sentences of descriptions.
fn table(items: &[Value], indent: &str) -> String {
    let rows: Vec<(String, String)> = items
        .iter()
        .map(|item| {
            // Resources also have names, but their URIs identify them.
            let name = ["uri", "uriTemplate", "id", "name"].iter().find_map(|key| item[key].as_str());
            let about = ["description", "title"].iter().find_map(|key| item[key].as_str());
            // Errors aren't shortened.
            let reason = item["trouble"]["reason"].as_str().and_then(|reason| reason.lines().next());
            let about = about.map(print::summary).or(reason.map(print::inline)).unwrap_or_default();
            (print::inline(name.unwrap_or_default()), about)
        })
        .collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    rows.iter()
        .map(|(name, about)| format!("{indent}{}\n", format!("{name:width$}  {about}").trim_end()))
        .collect()
}

/// An object of the members that have a value.
fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let there = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect())
}

fn text(text: &Option<String>) -> Option<Value> {
    text.as_ref().map(|text| json!(text))
}

/// The plugins as in `/status.json`, except that those loaded by this command are `usable`: they don't serve clients.
fn plugins(supervisor: &Supervisor) -> Vec<Value> {
    let mut plugins = admin::plugin_documents(&(supervisor.status_reader())());
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

/// The plugins of which something is visible, or all plugins of a whole catalog.
fn visible_plugins(supervisor: &Supervisor, view: &Catalog) -> Vec<Value> {
    let mut all = plugins(supervisor);
    if view.role_names().is_some() {
        all.retain(|plugin| view.plugins().iter().any(|shown| plugin["id"] == shown.id().as_str()));
    }
    all
}

fn tools(catalog: &Catalog) -> Vec<Value> {
    let entries = catalog.tools().iter().map(|entry| {
        let tool = entry.tool();
        object([
            ("name", Some(json!(entry.public_name().as_str()))),
            ("plugin", Some(json!(entry.plugin().id().as_str()))),
            ("title", text(&tool.title)),
            ("description", Some(json!(entry.description()))),
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
            ("plugin", Some(json!(entry.plugin().id().as_str()))),
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
            ("plugin", Some(json!(entry.plugin().id().as_str()))),
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
            ("name", Some(json!(entry.public_name().as_str()))),
            ("plugin", Some(json!(entry.plugin().id().as_str()))),
            ("title", text(&prompt.title)),
            ("description", Some(json!(prompt.description))),
            ("arguments", Some(arguments.collect())),
        ])
    });
    entries.collect()
}

/// The items of one kind, or of all kinds that clients see, at an endpoint.
async fn remote_lists(
    url: &Url,
    kind: Option<ListKind>,
    config: Option<&Path>,
    tls: &ClientTlsOptions,
) -> Result<Vec<(&'static str, Vec<Value>)>, CommandError> {
    let timeout = Duration::from_secs(DEFAULT_TIMEOUT_SECS);
    let remote = McpClient::new(url.clone(), config, tls, json!({}), timeout)?;
    remote.warn_if_token_exposed();
    let mut lists = Vec::new();
    for kind in kind.map_or(ListKind::ALL.to_vec(), |kind| vec![kind]) {
        let Some((method, key)) = list_method(kind) else { continue };
        let items = remote.list(method, key, None).await?;
        lists.push((kind.name(), items.into_iter().map(renamed_schemas).collect()));
    }
    Ok(lists)
}

/// The method and the key of the protocol that list a kind; `None` for those that clients don't see.
fn list_method(kind: ListKind) -> Option<(&'static str, &'static str)> {
    match kind {
        ListKind::Tools => Some(("tools/list", "tools")),
        ListKind::Resources => Some(("resources/list", "resources")),
        ListKind::Templates => Some(("resources/templates/list", "resourceTemplates")),
        ListKind::Prompts => Some(("prompts/list", "prompts")),
        ListKind::Plugins | ListKind::Builtin => None,
    }
}

/// An item with its schemas renamed as in the other lists.
fn renamed_schemas(mut item: Value) -> Value {
    if let Some(members) = item.as_object_mut() {
        for (theirs, ours) in [("inputSchema", "input"), ("outputSchema", "output")] {
            if let Some(schema) = members.remove(theirs) {
                members.insert(ours.to_owned(), schema);
            }
        }
    }
    item
}
