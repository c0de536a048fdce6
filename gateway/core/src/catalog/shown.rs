//! A tool's schemas as clients see them, which is not always how the plugin wrote them.
//!
//! Whatever is changed here is changed for looking at only: arguments and results are checked against the plugin's
//! own schemas.

use serde_json::Value;

use crate::json::Json;
use crate::manifest::Tool;
use crate::policy::PluginPolicy;

use super::annotated::{self, HeaderArgument, Wrong};
use super::portable::{Describes, portable};

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
    pub(super) fn of(tool: &Tool, policy: &PluginPolicy) -> (Self, Vec<Wrong>) {
        let Ok(written) = tool.input_schema.to_value() else { return <_>::default() };
        let mut seen = written.clone();
        let (mut headers, mut wrong) = annotated::find(&mut seen);
        let mut output = None;
        if policy.portable_schemas {
            seen = portable(&seen, Describes::Arguments);
            // Clients look for annotations in what they see.
            let (left, lost) = annotated::find(&mut seen);
            (headers, wrong) = (left, wrong.into_iter().chain(lost).collect());
            let result = tool.output_schema.as_ref().and_then(|schema| schema.to_value().ok());
            output = result.and_then(|written| changed(&portable(&written, Describes::Result), &written));
        }
        (Self { input: changed(&seen, &written), output, headers }, wrong)
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

/// The text of `seen`, if it is another than what is `written`: what stays as it is keeps every digit.
fn changed(seen: &Value, written: &Value) -> Option<Json> {
    (seen != written).then(|| Json::from_value(seen))
}
