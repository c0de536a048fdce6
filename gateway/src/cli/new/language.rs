//! The languages of new projects: their files, their library and their commands.

use clap::ValueEnum;

/// The libraries that projects contain, because they aren't published: names and texts of their files.
mod libraries {
    include!(concat!(env!("OUT_DIR"), "/libraries.rs"));
}

/// The language of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// Rust, with the crate `moongate-sdk`
    Rust,
    /// Python, with componentize-py
    #[value(alias = "py")]
    Python,
    /// JavaScript, with componentize-qjs
    #[value(alias = "js")]
    Javascript,
    /// TypeScript, with componentize-qjs
    #[value(alias = "ts")]
    Typescript,
    /// C, with Zig or the WASI SDK
    C,
}

/// The name of a file in the project, and its template.
pub(super) type TemplateFile = (&'static str, &'static str);

/// The configuration of a project.
pub(super) const GATEWAY_FILE: TemplateFile = ("gateway.toml", include_str!("template/rust/gateway.toml.in"));

const RUST_FILES: [TemplateFile; 7] = [
    ("Cargo.toml", include_str!("template/rust/Cargo.toml.in")),
    ("src/lib.rs", include_str!("template/rust/lib.rs.in")),
    ("README.md", include_str!("template/rust/README.md.in")),
    GATEWAY_FILE,
    ("rust-toolchain.toml", include_str!("template/rust/rust-toolchain.toml.in")),
    (".cargo/config.toml", include_str!("template/rust/config.toml.in")),
    (".gitignore", include_str!("template/rust/gitignore.in")),
];

const PYTHON_FILES: [TemplateFile; 7] = [
    ("src/plugin.py", include_str!("template/python/plugin.py.in")),
    ("tests/test_plugin.py", include_str!("template/python/test_plugin.py.in")),
    ("pyproject.toml", include_str!("template/python/pyproject.toml.in")),
    ("requirements.txt", include_str!("template/python/requirements.txt.in")),
    ("README.md", include_str!("template/python/README.md.in")),
    GATEWAY_FILE,
    (".gitignore", include_str!("template/python/gitignore.in")),
];

const JAVASCRIPT_FILES: [TemplateFile; 6] = [
    ("src/plugin.js", include_str!("template/javascript/plugin.js.in")),
    ("tests/plugin.test.js", include_str!("template/javascript/plugin.test.js.in")),
    ("package.json", include_str!("template/javascript/package.json.in")),
    ("README.md", include_str!("template/javascript/README.md.in")),
    GATEWAY_FILE,
    (".gitignore", include_str!("template/javascript/gitignore.in")),
];

const TYPESCRIPT_FILES: [TemplateFile; 7] = [
    ("src/plugin.ts", include_str!("template/javascript/plugin.js.in")),
    ("tests/plugin.test.ts", include_str!("template/javascript/plugin.test.js.in")),
    ("package.json", include_str!("template/typescript/package.json.in")),
    ("tsconfig.json", include_str!("template/typescript/tsconfig.json.in")),
    ("README.md", include_str!("template/typescript/README.md.in")),
    GATEWAY_FILE,
    (".gitignore", include_str!("template/javascript/gitignore.in")),
];

const C_FILES: [TemplateFile; 7] = [
    ("src/plugin.c", include_str!("template/c/plugin.c.in")),
    ("tests/test_plugin.c", include_str!("template/c/test_plugin.c.in")),
    ("Makefile", include_str!("template/c/Makefile.in")),
    ("requirements.txt", include_str!("template/c/requirements.txt.in")),
    ("README.md", include_str!("template/c/README.md.in")),
    GATEWAY_FILE,
    (".gitignore", include_str!("template/c/gitignore.in")),
];

impl Language {
    /// The files of a project.
    pub(super) fn files(self) -> &'static [TemplateFile] {
        match self {
            Self::Rust => &RUST_FILES,
            Self::Python => &PYTHON_FILES,
            Self::Javascript => &JAVASCRIPT_FILES,
            Self::Typescript => &TYPESCRIPT_FILES,
            Self::C => &C_FILES,
        }
    }

    /// The files of the library, for `vendor/moongate`. Rust gets the crate from elsewhere.
    pub(super) fn library(self) -> &'static [TemplateFile] {
        match self {
            Self::Rust => &[],
            Self::Python => &libraries::PYTHON,
            Self::Javascript | Self::Typescript => &libraries::JAVASCRIPT,
            Self::C => &libraries::C,
        }
    }

    /// The file extension of modules.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::Python => "py",
            Self::Javascript => "js",
            Self::Typescript => "ts",
            Self::C => "c",
        }
    }

    /// The commands in the project that install what it needs, and run its tests.
    pub(super) fn test_command(self) -> &'static str {
        match self {
            Self::Rust => "cargo test",
            Self::Python => {
                "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && .venv/bin/python -m pytest"
            }
            Self::Javascript | Self::Typescript => "npm install && npm test",
            Self::C => "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && make test",
        }
    }
}
