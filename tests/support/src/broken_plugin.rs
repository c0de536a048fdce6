//! Broken plugin files, each built from a working version.

use std::fs;
use std::path::Path;

use moongate_generated::{Behaviour, Plugin};

/// The name of a tool that another plugin already offers.
pub const TAKEN_TOOL: &str = "taken";

/// Exports one function of `lifecycle` with a wrong type.
const WRONG_SIGNATURE: &str = r#"(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $l (export "describe" (func $f)))
  (export "moongate:plugin/lifecycle@0.1.0" (instance $l)))"#;

/// The file size limit to configure for the plugin, low enough for a small file to exceed it.
pub const MAX_FILE_SIZE: &str = "200KiB";

/// A way in which a plugin file is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokenPlugin {
    /// An empty file.
    Empty,
    /// A file cut off in the middle.
    Truncated,
    /// A shell script.
    Text,
    /// A function whose type differs from the contract.
    WrongSignature,
    /// A plugin that offers the tool [`TAKEN_TOOL`].
    Conflict,
    /// `describe` traps.
    TrapsInDescribe,
    /// `describe` loops forever.
    LoopsInDescribe,
    /// `list-tools` traps.
    TrapsInList,
    /// `list-tools` loops forever.
    LoopsInList,
    /// A file larger than [`MAX_FILE_SIZE`].
    Oversized,
    /// Precompiled machine code.
    Precompiled,
    /// A directory in place of the file.
    Unreadable,
}

impl BrokenPlugin {
    /// All variants.
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
        Self::Unreadable,
    ];

    /// Words that the error message must contain.
    #[must_use]
    pub fn expected_words(self) -> &'static [&'static str] {
        match self {
            Self::Empty => &["empty"],
            Self::Truncated => &["broken"],
            Self::Text => &["isn't a WebAssembly component"],
            Self::WrongSignature => &["`describe`"],
            Self::Conflict => &["taken"],
            Self::TrapsInDescribe => &["`lifecycle.describe` failed"],
            Self::LoopsInDescribe => &["`lifecycle.describe` failed", "exceeded the"],
            Self::TrapsInList => &["`tools.list-tools` failed"],
            Self::LoopsInList => &["`tools.list-tools` failed", "exceeded the"],
            Self::Oversized => &["instead of 200"],
            Self::Precompiled => &["machine code"],
            Self::Unreadable => &["is a directory"],
        }
    }

    /// Replaces `file` with a broken build of `version`. `precompiled` is machine code compiled by the gateway.
    ///
    /// # Panics
    /// If a file operation fails.
    pub fn write_to(self, file: &Path, version: u32, precompiled: &[u8]) {
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
            Self::Conflict => plugin.tool(TAKEN_TOOL).build(),
            Self::TrapsInDescribe => plugin.describe(Behaviour::Traps).build(),
            Self::LoopsInDescribe => plugin.describe(Behaviour::NeverEnds).build(),
            Self::TrapsInList => plugin.list(Behaviour::Traps).build(),
            Self::LoopsInList => plugin.list(Behaviour::NeverEnds).build(),
            Self::Oversized => plugin.padding(300 << 10).build(),
            Self::Precompiled => precompiled.to_vec(),
            Self::Unreadable => {
                fs::remove_file(file).expect("remove the file");
                return fs::create_dir(file).expect("create the directory");
            }
        };
        let new_file = file.with_extension("new");
        fs::write(&new_file, bytes).expect("write the file");
        fs::rename(new_file, file).expect("rename the file");
    }

    /// Removes a directory that a file can't replace.
    ///
    /// # Panics
    /// If a file operation fails.
    pub fn clear(self, file: &Path) {
        if self == Self::Unreadable {
            fs::remove_dir(file).expect("remove the directory");
        }
    }
}
