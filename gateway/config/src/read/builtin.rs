//! The names of built-in plugins in `source`.

use moongate_model::builtin_plugin::{BUILTIN_PREFIX, BuiltinPlugin};

use super::reader::{ConfigReader, TomlString};
use crate::model::Diagnostic;
use crate::model::diagnostic::quoted;

/// True if the value of a `source` names a built-in plugin instead of a file.
pub(crate) fn is_builtin(source: &str) -> bool {
    source.starts_with(BUILTIN_PREFIX)
}

impl ConfigReader<'_> {
    /// The built-in plugin that a `source` names. Reports an unknown one.
    pub(crate) fn builtin(&mut self, text: &TomlString) -> Option<BuiltinPlugin> {
        let name = text.text.strip_prefix(BUILTIN_PREFIX)?;
        let found = BuiltinPlugin::named(name);
        if found.is_none() {
            let problem = Diagnostic::error(format!("unknown built-in plugin: {}", quoted(name)));
            let names = BuiltinPlugin::ALL.map(BuiltinPlugin::name);
            let problem = problem.with_span(text.span.clone()).hint_nearest(name, names.into_iter());
            self.report(problem);
        }
        found
    }
}
