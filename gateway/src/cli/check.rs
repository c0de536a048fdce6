//! `check`: reports all problems of the configuration and the plugins, without serving.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use moongate_config::{
    ConfigSource, Diagnostic, DirGrant, DirMode, EntryKind, LoadedConfig, PluginConfig, ProcessEnvironment,
    nearest_path,
};
use moongate_model::names::PluginId;
use moongate_model::text::escaped_line;
use moongate_protocol::catalog::CatalogPlugin;
use serde_json::{Value, json};

use crate::cli::error::CommandResult;
use crate::cli::print::MAX_LINE_CHARS;
use crate::cli::stderr::describe_diagnostic;
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, print};
use crate::supervisor::{CatalogTotals, Supervisor, SupervisorOptions};
use crate::telemetry::{CollectedWarning, take_collected_warnings};

mod roles;

/// Check the configuration and every plugin, and report all problems
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate check
  moongate check --deny-warnings                in CI
  moongate check --print-resolved > now.toml    the effective configuration
  moongate check --config /etc/moongate/gateway.toml --format json")]
pub(super) struct Check {
    /// Treat warnings as errors
    #[arg(long)]
    deny_warnings: bool,
    /// Also print the effective configuration, with defaults, variables and absolute paths, but without the values of
    /// secrets
    #[arg(long)]
    print_resolved: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

impl Check {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let loaded = configuration::read(common.config.as_deref()).require_http();
        let resolved = if self.print_resolved {
            moongate_config::resolved_config(&loaded, &ProcessEnvironment)
        } else {
            None
        };
        let LoadedConfig { source, config, mut problems, .. } = loaded;
        let mut totals = None;
        if let Some(config) = config {
            // Where state is kept doesn't matter here, only whether it outlives the gateway.
            let state = config.state.clone().or_else(|| config.store.as_ref().map(|_| PathBuf::new()));
            let secret_files = config.secret_files.clone();
            let supervisor = Supervisor::start(config, SupervisorOptions::inspecting()).await?;
            problems.extend_from_slice(supervisor.problems());
            problems.extend(supervisor.state_problem().await);
            problems.extend(supervisor.cache_problem());
            let catalog = Arc::clone(&supervisor.catalog().borrow());
            for catalog_plugin in catalog.plugins() {
                let Some(config) = supervisor.plugin_config(catalog_plugin.id()) else { continue };
                problems.extend(grant_mismatches(catalog_plugin, config, state.as_deref()));
                problems.extend(inaccessible_dirs(config));
            }
            if supervisor.totals().failed == 0 {
                problems.extend(roles::unmatched_patterns(&catalog));
            }
            problems.extend(logged_warnings(&supervisor));
            problems.sort_by_key(|problem| problem.span.as_ref().map_or(0, |place| place.start));
            totals = Some(supervisor.totals());
            problems.extend(without_plugins(supervisor.totals()));
            problems.extend(secret_files.iter().filter_map(|file| world_readable(file)));
        }
        configuration::complete_commands(&mut problems, common);
        let verdict = self.verdict(&problems);
        match self.format {
            OutputFormat::Json => {
                let mut document = document(&problems, &source, totals);
                document["ok"] = json!(verdict == ExitKind::Success);
                if let Some(resolved) = resolved {
                    document["resolved"] = json!(resolved);
                }
                print::json(&document)?;
            }
            OutputFormat::Text => {
                print::diagnostics(&problems, &source);
                match (totals, resolved) {
                    (_, Some(resolved)) => print::stdout(&resolved)?,
                    (Some(totals), None) if verdict == ExitKind::Success => {
                        print::stdout(&format!("ok: {}\n", summary(totals)))?;
                    }
                    (Some(_) | None, None) => {}
                }
                if verdict != ExitKind::Success {
                    print::stderr_lines(&problem_count(&problems, &source, self.deny_warnings));
                }
            }
        }
        Ok(verdict)
    }

    /// The exit code for these problems.
    fn verdict(&self, problems: &[Diagnostic]) -> ExitKind {
        let counts = |problem: &Diagnostic| problem.is_error() || self.deny_warnings;
        if problems.iter().any(counts) { ExitKind::Configuration } else { ExitKind::Success }
    }
}

/// The warnings that were only logged while the plugins were loaded.
fn logged_warnings(supervisor: &Supervisor) -> Vec<Diagnostic> {
    let problem = |CollectedWarning { plugin, message }: CollectedWarning| {
        let message = escaped_line(&message, MAX_LINE_CHARS);
        let id = plugin.and_then(|plugin| PluginId::new(&plugin).ok());
        let Some(id) = id else { return Diagnostic::warning(message) };
        let problem = if message.contains(&format!("`{id}`")) {
            Diagnostic::warning(message)
        } else {
            Diagnostic::warning(format!("plugin `{id}`: {message}"))
        };
        match supervisor.plugin_config(&id) {
            Some(config) => problem.with_span(config.span.clone()),
            None => problem,
        }
    };
    take_collected_warnings().into_iter().map(problem).collect()
}

/// Warns of a configuration without plugins, which is valid but probably not intended.
fn without_plugins(totals: CatalogTotals) -> Option<Diagnostic> {
    (totals.plugins == 0 && totals.failed == 0).then(|| {
        Diagnostic::warning("no plugins are configured, so nothing is served")
            .with_hint("add one, such as `moongate add time`; `moongate list builtin` lists more")
    })
}

/// Warns of a secret file that every user of the machine can read, if it belongs to this user. Files in a container
/// belong to another user.
#[cfg(unix)]
fn world_readable(file: &Path) -> Option<Diagnostic> {
    use std::os::unix::fs::MetadataExt as _;

    let found = std::fs::metadata(file).ok()?;
    let is_open = found.mode() & 0o004 != 0 && found.uid() == rustix::process::geteuid().as_raw();
    let is_reached = file
        .ancestors()
        .skip(1)
        .all(|above| std::fs::metadata(above).is_ok_and(|above| above.mode() & 0o001 != 0));
    (is_open && is_reached && !file.starts_with("/run/secrets")).then(|| {
        Diagnostic::warning(format!(
            "every user of this machine can read the secret file `{}`",
            file.display()
        ))
        .with_hint(format!("run `chmod 600 {}`", file.display()))
    })
}

#[cfg(not(unix))]
fn world_readable(_file: &Path) -> Option<Diagnostic> {
    None
}

/// Warns of granted directories that don't exist or that the gateway's user can't access.
#[cfg(unix)]
fn inaccessible_dirs(config: &PluginConfig) -> Vec<Diagnostic> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};

    let may = |dir: &DirGrant, access| accessat(CWD, &dir.host_path, access, AtFlags::EACCESS).is_ok();
    let lacking = |dir: &DirGrant| match dir.mode {
        _ if !may(dir, Access::READ_OK | Access::EXEC_OK) => Some("read"),
        DirMode::ReadWrite if !may(dir, Access::WRITE_OK) => Some("write to"),
        DirMode::ReadOnly | DirMode::ReadWrite => None,
    };
    let warning = |dir: &DirGrant| {
        let host = dir.host_path.display();
        let problem = if matches!(dir.host_path.try_exists(), Ok(false)) {
            let near = nearest_path(&dir.host_path, EntryKind::Directory);
            let hint = near.map_or_else(
                || "create it, or correct or remove the grant".to_owned(),
                |near| format!("did you mean `{}`?", near.display()),
            );
            Diagnostic::warning(format!("the granted directory `{host}` doesn't exist")).with_hint(hint)
        } else {
            let what = lacking(dir)?;
            Diagnostic::warning(format!("the gateway's user can't {what} the granted directory `{host}`"))
                .with_hint("change its owner or mode with `chown` or `chmod`, or grant another directory")
        };
        Some(problem.with_span(dir.span.clone()))
    };
    config.allow.dirs.iter().filter_map(warning).collect()
}

#[cfg(not(unix))]
fn inaccessible_dirs(_config: &PluginConfig) -> Vec<Diagnostic> {
    Vec::new()
}

/// The number of errors and warnings, in words.
fn problem_count(problems: &[Diagnostic], source: &ConfigSource, deny_warnings: bool) -> String {
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let warnings = match problems.len() - errors {
        0 => String::new(),
        warnings => format!(", {}", print::count(warnings, "warning")),
    };
    let denied = if deny_warnings && errors == 0 { "; `--deny-warnings` makes warnings fail" } else { "" };
    format!(
        "\n{}{warnings} in `{}`{denied}\n",
        print::count(errors, "error"),
        print::inline(&source.path.to_string_lossy())
    )
}

/// The plugin's needs that aren't granted, and the grants that it doesn't need.
pub(super) fn grant_mismatches(
    catalog_plugin: &CatalogPlugin,
    config: &PluginConfig,
    state: Option<&Path>,
) -> Vec<Diagnostic> {
    let plugin = catalog_plugin.plugin();
    let grant_mismatches = |interfaces| config.grant_warnings(interfaces, &plugin.manifest().info, state);
    plugin.interfaces().map(grant_mismatches).unwrap_or_default()
}

/// The number of plugins and of the items that they offer, in words.
pub(super) fn summary(totals: CatalogTotals) -> String {
    let CatalogTotals { plugins, failed: _, tools, resources, templates, prompts } = totals;
    let mut parts = vec![print::count(plugins, "plugin"), print::count(tools, "tool")];
    let others = [(resources, "resource"), (templates, "resource template"), (prompts, "prompt")];
    parts.extend(
        others.iter().filter(|(number, _)| *number > 0).map(|(number, one)| print::count(*number, one)),
    );
    parts.join(", ")
}

fn document(problems: &[Diagnostic], source: &ConfigSource, totals: Option<CatalogTotals>) -> Value {
    let described: Vec<Value> = problems.iter().map(|problem| describe_diagnostic(problem, source)).collect();
    let mut document = json!({
        "file": source.path.to_string_lossy(),
        "problems": described,
    });
    if let Some(CatalogTotals { plugins, failed: refused, tools, resources, templates, prompts }) = totals {
        document["plugins"] = json!({ "ok": plugins, "refused": refused });
        document["tools"] = json!(tools);
        document["resources"] = json!(resources);
        document["templates"] = json!(templates);
        document["prompts"] = json!(prompts);
    }
    document
}
