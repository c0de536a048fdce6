//! A tool's schemas as clients see them, which can differ from the plugin's own.
//!
//! Changes here are for display only: arguments and results are checked against the plugin's own schemas.

use serde_json::Value;

use crate::json::Json;
use crate::manifest::Tool;
use crate::policy::PluginPolicy;

use super::header_arguments::{self, HeaderArgument, InvalidAnnotation};
use super::portable::{SchemaSubject, portable};

/// A tool's schemas as clients see them. `None` means that a schema is shown as the plugin wrote it.
#[derive(Debug, Default)]
pub(super) struct ShownSchemas {
    input: Option<Json>,
    output: Option<Json>,
    /// The arguments that headers repeat.
    pub(super) headers: Vec<HeaderArgument>,
}

impl ShownSchemas {
    /// The schemas of a tool that compiled, and the annotations that are removed.
    pub(super) fn of(tool: &Tool, policy: &PluginPolicy) -> (Self, Vec<InvalidAnnotation>) {
        if !policy.portable_schemas && !header_arguments::may_have_annotations(tool.input_schema.get()) {
            return <_>::default();
        }
        let Ok(written) = tool.input_schema.to_value() else { return <_>::default() };
        let mut seen = written.clone();
        let (mut headers, mut wrong) = header_arguments::find_annotations(&mut seen);
        let mut output = None;
        if policy.portable_schemas {
            seen = portable(&seen, SchemaSubject::Arguments);
            // Clients look for annotations in the schema that they see.
            let (left, lost) = header_arguments::find_annotations(&mut seen);
            (headers, wrong) = (left, wrong.into_iter().chain(lost).collect());
            let result = tool.output_schema.as_ref().and_then(|schema| schema.to_value().ok());
            output = result
                .and_then(|written| json_if_changed(&portable(&written, SchemaSubject::Result), &written));
        }
        (Self { input: json_if_changed(&seen, &written), output, headers }, wrong)
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

/// The text of `seen`, if it differs from `written`: an unchanged schema keeps every digit.
fn json_if_changed(seen: &Value, written: &Value) -> Option<Json> {
    (seen != written).then(|| Json::from_value(seen))
}
