//! What a plugin's file may hold that can't be used, each made from a version that could.

use std::fs;
use std::path::Path;

use moongate_generated::{Behaviour, Plugin};

/// The name of a tool that another plugin has.
pub const TAKEN: &str = "taken";

/// Exports one function of `lifecycle` with a type that isn't the contract's.
const WRONG_SIGNATURE: &str = r#"(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $l (export "describe" (func $f)))
  (export "moongate:plugin/lifecycle@0.1.0" (instance $l)))"#;

/// The largest file that a plugin's table should allow, so that a small one can be too large.
pub const LARGEST: &str = "200KiB";

/// What is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// It has no bytes.
    Empty,
    /// It ends in the middle.
    Truncated,
    /// It is a script.
    Text,
    /// A function has another type than the contract's.
    WrongSignature,
    /// It offers the tool [`TAKEN`].
    Conflict,
    /// `describe` crashes.
    TrapsInDescribe,
    /// `describe` loops for ever.
    LoopsInDescribe,
    /// `list-tools` crashes.
    TrapsInList,
    /// `list-tools` loops for ever.
    LoopsInList,
    /// It is larger than [`LARGEST`].
    Oversized,
    /// It is machine code.
    Precompiled,
    /// A folder stands in its place.
    ReadFailure,
}

impl Broken {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Empty,
        Self::Truncated,
        Self::Text,
        Self::WrongSignature,
        Self::Conflict,
        Self::TrapsInDescribe,
        Self::LoopsInDescribe,
        Self::TrapsInList,
        Self::LoopsInList,
        Self::Oversized,
        Self::Precompiled,
        Self::ReadFailure,
    ];

    /// Words that the message to the operator must hold.
    #[must_use]
    pub fn said(self) -> &'static [&'static str] {
        match self {
            Self::Empty => &["empty"],
            Self::Truncated => &["broken"],
            Self::Text => &["no WebAssembly component"],
            Self::WrongSignature => &["`describe`"],
            Self::Conflict => &["taken"],
            Self::TrapsInDescribe => &["`lifecycle.describe` failed"],
            Self::LoopsInDescribe => &["`lifecycle.describe` failed", "longer than"],
            Self::TrapsInList => &["`tools.list-tools` failed"],
            Self::LoopsInList => &["`tools.list-tools` failed", "longer than"],
            Self::Oversized => &["at most 200"],
            Self::Precompiled => &["machine code"],
            Self::ReadFailure => &["is a directory"],
        }
    }

    /// Puts it in the place of `file`; `version` is what it would have been. `precompiled` is machine code, made by the
    /// gateway.
    ///
    /// # Panics
    /// The system doesn't let it.
    pub fn put(self, file: &Path, version: u32, precompiled: &[u8]) {
        let plugin = Plugin::version(version);
        let bytes = match self {
            Self::Empty => Vec::new(),
            Self::Truncated => {
                let mut bytes = plugin.build();
                bytes.truncate(bytes.len() / 2);
                bytes
            }
            Self::Text => b"#!/bin/sh\necho hello\n".to_vec(),
            Self::WrongSignature => wat::parse_str(WRONG_SIGNATURE).expect("a component in text form"),
            Self::Conflict => plugin.tool(TAKEN).build(),
            Self::TrapsInDescribe => plugin.describe(Behaviour::Traps).build(),
            Self::LoopsInDescribe => plugin.describe(Behaviour::NeverEnds).build(),
            Self::TrapsInList => plugin.list(Behaviour::Traps).build(),
            Self::LoopsInList => plugin.list(Behaviour::NeverEnds).build(),
            Self::Oversized => plugin.padding(300 << 10).build(),
            Self::Precompiled => precompiled.to_vec(),
            Self::ReadFailure => {
                fs::remove_file(file).expect("a file is removed");
                return fs::create_dir(file).expect("a folder is made");
            }
        };
        let beside = file.with_extension("new");
        fs::write(&beside, bytes).expect("a file is written");
        fs::rename(beside, file).expect("a file is renamed");
    }

    /// Takes away what no file can be put in place of.
    ///
    /// # Panics
    /// The system doesn't let it.
    pub fn clear(self, file: &Path) {
        if self == Self::ReadFailure {
            fs::remove_dir(file).expect("a folder is removed");
        }
    }
}
