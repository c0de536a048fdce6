//! Values of the contract's types, chosen by bytes. Where the bytes have come to an end, each choice is the plain one,
//! so that short texts make plugins and answers that can be used.

use crate::host::bindings::{completions, lifecycle, prompts, resources, tools, types};

/// What texts are made of.
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

/// JSON texts, and such as are none.
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

/// Schemas, and such as are none.
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

/// URIs, and such as are none.
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

/// A walk through bytes.
pub(super) struct Wild<'a> {
    left: &'a [u8],
}

impl<'a> Wild<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// A number below `most`; 0 at the end.
    fn below(&mut self, most: usize) -> usize {
        let Some((first, rest)) = self.left.split_first() else { return 0 };
        self.left = rest;
        usize::from(*first) % most
    }

    /// Half of the time, while there are bytes.
    fn chance(&mut self) -> bool {
        self.below(2) == 1
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance().then(|| make(self))
    }

    /// One to three.
    pub(super) fn list<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..=self.below(3)).map(|_| make(self)).collect()
    }

    /// Any text.
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

    /// One of these, as a rule; else any text.
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
        self.list(|wild| (wild.one(&keys), wild.json()))
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
            sizes: self.maybe(|wild| wild.list(Self::text)),
            theme: self.maybe(|_| types::IconTheme::Dark),
            extra: self.maybe(Self::entries),
        }
    }

    fn icons(&mut self) -> Option<Vec<types::Icon>> {
        self.maybe(|wild| wild.list(Self::icon))
    }

    fn annotations(&mut self) -> types::Annotations {
        types::Annotations {
            audience: self.maybe(|wild| wild.list(Self::role)),
            priority: self.maybe(|wild| [0.5, 0.0, 1.0, 2.0, f64::NAN, f64::INFINITY, -0.0][wild.below(7)]),
            last_modified: self.maybe(|wild| wild.one(&["2026-01-01T00:00:00Z", "yesterday"])),
            extra: self.maybe(Self::entries),
        }
    }

    fn role(&mut self) -> types::Role {
        if self.chance() { types::Role::Assistant } else { types::Role::User }
    }

    // --- what a plugin says of itself ---

    pub(super) fn info(&mut self) -> lifecycle::PluginInfo {
        lifecycle::PluginInfo {
            name: self.text(),
            version: self.text(),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            website_url: self.maybe(|wild| wild.one(&URIS)),
            icons: self.icons(),
            instructions: self.maybe(Self::text),
            config_schema: self.maybe(|wild| wild.one(&SCHEMAS)),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    pub(super) fn tool(&mut self) -> tools::Tool {
        tools::Tool {
            name: self.one(&["tool", "other", "third", "a-b_c"]),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            input_schema: self.one(&SCHEMAS),
            output_schema: self.maybe(|wild| wild.one(&SCHEMAS)),
            annotations: self.maybe(|wild| tools::ToolAnnotations {
                title: wild.maybe(Self::text),
                read_only: wild.maybe(Self::chance),
                destructive: wild.maybe(Self::chance),
                idempotent: None,
                open_world: wild.maybe(Self::chance),
                extra: wild.maybe(Self::entries),
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
            size: self.maybe(|wild| [0, 1, u64::MAX, 1 << 53][wild.below(4)]),
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
            name: self.one(&["prompt", "other", "third"]),
            title: self.maybe(Self::text),
            description: self.maybe(Self::text),
            args: self.maybe(|wild| {
                wild.list(|wild| prompts::PromptArgument {
                    name: wild.one(&["a", "b", "c"]),
                    title: wild.maybe(Self::text),
                    description: wild.maybe(Self::text),
                    required: None,
                    extra: wild.maybe(Self::entries),
                })
            }),
            icons: self.icons(),
            meta: self.maybe(Self::entries),
            extra: self.maybe(Self::entries),
        }
    }

    // --- what calls come to ---

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
            requests: self.list(|wild| types::InputRequest {
                key: wild.one(&["a", "b", "\u{202e}"]),
                method: wild.one(&methods),
                params: wild.maybe(|wild| match wild.chance() {
                    false => wild.one(&params),
                    true => wild.json(),
                }),
            }),
            state: self.maybe(|wild| wild.text().into_bytes()),
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
            2 => types::Failure::MissingCapability(self.list(|wild| {
                let names = ["sampling", "elicitation.url", "extensions.com.example/\u{202e}x"];
                names[wild.below(names.len())].to_owned()
            })),
            3 => types::Failure::Internal(self.fault()),
            _ => types::Failure::Custom(types::CustomFault {
                code: [7, 0, -32601, -32700, -32002, i32::MAX, i32::MIN, 404][self.below(8)],
                message: self.text(),
                data: self.maybe(Self::json),
            }),
        }
    }

    /// A failure, now and then.
    fn or_failure<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Result<T, types::Failure> {
        if self.below(5) == 4 { Err(self.failure()) } else { Ok(make(self)) }
    }

    pub(super) fn called(&mut self) -> Result<tools::CallOutcome, types::Failure> {
        self.or_failure(|wild| match wild.below(5) {
            4 => tools::CallOutcome::NeedInput(wild.questions()),
            _ => tools::CallOutcome::Done(tools::CallResult {
                content: wild.list(Self::content),
                structured: wild.maybe(Self::json),
                is_error: wild.maybe(Self::chance),
                meta: wild.maybe(Self::entries),
                extra: wild.maybe(Self::entries),
            }),
        })
    }

    pub(super) fn read(&mut self) -> Result<resources::ReadOutcome, types::Failure> {
        self.or_failure(|wild| match wild.below(5) {
            4 => resources::ReadOutcome::NeedInput(wild.questions()),
            _ => resources::ReadOutcome::Done(resources::ReadResult {
                contents: wild.list(Self::contents),
                ttl_ms: wild.maybe(|wild| [0, 1, u32::MAX][wild.below(3)]),
                shareable: wild.maybe(Self::chance),
                meta: wild.maybe(Self::entries),
                extra: wild.maybe(Self::entries),
            }),
        })
    }

    pub(super) fn got(&mut self) -> Result<prompts::PromptOutcome, types::Failure> {
        self.or_failure(|wild| match wild.below(5) {
            4 => prompts::PromptOutcome::NeedInput(wild.questions()),
            _ => prompts::PromptOutcome::Done(prompts::PromptResult {
                description: wild.maybe(Self::text),
                messages: wild.list(|wild| prompts::PromptMessage {
                    role: wild.role(),
                    content: wild.content(),
                    extra: wild.maybe(Self::entries),
                }),
                meta: wild.maybe(Self::entries),
                extra: wild.maybe(Self::entries),
            }),
        })
    }

    pub(super) fn completed(&mut self) -> Result<completions::Completion, types::Failure> {
        self.or_failure(|wild| completions::Completion {
            values: wild.list(Self::text),
            total: wild.maybe(|wild| [0, 100, u32::MAX][wild.below(3)]),
            has_more: wild.maybe(Self::chance),
            meta: wild.maybe(Self::entries),
            extra: wild.maybe(Self::entries),
        })
    }
}
