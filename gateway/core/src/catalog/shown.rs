//! A tool's schemas as clients see them, which is not always how the plugin wrote them.
//!
//! Whatever is changed here is changed for looking at only: arguments and results are checked against the plugin's
//! own schemas.

use crate::json::Json;
use crate::manifest::Tool;

use super::annotated::{self, HeaderArgument, Wrong};

/// What clients see of a tool's schemas. Nothing is held of what is shown as the plugin wrote it.
#[derive(Debug, Default)]
pub(super) struct Shown {
    input: Option<Json>,
    output: Option<Json>,
    /// The arguments that headers repeat.
    pub(super) headers: Vec<HeaderArgument>,
}

impl Shown {
    /// Looks at a tool whose schemas were compiled, and tells which annotations are left out.
    pub(super) fn of(tool: &Tool) -> (Self, Vec<Wrong>) {
        let Ok(mut schema) = tool.input_schema.to_value() else { return <_>::default() };
        let (headers, wrong) = annotated::find(&mut schema);
        let input = (!wrong.is_empty()).then(|| Json::from_value(&schema));
        (Self { input, output: None, headers }, wrong)
    }

    /// The schema of the arguments.
    pub(super) fn input<'a>(&'a self, tool: &'a Tool) -> &'a Json {
        self.input.as_ref().unwrap_or(&tool.input_schema)
    }

    /// The schema of the structured result.
    pub(super) fn output<'a>(&'a self, tool: &'a Tool) -> Option<&'a Json> {
        self.output.as_ref().or(tool.output_schema.as_ref())
    }
}
