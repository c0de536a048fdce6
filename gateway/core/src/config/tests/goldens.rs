//! Each `tests/ui/config/*.toml` is read and what is said of it compared with the `.stderr` beside it.
//!
//! `UPDATE_GOLDENS=1 cargo test -p moongate-core goldens` writes the `.stderr` files anew.

use super::*;

/// What an operator would read, with the folder of the goldens called `<folder>`.
fn said(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let mut environment = environment();
    if file.ends_with("cache-nowhere.toml") {
        environment.clear();
    }
    let loaded = from_text(file, text, &environment).for_http();
    assert_eq!(loaded.config.is_none(), loaded.problems.iter().any(Problem::is_error), "{}", file.display());
    for problem in &loaded.problems {
        assert!(problem.hint.is_some(), "{}: no cure for {problem:?}", file.display());
    }
    let source = Source { path: file.file_name().unwrap().into(), text: loaded.source.text };
    render(&loaded.problems, &source, Style::Plain).replace(&*ui().to_string_lossy(), "<folder>")
}

#[test]
fn every_mistake_is_named_with_its_place_and_its_cure() {
    let update = updates_goldens();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(ui()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut wrong = String::new();
    for file in &files {
        let said = said(file);
        let golden = file.with_extension("stderr");
        if update {
            std::fs::write(&golden, said).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != said {
            writeln!(wrong, "{} says something else:\n{said}", file.display()).unwrap();
        }
    }
    assert!(files.len() >= 45, "goldens are missing");
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn no_secret_is_in_what_is_said_of_a_file() {
    let secret = |text: &str| {
        let values = environment().into_iter().filter(|(name, _)| name.ends_with("_TOKEN"));
        let told =
            values.map(|(_, value)| value[..16].to_owned()).find(|value| text.contains(value.as_str()));
        told.or_else(|| {
            ["hunter2", "not a token"].iter().find(|word| text.contains(*word)).map(|it| (*it).to_owned())
        })
    };
    for entry in std::fs::read_dir(ui()).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "toml") {
            assert_eq!(secret(&said(&file)), None, "{}", file.display());
        }
    }
}
