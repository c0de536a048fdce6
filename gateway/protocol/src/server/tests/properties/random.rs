//! A plugin that returns anything that a host can pass on, from a seed, so that every machine runs the same tests.

use super::*;
use crate::call::{
    BusyReason, Completion, Content, EmbeddedResource, InputNeeded, InputRequest, MediaContent, PluginError,
    PluginErrorDetail, PromptMessage, PromptResult, ReadResult, ResourceBody, ResourceContents, TextContent,
};
use crate::manifest::{Annotations, Icon, IconTheme, JsonMembers, Resource, Role, ToolHints};
use crate::names::ResourceUri;

/// Unknown members that the plugin adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extra {
    Some,
    None,
}

/// Numbers from a seed (xorshift, Marsaglia 2003).
#[derive(Debug, Clone)]
pub(super) struct Random {
    state: u64,
    extra: Extra,
}

const TEXTS: [&str; 10] = [
    "",
    "a",
    "two words",
    "Zürich \u{1F600}",
    "line\nbreak\r\n",
    "\"quoted\\\"",
    "\u{0}\u{1}\u{7f}",
    "\u{2028}\u{2029}",
    "null",
    "{\"jsonrpc\":\"2.0\"}",
];

const URIS: [&str; 6] = [
    "test://a",
    "test://a/b?c=d#e",
    "file:///x%20y",
    "urn:isbn:0451450523",
    "ui://app/main",
    "test://%C3%BC/x",
];

/// Output schemas, each with a matching value and another one.
const OUTPUTS: [(&str, &str, &str); 7] = [
    (
        r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#,
        r#"{"n":1}"#,
        r#"{"n":"1"}"#,
    ),
    (
        r##"{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"number"}}}"##,
        "[1, 2.50]",
        r#"["x"]"#,
    ),
    (r#"{"type":"string"}"#, r#""x""#, "1"),
    (r#"{"enum":[null,1]}"#, "null", "2"),
    (
        r#"{"type":["object","null"],"properties":{"any":true,"none":false}}"#,
        r#"{"any":[]}"#,
        r#"{"none":1}"#,
    ),
    (r#"{"$id":"https://example.com/s","oneOf":[{"type":"boolean"},{"type":"object"}]}"#, "true", "[]"),
    (r#"{"type":"object"}"#, r#"{"a":null}"#, "[]"),
];

const INPUTS: [&str; 4] = [
    r#"{"type":"object"}"#,
    r##"{"type":"object","properties":{"a":true,"b":false,"c":{"$ref":"#/$defs/c"}},"$defs":{"c":{}}}"##,
    r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","anyOf":[{"required":["a"]},{}],"additionalProperties":true}"#,
    r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}}"#,
];

impl Random {
    pub(super) fn new(seed: u64, extra: Extra) -> Self {
        // A small seed would start with small numbers, so its bits are spread first.
        Self { state: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15), extra }
    }

    pub(super) fn below(&mut self, max: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % max as u64).unwrap()
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance(50).then(|| make(self))
    }

    fn several<T>(&mut self, max: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(max + 1)).map(|_| make(self)).collect()
    }

    pub(super) fn text(&mut self) -> String {
        self.pick(&TEXTS).to_owned()
    }

    /// The defaults of a host.
    fn description(&mut self) -> String {
        match self.text() {
            text if text.trim().is_empty() => "described".to_owned(),
            text => text,
        }
    }

    pub(super) fn json(&mut self) -> Json {
        let all = [
            "null",
            "true",
            "-0.0",
            "1e30",
            "123456789012345678901",
            "\"x\"",
            "[]",
            "{}",
            "[null,{\"a\":[1]}]",
        ];
        Json::parse(self.pick(&all)).unwrap()
    }

    fn meta(&mut self) -> JsonMembers {
        let keys = ["com.example/a", "plain", "x.y/z-1"];
        let count = self.below(keys.len() + 1);
        keys.iter().take(count).map(|key| ((*key).to_owned(), self.json())).collect()
    }

    fn extra(&mut self) -> JsonMembers {
        if self.extra == Extra::None || self.chance(50) {
            return Vec::new();
        }
        vec![("laterMember".to_owned(), self.json())]
    }

    fn annotations(&mut self) -> Annotations {
        Annotations {
            audience: self.maybe(|it| it.several(2, |it| it.pick(&[Role::User, Role::Assistant]))),
            priority: self.maybe(|it| it.pick(&[0.0, 0.5, 1.0])),
            last_modified: self.maybe(|_| "2026-01-01T00:00:00Z".to_owned()),
            extra: self.extra(),
        }
    }

    fn icons(&mut self) -> Vec<Icon> {
        self.several(2, |it| Icon {
            src: it.pick(&["https://example.com/i.png", "data:image/png;base64,AAAA"]).to_owned(),
            mime_type: it.maybe(|_| "image/png".to_owned()),
            sizes: it.maybe(|_| vec!["48x48".to_owned(), "any".to_owned()]),
            theme: it.maybe(|it| it.pick(&[IconTheme::Light, IconTheme::Dark])),
            extra: it.extra(),
        })
    }

    fn uri(&mut self) -> ResourceUri {
        ResourceUri::new(self.pick(&URIS)).unwrap()
    }

    fn resource(&mut self) -> Resource {
        Resource {
            uri: self.uri(),
            name: self.text(),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            mime_type: self.maybe(|_| "text/plain".to_owned()),
            size: self.maybe(|it| it.pick(&[0, 1 << 53])),
            icons: self.icons(),
            annotations: self.maybe(Self::annotations),
            meta: self.meta(),
            extra: self.extra(),
        }
    }

    /// All that the plugin offers.
    pub(super) fn fake(&mut self, id: &str) -> Fake {
        let mut fake = Fake::new(id);
        for at in 0..self.below(6) {
            let output = self.maybe(|it| it.below(OUTPUTS.len()));
            let schema = output.map(|at| serde_json::from_str(OUTPUTS[at].0).unwrap());
            // The name identifies the schema.
            let name = format!("t{at}-{}", output.map_or("none".to_owned(), |at| at.to_string()));
            fake = fake.tool(&name, &serde_json::from_str(self.pick(&INPUTS)).unwrap(), schema.as_ref());
            let tool = fake.manifest.tools.last_mut().unwrap();
            tool.title = self.maybe(Self::text);
            tool.description = self.description();
            tool.hints = ToolHints {
                title: self.maybe(Self::text),
                read_only: self.maybe(|it| it.chance(50)),
                destructive: self.maybe(|it| it.chance(50)),
                idempotent: self.maybe(|it| it.chance(50)),
                open_world: self.maybe(|it| it.chance(50)),
                extra: self.extra(),
            };
            (tool.icons, tool.meta, tool.extra) = (self.icons(), self.meta(), self.extra());
        }
        self.others(fake)
    }

    fn others(&mut self, mut fake: Fake) -> Fake {
        let count = self.below(URIS.len() + 1);
        for uri in URIS.into_iter().take(count) {
            let listed = Resource { uri: ResourceUri::new(uri).unwrap(), ..self.resource() };
            fake.manifest.resources.push(listed);
        }
        for at in 0..self.below(3) {
            fake = fake.template(&format!("tpl://host{at}/{{id}}{{?q}}"));
            let listed = self.resource();
            let template = fake.manifest.templates.last_mut().unwrap();
            (template.title, template.description) = (listed.title, listed.description);
            (template.annotations, template.icons) = (listed.annotations, listed.icons);
            (template.mime_type, template.meta, template.extra) =
                (listed.mime_type, listed.meta, listed.extra);
        }
        for at in 0..self.below(4) {
            let arguments: &[&str] = self.pick::<&[&str]>(&[&[], &["a!", "b"], &["c"]]);
            fake = fake.prompt(&format!("p{at}"), arguments);
            let prompt = fake.manifest.prompts.last_mut().unwrap();
            prompt.description = self.description();
            (prompt.title, prompt.icons) = (self.maybe(Self::text), self.icons());
            (prompt.meta, prompt.extra) = (self.meta(), self.extra());
            for argument in &mut prompt.arguments {
                (argument.title, argument.description) = (self.maybe(Self::text), self.maybe(Self::text));
                argument.extra = self.extra();
            }
        }
        fake.manifest.has_completions = true;
        fake
    }

    fn contents(&mut self, uri: ResourceUri) -> ResourceContents {
        let body = match self.chance(50) {
            true => ResourceBody::Text(self.text()),
            false => ResourceBody::Blob(vec![0xFB; self.below(2000)]),
        };
        let mime_type = self.maybe(|_| "x/y".to_owned());
        ResourceContents { uri, mime_type, body, meta: self.meta(), extra: self.extra() }
    }

    fn media(&mut self) -> MediaContent {
        MediaContent {
            data: vec![0xFF; self.below(5)],
            mime_type: "image/png".to_owned(),
            annotations: self.maybe(Self::annotations),
            meta: self.meta(),
            extra: self.extra(),
        }
    }

    pub(super) fn content(&mut self) -> Content {
        match self.below(6) {
            0 => Content::Text(TextContent {
                text: self.text(),
                annotations: self.maybe(Self::annotations),
                meta: self.meta(),
                extra: self.extra(),
            }),
            1 => Content::Image(self.media()),
            2 => Content::Audio(self.media()),
            3 => Content::Link(Box::new(self.resource())),
            4 => Content::Embedded(EmbeddedResource {
                contents: {
                    let uri = self.uri();
                    self.contents(uri)
                },
                annotations: self.maybe(Self::annotations),
                meta: self.meta(),
                extra: self.extra(),
            }),
            _ => {
                Content::Other("hologram".to_owned(), Json::parse(r#"{"type":"hologram","x":null}"#).unwrap())
            }
        }
    }

    /// A question, of a kind that isn't always granted, declared or known.
    fn question(&mut self, at: usize) -> InputRequest {
        let asks = [
            (
                "elicitation/create",
                r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","format":"email","minLength":1}},"required":["a"]}}"#,
            ),
            (
                "elicitation/create",
                r#"{"mode":"form","message":"","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}},"b":{"type":"string","oneOf":[{"const":"x","title":"X"}]},"c":{"type":"integer","default":3}}}}"#,
            ),
            ("elicitation/create", r#"{"mode":"url","message":"m","url":"https://example.com/x"}"#),
            ("elicitation/create", r#"{"message":5}"#),
            (
                "sampling/createMessage",
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":5}"#,
            ),
            (
                "sampling/createMessage",
                r#"{"messages":[{"role":"user","content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}],"maxTokens":5,"tools":[]}"#,
            ),
            ("sampling/createMessage", r#"{"messages":[]}"#),
            ("roots/list", "{}"),
            ("nonsense/method", "{}"),
        ];
        let (method, params) = self.pick(&asks);
        let params = self.chance(90).then(|| Json::parse(params).unwrap());
        InputRequest { key: format!("k{at}"), method: method.to_owned(), params }
    }

    fn questions<T>(&mut self) -> Outcome<T> {
        let count = self.below(3);
        Outcome::NeedInput(InputNeeded {
            requests: (0..count).map(|at| self.question(at)).collect(),
            state: self.maybe(|_| b"state".to_vec()),
            meta: self.meta(),
            extra: self.extra(),
        })
    }

    fn fault(&mut self) -> PluginErrorDetail {
        PluginErrorDetail {
            message: self.text(),
            pointer: self.maybe(|_| "/a".to_owned()),
            data: self.maybe(Self::json),
        }
    }

    fn failure(&mut self) -> CallError {
        let codes = [-32002, -32042, -32020, -32000, -32768, -1, 0, 7, i32::MAX, i32::MIN];
        match self.below(11) {
            0 => CallError::Refused(PluginError::InvalidParams(self.fault())),
            1 => CallError::Refused(PluginError::NotFound(self.fault())),
            2 => CallError::Refused(PluginError::MissingCapability(vec![
                "sampling.tools".to_owned(),
                "extensions.com.example/x".to_owned(),
            ])),
            3 => CallError::Refused(PluginError::Internal(self.fault())),
            4 | 5 => CallError::Refused(PluginError::Custom {
                code: self.pick(&codes),
                message: self.text(),
                data: self.maybe(Self::json),
            }),
            6 => CallError::Timeout(Duration::from_secs(1)),
            7 => CallError::Trap(self.text()),
            8 => CallError::Busy(BusyReason::Gateway),
            9 => CallError::Internal(self.text()),
            _ => CallError::InvalidOutput(self.text()),
        }
    }

    /// A result, questions or a failure.
    fn ends<T>(&mut self, result: impl FnOnce(&mut Self) -> T) -> Result<Outcome<T>, CallError> {
        match self.below(10) {
            0 | 1 => Err(self.failure()),
            2 | 3 => Ok(self.questions()),
            _ => Ok(Outcome::Done(result(self))),
        }
    }

    pub(super) fn tool(&mut self, name: &str) -> Result<Outcome<ToolResult>, CallError> {
        let output = name.rsplit('-').next().and_then(|at| at.parse::<usize>().ok());
        self.ends(|it| ToolResult {
            content: it.several(3, Self::content),
            structured: match output {
                Some(at) => it.chance(90).then(|| {
                    let (_, right, wrong) = OUTPUTS[at];
                    Json::parse(if it.chance(80) { right } else { wrong }).unwrap()
                }),
                None => it.maybe(Self::json),
            },
            is_error: it.chance(20),
            meta: it.meta(),
            extra: it.extra(),
        })
    }

    pub(super) fn read(&mut self, uri: &str) -> Result<Outcome<ReadResult>, CallError> {
        self.ends(|it| ReadResult {
            contents: it.several(2, |it| it.contents(ResourceUri::new(uri).unwrap())),
            ttl: it.maybe(|it| it.pick(&[Duration::ZERO, Duration::from_nanos(1), Duration::MAX])),
            is_shareable: it.chance(50),
            meta: it.meta(),
            extra: it.extra(),
        })
    }

    pub(super) fn prompt(&mut self) -> Result<Outcome<PromptResult>, CallError> {
        self.ends(|it| PromptResult {
            description: it.maybe(Self::text),
            messages: it.several(3, |it| PromptMessage {
                role: it.pick(&[Role::User, Role::Assistant]),
                content: it.content(),
                extra: it.extra(),
            }),
            meta: it.meta(),
            extra: it.extra(),
        })
    }

    pub(super) fn completion(&mut self) -> Result<Completion, CallError> {
        if self.chance(20) {
            return Err(self.failure());
        }
        Ok(Completion {
            values: vec![self.text(); self.below(130)],
            total: self.maybe(|it| u32::try_from(it.below(200)).unwrap()),
            has_more: self.maybe(|it| it.chance(50)),
            meta: self.meta(),
            extra: self.extra(),
        })
    }

    /// The messages while it runs.
    pub(super) fn notify(&mut self, sink: &dyn crate::call::CallSink) {
        let numbers = [0.0, -1.0, 0.5, 1e300, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE];
        for _ in 0..self.below(6) {
            if self.chance(50) {
                let (now, total) = (self.pick(&numbers), self.maybe(|it| it.pick(&numbers)));
                let message = self.maybe(Self::text);
                sink.progress(now, total, message.as_deref());
            } else {
                let level = self.pick(&[LogLevel::Debug, LogLevel::Info, LogLevel::Emergency]);
                let logger = self.maybe(Self::text);
                sink.log(level, logger.as_deref(), &self.json());
            }
        }
    }
}
