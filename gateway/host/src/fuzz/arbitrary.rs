//! Values of the contract's types, chosen by bytes. After the last byte, each choice is the plainest one, so that short
//! inputs make valid plugins and results.

use crate::bindings::{completions, lifecycle, prompts, resources, tools, types};

/// The pieces of strings.
const PIECES: [&str; 24] = [
    "word",
    "",
    " ",
    "\n",
    "\r",
    "\t",
    "\u{2028}",
    "\u{0}",
    "\u{7}",
    "\u{1b}[2J",
    "\u{9b}31m",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "\u{e0041}",
    "\u{e0100}",
    "\"",
    "\\",
    "\\u202e",
    "\\ud83d",
    "{\"a\":1}",
    "größer 👩\u{200d}🔬",
    "data: x\n\nevent: forged\n",
];

/// Valid and invalid JSON.
const VALUES: [&str; 20] = [
    r#""word""#,
    "1",
    "null",
    "1.50e3",
    "1e400",
    "-0",
    "[]",
    "{}",
    "{\n\"a\":\r\n[1,2]\t}",
    r#"{"a":1,"a":2}"#,
    r#""\u202e\u001b\b\ud83d\ude00""#,
    r#""\ud83d""#,
    r#"{"type":"hologram","depth":2}"#,
    r#"{"type":"text","text":"\u202ex"}"#,
    r#"{"type":"resource_link","uri":"a:b","name":"\u001bx"}"#,
    r#"{"type":"image","data":"AA==","mimeType":"a/b"}"#,
    r#"{"\u202ekey":"\u202evalue","key":1}"#,
    "{",
    "",
    "\u{feff}1",
];

/// Valid and invalid schemas.
const SCHEMAS: [&str; 10] = [
    r#"{"type":"object"}"#,
    "{}",
    "true",
    r#"{"type":"object","properties":{"a":{"type":"string","description":"\u202ex\u001b"}},"required":["a"]}"#,
    r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}}}"#,
    r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}"##,
    r#"{"type":"object","properties":{"a":{"pattern":"^(a+)+$"}}}"#,
    r#"{"type":"array","items":{"type":"number"}}"#,
    r#"{"type":"object","title":"\u202ex","x-mcp-header":"a"}"#,
    r#"{"type":"object","properties":{"\u202ea":{}}}"#,
];

/// Valid and invalid URIs.
const URIS: [&str; 9] = [
    "a:b",
    "a://c/d",
    "file:///etc/passwd",
    "https://example.com/\u{202e}x",
    "a",
    ":",
    "a:{b}",
    "A:%zz",
    "data:,x",
];

/// A source of values, chosen by bytes.
pub(super) struct Arbitrary<'a> {
    left: &'a [u8],
}

impl<'a> Arbitrary<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// A number below `bound`; 0 after the last byte.
    fn below(&mut self, bound: usize) -> usize {
        let Some((first, rest)) = self.left.split_first() else { return 0 };
        self.left = rest;
        usize::from(*first) % bound
    }

    /// True for half of the bytes; false after the last one.
    fn chance(&mut self) -> bool {
        self.below(2) == 1
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance().then(|| make(self))
    }

    /// A list of one to three items.
    pub(super) fn list<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..=self.below(3)).map(|_| make(self)).collect()
    }

    /// Any string.
    fn text(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(4) {
            match self.below(8) {
                6 => text.push_str(&PIECES[self.below(PIECES.len())].repeat(1 + self.below(256) * 8)),
                7 => {
                    let (raw, rest) = self.left.split_at(self.left.len().min(9));
                    self.left = rest;
                    text.push_str(&String::from_utf8_lossy(raw));
                }
                _ => text.push_str(PIECES[self.below(PIECES.len())]),
            }
        }
        text
    }

    /// Usually one of these, otherwise any string.
    fn one(&mut self, of: &[&str]) -> String {
        match self.below(of.len() + 2) {
            at if at < of.len() => of[at].to_owned(),
            _ => self.text(),
        }
    }

    fn json(&mut self) -> String {
        match self.below(8) {
            6 => serde_json::Value::from(self.text()).to_string(),
            7 => {
                let (left, right) = if self.chance() { ("[", "]") } else { ("{\"a\":", "}") };
                let levels = self.below(256);
                left.repeat(levels) + "1" + &right.repeat(levels)
            }
            _ => self.one(&VALUES),
        }
    }

    fn entries(&mut self) -> types::Entries {
        let keys = [
            "example.com/key",
            "key",
            "_meta",
            "text",
            "traceparent",
            "io.modelcontextprotocol/x",
            "\u{202e}",
        ];
        self.list(|arbitrary| (arbitrary.one(&keys), arbitrary.json()))
    }

    fn icon(&mut self) -> types::Icon {
        types::Icon {
            src: self.one(&[
                "https://example.com/a.png",
                "data:image/png;base64,AA==",
                "javascript:x",
                "https:\u{202e}",
            ]),
            mime_type: self.maybe(Self::text),
            sizes: self.maybe(|arbitrary| arbitrary.list(Self::text)),
            theme: self.maybe(|_| types::IconTheme::Dark),
            extra: self.maybe(Self::entries),
        }
    }

    fn icons(&mut self) -> Option<Vec<types::Icon>> {
        self.maybe(|arbitrary| arbitrary.list(Self::icon))
    }

    fn annotations(&mut self) -> types::Annotations {
        types::Annotations {
            audience: self.maybe(|arbitrary| arbitrary.list(Self::role)),
            priority: self
                .maybe(|arbitrary| [0.5, 0.0, 1.0, 2.0, f64::NAN, f64::INFINITY, -0.0][arbitrary.below(7)]),
            last_modified: self.maybe(|arbitrary| arbitrary.one(&["2026-01-01T00:00:00Z", "yesterday"])),
            extra: self.maybe(Self::entries),
        }
    }

    fn role(&mut self) -> types::Role {
        if self.chance() { types::Role::Assistant } else { types::Role::User }
    }

    // --- descriptions ---

    pub(super) fn info(&mut self) -> lifecycle::PluginInfo {
        lifecycle::PluginInfo {
            name: self.text(),
            version: self.text(),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            website_url: self.maybe(|arbitrary| arbitrary.one(&URIS)),
            icons: self.icons(),
            instructions: self.maybe(Self::text),
            config_schema: self.maybe(|arbitrary| arbitrary.one(&SCHEMAS)),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    pub(super) fn tool(&mut self) -> tools::Tool {
        tools::Tool {
            name: self.one(&["tool", "other", "third", "a-b_c", "a.b", "\u{e4} b", "a\u{202e}", ""]),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            input_schema: self.one(&SCHEMAS),
            output_schema: self.maybe(|arbitrary| arbitrary.one(&SCHEMAS)),
            annotations: self.maybe(|arbitrary| tools::ToolAnnotations {
                title: arbitrary.maybe(Self::text),
                read_only: arbitrary.maybe(Self::chance),
                destructive: arbitrary.maybe(Self::chance),
                idempotent: None,
                open_world: arbitrary.maybe(Self::chance),
                extra: arbitrary.maybe(Self::entries),
            }),
            icons: self.icons(),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    pub(super) fn resource(&mut self) -> types::ResourceInfo {
        types::ResourceInfo {
            uri: self.one(&URIS),
            name: self.text(),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            mime_type: self.maybe(Self::text),
            size: self.maybe(|arbitrary| [0, 1, u64::MAX, 1 << 53][arbitrary.below(4)]),
            icons: self.icons(),
            annotations: self.maybe(Self::annotations),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    pub(super) fn template(&mut self) -> resources::ResourceTemplate {
        resources::ResourceTemplate {
            uri_template: self.one(&["t://u/{x}", "v:w{+x}", "{x}", "t:{", "a:b", "t://\u{202e}/{x}"]),
            name: self.text(),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            mime_type: self.maybe(Self::text),
            icons: self.icons(),
            annotations: self.maybe(Self::annotations),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    pub(super) fn prompt(&mut self) -> prompts::Prompt {
        prompts::Prompt {
            name: self.one(&["prompt", "other", "third", "a b", "a\u{202e}"]),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            args: self.maybe(|arbitrary| {
                arbitrary.list(|arbitrary| prompts::PromptArgument {
                    name: arbitrary.one(&["a", "b", "c"]),
                    title: arbitrary.maybe(Self::text),
                    description: arbitrary.maybe(Self::text),
                    required: None,
                    extra: arbitrary.maybe(Self::entries),
                })
            }),
            icons: self.icons(),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    // --- results of calls ---

    fn content(&mut self) -> types::Content {
        match self.below(6) {
            0 => types::Content::Text(types::TextContent {
                text: self.text(),
                annotations: self.maybe(Self::annotations),
                meta: self.maybe(Self::entries),
                extra: self.maybe(Self::entries),
            }),
            1 => types::Content::Image(self.media()),
            2 => types::Content::Audio(self.media()),
            3 => types::Content::Link(self.resource()),
            4 => types::Content::Embedded(types::EmbeddedResource {
                contents: self.contents(),
                annotations: self.maybe(Self::annotations),
                meta: self.maybe(Self::entries),
                extra: self.maybe(Self::entries),
            }),
            _ => types::Content::Other(self.json()),
        }
    }

    fn media(&mut self) -> types::MediaContent {
        types::MediaContent {
            data: self.text().into_bytes(),
            mime_type: self.text(),
            annotations: self.maybe(Self::annotations),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    fn contents(&mut self) -> types::ResourceContents {
        let text = self.text();
        types::ResourceContents {
            uri: self.one(&URIS),
            mime_type: self.maybe(Self::text),
            body: match self.chance() {
                false => types::ResourceBody::Text(text),
                true => types::ResourceBody::Blob(text.into_bytes()),
            },
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    fn questions(&mut self) -> types::NeedInput {
        let methods = ["elicitation/create", "sampling/createMessage", "roots/list", "tools/call"];
        let params = [
            r#"{"message":"who?","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"\u202ex"}}}}"#,
            r#"{"mode":"url","message":"\u001bgo","url":"https://example.com","elicitationId":"1"}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"\u202ex"}}],"maxTokens":5,"systemPrompt":"\u001bx"}"#,
            "{}",
        ];
        types::NeedInput {
            requests: self.list(|arbitrary| types::InputRequest {
                key: arbitrary.one(&["a", "b", "\u{202e}"]),
                method: arbitrary.one(&methods),
                params: arbitrary.maybe(|arbitrary| match arbitrary.chance() {
                    false => arbitrary.one(&params),
                    true => arbitrary.json(),
                }),
            }),
            state: self.maybe(|arbitrary| arbitrary.text().into_bytes()),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    fn fault(&mut self) -> types::Fault {
        types::Fault { message: self.text(), at: self.maybe(Self::text), data: self.maybe(Self::json) }
    }

    fn failure(&mut self) -> types::Failure {
        match self.below(5) {
            0 => types::Failure::InvalidParams(self.fault()),
            1 => types::Failure::NotFound(self.fault()),
            2 => types::Failure::MissingCapability(self.list(|arbitrary| {
                let names = ["sampling", "elicitation.url", "extensions.com.example/\u{202e}x"];
                names[arbitrary.below(names.len())].to_owned()
            })),
            3 => types::Failure::Internal(self.fault()),
            _ => types::Failure::Custom(types::CustomFault {
                code: [7, 0, -32601, -32700, -32002, i32::MAX, i32::MIN, 404][self.below(8)],
                message: self.text(),
                data: self.maybe(Self::json),
            }),
        }
    }

    /// A failure in one of five cases.
    fn or_failure<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Result<T, types::Failure> {
        if self.below(5) == 4 { Err(self.failure()) } else { Ok(make(self)) }
    }

    pub(super) fn tool_outcome(&mut self) -> Result<tools::CallOutcome, types::Failure> {
        self.or_failure(|arbitrary| match arbitrary.below(5) {
            4 => tools::CallOutcome::NeedInput(arbitrary.questions()),
            _ => tools::CallOutcome::Done(tools::CallResult {
                content: arbitrary.list(Self::content),
                structured: arbitrary.maybe(Self::json),
                is_error: arbitrary.maybe(Self::chance),
                meta: arbitrary.maybe(Self::entries),
                extra: arbitrary.maybe(Self::entries),
            }),
        })
    }

    pub(super) fn read_outcome(&mut self) -> Result<resources::ReadOutcome, types::Failure> {
        self.or_failure(|arbitrary| match arbitrary.below(5) {
            4 => resources::ReadOutcome::NeedInput(arbitrary.questions()),
            _ => resources::ReadOutcome::Done(resources::ReadResult {
                contents: arbitrary.list(Self::contents),
                ttl_ms: arbitrary.maybe(|arbitrary| [0, 1, u32::MAX][arbitrary.below(3)]),
                shareable: arbitrary.maybe(Self::chance),
                meta: arbitrary.maybe(Self::entries),
                extra: arbitrary.maybe(Self::entries),
            }),
        })
    }

    pub(super) fn prompt_outcome(&mut self) -> Result<prompts::PromptOutcome, types::Failure> {
        self.or_failure(|arbitrary| match arbitrary.below(5) {
            4 => prompts::PromptOutcome::NeedInput(arbitrary.questions()),
            _ => prompts::PromptOutcome::Done(prompts::PromptResult {
                description: arbitrary.maybe(Self::text),
                messages: arbitrary.list(|arbitrary| prompts::PromptMessage {
                    role: arbitrary.role(),
                    content: arbitrary.content(),
                    extra: arbitrary.maybe(Self::entries),
                }),
                meta: arbitrary.maybe(Self::entries),
                extra: arbitrary.maybe(Self::entries),
            }),
        })
    }

    pub(super) fn completion(&mut self) -> Result<completions::Completion, types::Failure> {
        self.or_failure(|arbitrary| completions::Completion {
            values: arbitrary.list(Self::text),
            total: arbitrary.maybe(|arbitrary| [0, 100, u32::MAX][arbitrary.below(3)]),
            has_more: arbitrary.maybe(Self::chance),
            meta: arbitrary.maybe(Self::entries),
            extra: arbitrary.maybe(Self::entries),
        })
    }
}
