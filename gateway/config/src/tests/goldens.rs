//! Loads each `tests/ui/config/*.toml` and compares the diagnostics with the `.stderr` next to it.
//!
//! `UPDATE_GOLDENS=1 cargo test -p moongate-config goldens` updates the `.stderr` files.

use super::*;

/// The rendered diagnostics of a file, with the directory of the goldens as `<directory>`.
fn diagnostics(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let mut environment = environment();
    if file.ends_with("cache-nowhere.toml") {
        environment.clear();
    }
    let loaded = parse_config(file, text, &environment).require_http();
    assert_eq!(
        loaded.config.is_none(),
        loaded.problems.iter().any(Diagnostic::is_error),
        "{}",
        file.display()
    );
    for problem in &loaded.problems {
        assert!(problem.hint.is_some(), "{}: no hint for {problem:?}", file.display());
    }
    let source = ConfigSource { path: file.file_name().unwrap().into(), text: loaded.source.text };
    render_diagnostics(&loaded.problems, &source, RenderStyle::Plain)
        .replace(&*goldens_dir().to_string_lossy(), "<directory>")
}

fn golden_files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(goldens_dir()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    files.sort();
    files
}

#[test]
fn diagnostics_match_the_goldens() {
    let update = updates_goldens();
    let files = golden_files();
    let mut differing = String::new();
    for file in &files {
        let actual = diagnostics(file);
        let golden = file.with_extension("stderr");
        if update {
            std::fs::write(&golden, actual).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != actual {
            writeln!(differing, "{} differs:\n{actual}", file.display()).unwrap();
        }
    }
    assert!(files.len() >= 30, "goldens are missing");
    assert!(differing.is_empty(), "{differing}");
}

#[test]
fn goldens_contain_no_secret() {
    let variables = environment().into_iter().filter(|(name, _)| name.ends_with("_TOKEN"));
    let mut secrets: Vec<_> = variables.map(|(_, value)| value[..16].to_owned()).collect();
    secrets.extend(["hunter2", "not a token"].map(str::to_owned));
    for file in golden_files() {
        let actual = diagnostics(&file);
        let found = secrets.iter().find(|secret| actual.contains(secret.as_str()));
        assert_eq!(found, None, "{}", file.display());
    }
}
