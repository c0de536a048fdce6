//! `check`: everything that is wrong, without serving anything.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use moongate_core::config::{
    self, DirGrant, DirMode, Loaded, PluginConfig, Problem, ProcessEnvironment, Severity, Source,
};
use moongate_protocol::catalog::Member;
use serde_json::{Value, json};

use crate::cli::failure::Done;
use crate::cli::{Common, Exit, Format, configuration, print};
use crate::supervisor::{Options, Supervisor, Totals};

/// Load the configuration and every plugin, serve nothing, and say all that is wrong
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate check
  moongate check --deny-warnings                in a pipeline
  moongate check --print-resolved > now.toml    what holds: defaults and paths filled in
  moongate check --config /etc/moongate/gateway.toml --format json")]
pub(super) struct Check {
    /// Fail for warnings, too
    #[arg(long)]
    deny_warnings: bool,
    /// Also print the configuration that holds, with defaults, variables and absolute paths filled in; of secrets only
    /// where they are
    #[arg(long)]
    print_resolved: bool,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

impl Check {
    pub(super) async fn run(self, common: &Common) -> Done {
        let loaded = configuration::read(common.config.as_deref()).for_http();
        let resolved =
            if self.print_resolved { config::resolved(&loaded, &ProcessEnvironment) } else { None };
        let Loaded { source, config, mut problems, .. } = loaded;
        let mut totals = None;
        if let Some(config) = config {
            let (state, secret_files) = (config.state.clone(), config.secret_files.clone());
            let supervisor = Supervisor::start(config, Options::looking()).await?;
            problems.extend_from_slice(supervisor.problems());
            problems.extend(supervisor.state_problem().await);
            problems.extend(supervisor.cache_problem());
            let catalog = Arc::clone(&supervisor.catalog().borrow());
            problems.extend(catalog.members().iter().flat_map(|member| {
                supervisor
                    .plugin_config(member.id())
                    .map_or_else(Vec::new, |config| misfits(member, config, state.as_deref()))
            }));
            problems.extend(
                catalog
                    .members()
                    .iter()
                    .filter_map(|member| supervisor.plugin_config(member.id()))
                    .flat_map(|config| closed(config)),
            );
            problems.sort_by_key(|problem| problem.place.as_ref().map_or(0, |place| place.start));
            totals = Some(supervisor.totals());
            problems.extend(without_plugins(supervisor.totals()));
            problems.extend(secret_files.iter().filter_map(|file| open_to_all(file)));
        }
        let verdict = self.verdict(&problems);
        match self.format {
            Format::Json => {
                let mut document = document(&problems, &source, totals);
                document["ok"] = json!(verdict == Exit::Success);
                if let Some(resolved) = resolved {
                    document["resolved"] = json!(resolved);
                }
                print::json(&document)?;
            }
            Format::Text => {
                print::problems(&problems, &source);
                match (totals, resolved) {
                    (_, Some(resolved)) => print::data(&resolved)?,
                    (Some(totals), None) if verdict == Exit::Success => {
                        print::data(&format!("ok: {}\n", summary(totals)))?;
                    }
                    (Some(_) | None, None) => {}
                }
                if verdict != Exit::Success {
                    print::note(&sum(&problems, &source));
                }
            }
        }
        Ok(verdict)
    }

    /// How it ends.
    fn verdict(&self, problems: &[Problem]) -> Exit {
        let counts = |problem: &Problem| problem.is_error() || self.deny_warnings;
        if problems.iter().any(counts) { Exit::Configuration } else { Exit::Success }
    }
}

/// A file without plugins is right, but nobody means it.
fn without_plugins(totals: Totals) -> Option<Problem> {
    (totals.plugins == 0 && totals.refused == 0).then(|| {
        Problem::warning("no plugin is named, so nothing is served")
            .hint("add one, such as `[plugins.time]` with `source = \"time.wasm\"` below it")
    })
}

/// Warns of a secret's file that everybody on the machine may read, where whoever asks can change that: files that a
/// container is given belong to somebody else.
#[cfg(unix)]
fn open_to_all(file: &Path) -> Option<Problem> {
    use std::os::unix::fs::MetadataExt as _;

    let found = std::fs::metadata(file).ok()?;
    let is_open = found.mode() & 0o004 != 0 && found.uid() == rustix::process::geteuid().as_raw();
    let is_reached = file
        .ancestors()
        .skip(1)
        .all(|above| std::fs::metadata(above).is_ok_and(|above| above.mode() & 0o001 != 0));
    (is_open && is_reached && !file.starts_with("/run/secrets")).then(|| {
        Problem::warning(format!("everybody on this machine may read the secret file `{}`", file.display()))
            .hint(format!("`chmod 600 {}`", file.display()))
    })
}

#[cfg(not(unix))]
fn open_to_all(_file: &Path) -> Option<Problem> {
    None
}

/// Warns of granted directories that the gateway's own user may not use as they are granted.
#[cfg(unix)]
fn closed(table: &PluginConfig) -> Vec<Problem> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};

    let may = |dir: &DirGrant, access| accessat(CWD, &dir.host, access, AtFlags::EACCESS).is_ok();
    let lacking = |dir: &DirGrant| match dir.mode {
        _ if !may(dir, Access::READ_OK | Access::EXEC_OK) => Some("read"),
        DirMode::ReadWrite if !may(dir, Access::WRITE_OK) => Some("change"),
        DirMode::ReadOnly | DirMode::ReadWrite => None,
    };
    let closed = table.allow.dirs.iter().filter_map(|dir| Some((dir, lacking(dir)?)));
    let warning = |(dir, what): (&DirGrant, &str)| {
        let host = dir.host.display();
        Problem::warning(format!("the gateway's user may not {what} the granted directory `{host}`"))
            .at(dir.place.clone())
            .hint(format!("let that user {what} it with `chown` or `chmod`, or grant another directory"))
    };
    closed.map(warning).collect()
}

#[cfg(not(unix))]
fn closed(_table: &PluginConfig) -> Vec<Problem> {
    Vec::new()
}

/// How much is wrong, in words.
fn sum(problems: &[Problem], source: &Source) -> String {
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let warnings = match problems.len() - errors {
        0 => String::new(),
        warnings => format!(", {}", print::count(warnings, "warning")),
    };
    format!(
        "\n{}{warnings} in `{}`\n",
        print::count(errors, "error"),
        print::said(&source.path.to_string_lossy())
    )
}

/// What the plugin asks for and isn't granted, and the other way round.
fn misfits(member: &Member, config: &PluginConfig, state: Option<&Path>) -> Vec<Problem> {
    let plugin = member.plugin();
    let misfits = |interfaces| config.misfits(interfaces, &plugin.manifest().info, state);
    plugin.interfaces().map(misfits).unwrap_or_default()
}

/// How much there is, in words.
pub(super) fn summary(totals: Totals) -> String {
    let Totals { plugins, refused: _, tools, resources, templates, prompts } = totals;
    let mut parts = vec![print::count(plugins, "plugin"), print::count(tools, "tool")];
    let others = [(resources, "resource"), (templates, "resource template"), (prompts, "prompt")];
    parts.extend(
        others.iter().filter(|(number, _)| *number > 0).map(|(number, one)| print::count(*number, one)),
    );
    parts.join(", ")
}

fn document(problems: &[Problem], source: &Source, totals: Option<Totals>) -> Value {
    let described: Vec<Value> = problems.iter().map(|problem| describe(problem, source)).collect();
    let mut document = json!({
        "file": source.path.to_string_lossy(),
        "problems": described,
    });
    if let Some(Totals { plugins, refused, tools, resources, templates, prompts }) = totals {
        document["plugins"] = json!({ "ok": plugins, "refused": refused });
        document["tools"] = json!(tools);
        document["resources"] = json!(resources);
        document["templates"] = json!(templates);
        document["prompts"] = json!(prompts);
    }
    document
}

fn describe(problem: &Problem, source: &Source) -> Value {
    let Problem { severity, place, message, label, hint, related } = problem;
    let mut described = json!({
        "severity": match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": message,
    });
    if let Some((line, column)) = place.as_ref().and_then(|place| position(&source.text, place.start)) {
        described["line"] = json!(line);
        described["column"] = json!(column);
    }
    for (name, text) in [("label", label), ("hint", hint)] {
        if let Some(text) = text {
            described[name] = json!(text);
        }
    }
    let related: Vec<Value> = related
        .iter()
        .filter_map(|(place, label)| {
            let (line, column) = position(&source.text, place.start)?;
            Some(json!({ "line": line, "column": column, "label": label }))
        })
        .collect();
    if !related.is_empty() {
        described["related"] = json!(related);
    }
    described
}

/// Line and column of a byte, both from one; columns count characters.
fn position(text: &str, at: usize) -> Option<(usize, usize)> {
    let before = text.get(..at)?;
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    Some((line, before[start..].chars().count() + 1))
}
