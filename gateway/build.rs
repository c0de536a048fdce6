//! Lists the files of the libraries for other languages, which `moongate new` copies into projects, and links other memory
//! functions into static binaries.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable with the directory of a library that replaces libc's memory functions, such as `memcpy`.
const MEMORY_FUNCTIONS: &str = "MOONGATE_MEMORY_FUNCTIONS";

/// The constants in the generated file, and the directories that they contain.
const LIBRARIES: [(&str, &str); 3] = [
    ("PYTHON", "plugin-sdk/python/src/moongate"),
    ("JAVASCRIPT", "plugin-sdk/javascript"),
    ("C", "plugin-sdk/c"),
];

/// Names of files and directories that projects don't need.
const IGNORED_NAMES: [&str; 6] =
    ["__pycache__", "node_modules", "package-lock.json", "requirements.txt", "README.md", "tests"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed={MEMORY_FUNCTIONS}");
    if let Ok(directory) = env::var(MEMORY_FUNCTIONS) {
        println!("cargo::rerun-if-changed={directory}/libmemory_functions.a");
        println!("cargo::rustc-link-search=native={directory}");
        // Whole, so that libc's functions are duplicates if the linker has already found them.
        println!("cargo::rustc-link-lib=static:+whole-archive=memory_functions");
    }
    let workspace = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..");
    let mut code = String::new();
    for (constant, directory) in LIBRARIES {
        let directory = workspace.join(directory);
        println!("cargo::rerun-if-changed={}", directory.display());
        let mut files = Vec::new();
        collect_files(&directory, &mut files)?;
        files.sort();
        writeln!(code, "pub(super) const {constant}: [(&str, &str); {}] = [", files.len())?;
        for file in files {
            let name = file.strip_prefix(&directory)?.to_string_lossy().replace('\\', "/");
            writeln!(code, "    ({name:?}, include_str!({:?})),", file.to_string_lossy())?;
        }
        writeln!(code, "];")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("libraries.rs"), code)?;
    Ok(())
}

fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if IGNORED_NAMES.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
