//! Test support: a guest in WebAssembly's text format with one tool, `run`, whose body each test provides.
//!
//! The memory has the layout of the contract's records (canonical ABI). Bytes that aren't set are zero, meaning
//! "absent", "empty list" or "the first case".

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The part of WASI's filesystem that lists granted directories.
const FILESYSTEM: &str = "package wasi:filesystem@0.2.0;
    interface types { resource descriptor; }
    interface preopens {
        use types.{descriptor};
        get-directories: func() -> list<tuple<descriptor, string>>;
    }";

/// The parts that differ between guests.
#[derive(Debug, Default)]
pub struct Guest {
    /// Additional lines of its world, such as `import moongate:plugin/log@0.1.0;`.
    pub world: &'static str,
    /// Imports, globals, functions and data of the core module.
    pub fields: &'static str,
    /// The code of `call-tool` before it returns an empty result, which is at 3072.
    pub body: &'static str,
    /// The code of `describe` before it returns.
    pub describe: &'static str,
    /// The code of `list-tools` before it returns. The length of the tool's name is at 2308.
    pub list: &'static str,
    /// The input schema. Empty means `{}`.
    pub schema: &'static str,
}

impl Guest {
    /// A guest whose tool runs this code.
    #[must_use]
    pub fn that(body: &'static str) -> Self {
        Self { body, ..Self::default() }
    }

    /// The component.
    ///
    /// # Panics
    /// The guest's code or world is invalid.
    #[must_use]
    pub fn build(&self) -> Vec<u8> {
        let Self { world, fields, body, describe, list, schema } = self;
        let schema = if schema.is_empty() { "{}" } else { schema };
        let length = schema.len();
        let data = schema.replace('\\', "\\\\").replace('"', "\\\"");
        let world = format!(
            "{world}
            export moongate:plugin/lifecycle@0.1.0;
            export moongate:plugin/tools@0.1.0;"
        );
        let core = format!(
            r#"(module
                {fields}
                (memory (export "memory") 2)
                (global $next (mut i32) (i32.const 65536))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                    (local $at i32)
                    (local.set $at (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
                    (global.set $next (i32.add (local.get $at) (local.get 3)))
                    (block $fits
                        (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
                        (br_if $fits (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))
                        unreachable)
                    (local.get $at))
                (data (i32.const 16) "guest") (data (i32.const 32) "1.0") (data (i32.const 48) "run")
                (data (i32.const 4096) "{data}")
                ;; plugin-info: name, version
                (data (i32.const 1024) "\10\00\00\00\05\00\00\00\20\00\00\00\03\00\00\00")
                (func (export "moongate:plugin/lifecycle@0.1.0#describe") (result i32)
                    {describe}
                    (i32.const 1024))
                ;; ok(list of one), then the tool: name, no title, no description, input-schema
                (data (i32.const 2052) "\00\09\00\00\01\00\00\00")
                (data (i32.const 2304) "\30\00\00\00\03\00\00\00")
                (data (i32.const 2336) "\00\10\00\00")
                (func (export "moongate:plugin/tools@0.1.0#list-tools") (result i32)
                    {list}
                    (i32.store (i32.const 2340) (i32.const {length}))
                    (i32.const 2048))
                (func (export "moongate:plugin/tools@0.1.0#call-tool")
                    (param $name i32) (param i32) (param $args i32) (param $args-length i32) (result i32)
                    {body}
                    (i32.const 3072)))"#
        );
        component(&world, &core)
    }
}

/// Wraps a core module in the types of one of the contract's worlds.
///
/// # Panics
/// The module or the world is invalid.
#[must_use]
pub fn component(world: &str, core: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit")).unwrap();
    if world.contains("wasi:filesystem/") {
        resolve.push_str("filesystem.wit", FILESYSTEM).unwrap();
    }
    let package =
        resolve.push_str("guest.wit", &format!("package test:guest; world guest {{ {world} }}")).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut module = wat::parse_str(core).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}
