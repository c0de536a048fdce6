//! The arguments of calls, as records contain them.

use std::convert::Infallible;

use moongate_audit::{ArgumentsHash, AuditedArguments};
use moongate_config::{AuditArguments, AuditConfig};
use moongate_model::json::{push_string, type_of_text, visit_elements, visit_members};
use moongate_protocol::dispatch::{CallInput, InputHasher};
use serde_json::value::RawValue;

/// The largest arguments that are recorded themselves, in bytes. Programs that ship logs don't take much longer lines.
const MAX_RECORDED_BYTES: usize = 64 << 10;

/// The recorded value of a masked member.
const MASKED: &str = "\"***\"";

/// The hash of arguments.
pub(super) struct InputHash(pub(super) ArgumentsHash);

impl InputHasher for InputHash {
    fn update(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    fn finish(self: Box<Self>) -> String {
        self.0.finish()
    }
}

/// Records arguments in the configured form.
#[derive(Debug)]
pub(super) struct ArgumentsRecorder {
    form: AuditArguments,
    mask: Vec<String>,
}

impl ArgumentsRecorder {
    pub(super) fn new(config: &AuditConfig) -> Self {
        Self { form: config.arguments, mask: config.mask.clone() }
    }

    /// The recorded arguments of a call that ran. A URI is also a member of its own, which may be cut.
    pub(super) fn record(&self, input: CallInput<'_>, hash: Option<&str>) -> AuditedArguments {
        let text = input.text();
        let is_recorded = self.form == AuditArguments::Full
            && text.len() <= MAX_RECORDED_BYTES
            && !matches!(input, CallInput::Uri(_));
        let value = is_recorded.then(|| self.masked(&text)).flatten();
        AuditedArguments { hmac: hash.map(str::to_owned), bytes: text.len() as u64, value }
    }

    /// The recorded arguments of a refused call: their size.
    pub(super) fn size(input: CallInput<'_>) -> AuditedArguments {
        AuditedArguments { hmac: None, bytes: input.bytes() as u64, value: None }
    }

    /// The value with masked members, on one line.
    fn masked(&self, text: &str) -> Option<Box<RawValue>> {
        let mut out = String::with_capacity(text.len());
        self.write(&mut out, text);
        RawValue::from_string(out).ok()
    }

    /// Appends a value without space between its parts. Scalars keep their text: a number can exceed every type. The
    /// depth is limited, because the text was parsed.
    fn write(&self, out: &mut String, text: &str) {
        let mut is_first = true;
        let mut separate = |out: &mut String| {
            if !std::mem::replace(&mut is_first, false) {
                out.push(',');
            }
        };
        let Ok(()) = match type_of_text(text) {
            "object" => {
                out.push('{');
                let written = visit_members(text, |name, value| {
                    separate(out);
                    push_string(out, &name);
                    out.push(':');
                    if self.mask.iter().any(|masked| masked.eq_ignore_ascii_case(&name)) {
                        out.push_str(MASKED);
                    } else {
                        self.write(out, value);
                    }
                    Ok::<_, Infallible>(())
                });
                out.push('}');
                written
            }
            "array" => {
                out.push('[');
                let written = visit_elements(text, |element| {
                    separate(out);
                    self.write(out, element);
                    Ok::<_, Infallible>(())
                });
                out.push(']');
                written
            }
            _ => {
                out.push_str(text.trim_ascii());
                Ok(())
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(text: &str) -> AuditedArguments {
        let recorder = ArgumentsRecorder { form: AuditArguments::Full, mask: vec!["pin".to_owned()] };
        recorder.record(CallInput::Arguments(text), Some("hash"))
    }

    #[test]
    fn masks_members_and_changes_nothing_else() {
        let deep = format!("{}{{\"Pin\":1}}{}", "[".repeat(120), "]".repeat(120));
        for (text, expected) in [
            ("{}", "{}"),
            (
                "{ \"a\" :\n [ 1e999 , -0, 123456789012345678901, \"\\u2028\\n\" ] }",
                "{\"a\":[1e999,-0,123456789012345678901,\"\\u2028\\n\"]}",
            ),
            (
                "{\"pin\":{\"x\":1},\"a\":[{\"PIN\":2},{\"p\\u0069n\":[3]}]}",
                "{\"pin\":\"***\",\"a\":[{\"PIN\":\"***\"},{\"pin\":\"***\"}]}",
            ),
            ("{\"pins\":\"pin\",\"a\\\"\":null}", "{\"pins\":\"pin\",\"a\\\"\":null}"),
            (&*deep, &*deep.replace("1}", "\"***\"}")),
        ] {
            assert_eq!(recorded(text).value.unwrap().get(), expected, "{text}");
        }
    }

    #[test]
    fn leaves_out_large_arguments() {
        let text = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        let (largest, larger) =
            (recorded(&text(MAX_RECORDED_BYTES)), recorded(&text(MAX_RECORDED_BYTES + 1)));
        assert!(largest.value.is_some());
        assert!(larger.value.is_none() && larger.bytes == MAX_RECORDED_BYTES as u64 + 1);
        assert_eq!(larger.hmac.as_deref(), Some("hash"));
    }
}
