//! A tool that isn't there: what was meant by its name, or why it is missing. Used by `call`.

use moongate_protocol::catalog::Catalog;

use crate::cli::failure::Failure;
use crate::cli::{Exit, print};
use crate::supervisor::Supervisor;
use crate::supervisor::status::PluginState;

/// The plugin and its own name for the tool stand there as two words: says so. None: that isn't it.
pub(super) fn two_words<'a>(
    tool: &str,
    pairs: &[String],
    mut names: impl Iterator<Item = &'a str>,
) -> Option<Failure> {
    let (first, rest) = pairs.split_first()?;
    let name = names.find(|name| name.strip_prefix(tool).is_some_and(|end| end.get(1..) == Some(first)))?;
    let words = std::iter::once(name).chain(rest.iter().map(String::as_str));
    let line = words.map(|word| print::word(&print::said(word))).collect::<Vec<_>>().join(" ");
    let message = format!("unknown tool: `{}`", print::said(tool));
    let hint = format!("did you mean the tool `{}`? Write `call {line}`", print::said(name));
    Some(Failure::new(Exit::Tool).says(&message, Some(&hint)))
}

/// The tool's plugin couldn't be loaded, of which all was said: says that this is why. None: that isn't it.
fn of_failed(tool: &str, supervisor: &Supervisor) -> Option<Failure> {
    let status = supervisor.status();
    let status = status.borrow();
    let mut failed = status.plugins.iter().filter(|plugin| matches!(plugin.state, PluginState::Failed(_)));
    let is_its = |id: &str| tool.strip_prefix(id).is_some_and(|end| end.starts_with('_'));
    let plugin = failed.find(|plugin| is_its(plugin.id.as_str()))?;
    let message =
        format!("`{}` can't be called: its plugin `{}` couldn't be loaded", print::said(tool), plugin.id);
    Some(Failure::new(Exit::Configuration).says(&message, Some("mend what is said above")))
}

/// Either of the two, for a tool that isn't in the catalog of this process.
pub(super) fn here(
    tool: &str,
    pairs: &[String],
    supervisor: &Supervisor,
    catalog: &Catalog,
) -> Option<Failure> {
    let names = catalog.tools().iter().map(|entry| entry.public().as_str());
    of_failed(tool, supervisor).or_else(|| two_words(tool, pairs, names))
}
