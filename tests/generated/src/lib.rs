//! Small plugins, generated from text in milliseconds. Each version has different bytes, and its tools return the
//! version.
//!
//! For tests and benchmarks of reloading, which need many versions of a plugin. A plugin is a core module in
//! WebAssembly's text format, wrapped in the contract's types. The results of its functions are precomputed in its
//! memory (see `memory`). The binary in this crate writes a plugin to a file, for programs that don't link to the
//! library.

mod memory;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

use crate::memory::Memory;

/// The default tool of every plugin.
pub const TOOL: &str = "version";

/// The behaviour of a function of the plugin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// Returns normally.
    #[default]
    Answers,
    /// Crashes.
    Traps,
    /// Loops forever.
    NeverEnds,
    /// Crashes without an environment variable.
    NeedsVariables,
    /// Crashes with an environment variable.
    RefusesVariables,
}

impl Behaviour {
    fn code(self) -> &'static str {
        match self {
            Self::Answers => "",
            Self::Traps => "unreachable",
            Self::NeverEnds => "(loop $again (br $again))",
            Self::NeedsVariables => "(if (i32.eqz (call $variables)) (then unreachable))",
            Self::RefusesVariables => "(if (call $variables) (then unreachable))",
        }
    }

    fn reads_variables(self) -> bool {
        match self {
            Self::Answers | Self::Traps | Self::NeverEnds => false,
            Self::NeedsVariables | Self::RefusesVariables => true,
        }
    }
}

/// A plugin to generate. Each of its tools takes no arguments and returns the text `v` with the version's number.
#[derive(Debug, Clone)]
pub struct Plugin {
    version: u32,
    tools: Vec<String>,
    describe: Behaviour,
    list: Behaviour,
    rounds: u32,
    functions: u32,
    elements: u32,
    filled_pages: u32,
    schema: String,
    settings: Option<String>,
    padding: usize,
}

impl Plugin {
    /// A plugin with the tool [`TOOL`]. All versions have the same lists.
    #[must_use]
    pub fn version(version: u32) -> Self {
        Self {
            version,
            tools: vec![TOOL.to_owned()],
            describe: Behaviour::Answers,
            list: Behaviour::Answers,
            rounds: 0,
            functions: 0,
            elements: 0,
            filled_pages: 0,
            schema: r#"{"type":"object"}"#.to_owned(),
            settings: None,
            padding: 0,
        }
    }

    /// Sets the JSON Schema of its settings.
    #[must_use]
    pub fn settings(mut self, schema: impl Into<String>) -> Self {
        self.settings = Some(schema.into());
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tools.push(name.into());
        self
    }

    /// Removes a tool.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.tools.retain(|tool| tool != name);
        self
    }

    /// Sets the behaviour of `lifecycle.describe`.
    #[must_use]
    pub fn describe(mut self, behaviour: Behaviour) -> Self {
        self.describe = behaviour;
        self
    }

    /// Sets the behaviour of `tools.list-tools`.
    #[must_use]
    pub fn list(mut self, behaviour: Behaviour) -> Self {
        self.list = behaviour;
        self
    }

    /// Sets the number of loop iterations of each call; a million take about a millisecond.
    #[must_use]
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    /// Adds unused functions, each about a kilobyte of code to compile.
    #[must_use]
    pub fn functions(mut self, functions: u32) -> Self {
        self.functions = functions;
        self
    }

    /// Makes each call grow a table by this number of elements, and crash if it can't.
    #[must_use]
    pub fn elements(mut self, elements: u32) -> Self {
        self.elements = elements;
        self
    }

    /// Makes each call grow its memory by this number of pages (64 KiB), and fill them in one instruction, ten times.
    #[must_use]
    pub fn filled_pages(mut self, pages: u32) -> Self {
        self.filled_pages = pages;
        self
    }

    /// Sets the schema of each tool's arguments.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Appends a number of meaningless bytes.
    #[must_use]
    pub fn padding(mut self, bytes: usize) -> Self {
        self.padding = bytes;
        self
    }

    /// Generates the component.
    ///
    /// # Panics
    /// The contract isn't where this crate was built, or a tool's name can't be written as text.
    #[must_use]
    pub fn build(&self) -> Vec<u8> {
        static CONTRACT: OnceLock<(Resolve, [WorldId; 2])> = OnceLock::new();
        let (resolve, [plain, with_variables]) = CONTRACT.get_or_init(contract);
        let world = if self.reads_variables() { with_variables } else { plain };
        let mut module = wat::parse_str(self.core()).expect("a valid module");
        embed_component_metadata(&mut module, resolve, *world, StringEncoding::UTF8)
            .expect("a world of the contract");
        let encoder = ComponentEncoder::default().module(&module).expect("a module with embedded types");
        let mut component = encoder.validate(true).encode().expect("a module that matches its types");
        pad(&mut component, self.padding);
        component
    }

    fn reads_variables(&self) -> bool {
        self.describe.reads_variables() || self.list.reads_variables()
    }

    /// The core module.
    fn core(&self) -> String {
        let mut memory = Memory::default();
        let info = self.info(&mut memory);
        let list = self.listed(&mut memory);
        let answer = self.answer(&mut memory);
        let data = memory.text();
        let (describe_code, list_code, rounds) = (self.describe.code(), self.list.code(), self.rounds);
        let grow = match self.elements {
            0 => String::new(),
            more => format!(
                "(if (i32.eq (table.grow $t (ref.null func) (i32.const {more})) (i32.const -1)) (then unreachable))"
            ),
        };
        let fill = match self.filled_pages {
            0 => String::new(),
            pages => format!(
                "(if (i32.eq (memory.grow (i32.const {pages})) (i32.const -1)) (then unreachable))
                (local.set $left (i32.const 10))
                (loop $fill
                    (memory.fill (i32.const 262144) (local.get $left) (i32.mul (i32.const {pages}) (i32.const 65536)))
                    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                    (br_if $fill (local.get $left)))"
            ),
        };
        // The list of variables is returned through memory below the data: its address, and its length.
        let (import, variables) = if self.reads_variables() {
            (
                r#"(import "wasi:cli/environment@0.2.0" "get-environment" (func $get (param i32)))"#,
                "(func $variables (result i32) (call $get (i32.const 512)) (i32.load (i32.const 516)))",
            )
        } else {
            ("", "")
        };
        let mut text = format!(
            r#"(module
            {import}
            (memory (export "memory") 4)
            (table $t 1 funcref)
            (global $free (mut i32) (i32.const 131072))
            {data}
            {variables}
            ;; Room is only ever taken: an instance lives for one call.
            (func (export "cabi_realloc") (param i32 i32) (param $align i32) (param $size i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and
                    (i32.add (global.get $free) (i32.sub (local.get $align) (i32.const 1)))
                    (i32.sub (i32.const 0) (local.get $align))))
                (global.set $free (i32.add (local.get $at) (local.get $size)))
                (local.get $at))
            (func (export "moongate:plugin/lifecycle@0.1.0#describe") (result i32)
                {describe_code}
                (i32.const {info}))
            (func (export "moongate:plugin/tools@0.1.0#list-tools") (result i32)
                {list_code}
                (i32.const {list}))
            (func (export "moongate:plugin/tools@0.1.0#call-tool") (param i32 i32 i32 i32) (result i32)
                (local $left i32)
                {grow}
                {fill}
                (local.set $left (i32.const {rounds}))
                (block $done (loop $again
                    (br_if $done (i32.eqz (local.get $left)))
                    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                    (br $again)))
                (i32.const {answer}))
            "#
        );
        for number in 0..self.functions {
            text.push_str(&function(number, self.version));
        }
        text.push(')');
        text
    }

    /// `plugin-info`: name, version and the schema of settings. All other fields are absent.
    fn info(&self, memory: &mut Memory) -> u32 {
        let (name, name_length) = memory.string("generated");
        let (version, version_length) = memory.string(&self.version.to_string());
        let mut words = vec![name, name_length, version, version_length];
        if let Some(schema) = &self.settings {
            let (schema, schema_length) = memory.string(schema);
            words.resize(19, 0); // title, description, address, icons and instructions are before it
            words.extend([1, schema, schema_length]);
        }
        memory.record(&words, 28)
    }

    /// `ok` with a list of tools.
    fn listed(&self, memory: &mut Memory) -> u32 {
        const TOOL_WORDS: usize = 31;
        let (schema, schema_length) = memory.string(&self.schema);
        let mut all = Vec::new();
        for tool in &self.tools {
            let (name, name_length) = memory.string(tool);
            // Name, no title, no description, schema. The other fields are absent.
            all.extend([name, name_length, 0, 0, 0, 0, 0, 0, schema, schema_length]);
            all.resize(all.len().next_multiple_of(TOOL_WORDS), 0);
        }
        let tools = memory.record(&all, all.len());
        memory.record(&[0, tools, self.tools.len() as u32], 16)
    }

    /// `ok` with `done` with one text.
    fn answer(&self, memory: &mut Memory) -> u32 {
        let (text, length) = memory.string(&format!("v{}", self.version));
        let content = memory.record(&[0, 0, text, length], 64);
        memory.record(&[0, 0, content, 1], 32)
    }
}

/// The contract, and two worlds with the exports of these plugins: without imports, and with environment variables.
fn contract() -> (Resolve, [WorldId; 2]) {
    const VARIABLES: &str = "package wasi:cli@0.2.0; interface environment {
        get-environment: func() -> list<tuple<string, string>>; }";
    const WORLDS: &str = "package moongate:generated;
        world plain { export moongate:plugin/lifecycle@0.1.0; export moongate:plugin/tools@0.1.0; }
        world with-variables { include plain; import wasi:cli/environment@0.2.0; }";
    let mut resolve = Resolve::default();
    resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit")).expect("the contract's files");
    resolve.push_str("environment.wit", VARIABLES).expect("a valid interface");
    let package = resolve.push_str("generated.wit", WORLDS).expect("valid worlds");
    let world = |name| resolve.select_world(&[package], Some(name)).expect("one of the two");
    let worlds = [world("plain"), world("with-variables")];
    (resolve, worlds)
}

/// About a kilobyte of code, different for each number and version.
fn function(number: u32, version: u32) -> String {
    const STEPS: u32 = 28;
    let mut text = format!("(func $f{number} (param $a i32) (param $b i32) (result i32)\n");
    let mut chance = number.wrapping_mul(0x9e37_79b9) ^ version.wrapping_mul(0x85eb_ca6b) | 1;
    for step in 0..STEPS {
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (odd, at) = (chance >> 4, 1024 + (chance >> 20) * 4);
        let line = match (chance >> 28) % 4 {
            0 => {
                format!("(local.set $a (i32.xor (i32.mul (local.get $a) (i32.const {odd})) (local.get $b)))")
            }
            1 => {
                format!("(i32.store (i32.const {at}) (i32.add (local.get $a) (i32.load (i32.const {odd}))))")
            }
            2 => format!(
                "(if (i32.gt_u (local.get $b) (i32.const {odd})) (then (local.set $b (i32.rotl (local.get $a) (i32.const {step})))))"
            ),
            _ => format!(
                "(local.set $b (i32.add (i32.load (i32.and (local.get $b) (i32.const 65532))) (i32.const {odd})))"
            ),
        };
        // Each step is followed by a loop whose bound is only known at run time.
        let _ = writeln!(
            text,
            "{line} (loop $l{step} (local.set $a (i32.shr_u (local.get $a) (i32.const 1))) (br_if $l{step} (i32.gt_u (local.get $a) (i32.const {odd}))))"
        );
    }
    text.push_str("(i32.add (local.get $a) (local.get $b)))\n");
    text
}

/// Appends a custom section of this size.
fn pad(component: &mut Vec<u8>, bytes: usize) {
    const NAME: &[u8] = b"\x07padding";
    if bytes == 0 {
        return;
    }
    component.push(0);
    let mut rest = NAME.len() + bytes;
    while rest >= 0x80 {
        component.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    component.push(rest as u8);
    component.extend_from_slice(NAME);
    component.resize(component.len() + bytes, b'.');
}
