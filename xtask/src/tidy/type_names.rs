//! A crate of the gateway defines a type name once, so that a search for the name finds one thing.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, is_test};

/// Type names that a crate may define more than once: `Restore` has one definition for Unix and one for other systems.
const TYPE_NAMES_DEFINED_TWICE_ALLOWED: [&str; 1] = ["Restore"];

/// The directory that contains the crates of the gateway.
const GATEWAY: &str = "gateway/";

/// The type names that a crate defines more than once, with their places.
pub(super) fn check(sources: &BTreeMap<String, String>) -> Vec<Finding> {
    let test_modules: BTreeSet<String> =
        sources.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let mut places: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (path, text) in sources {
        let Some((package, _)) = path.split_once("/src/").filter(|_| path.starts_with(GATEWAY)) else {
            continue;
        };
        if is_test(path) || is_in_module(path, &test_modules) {
            continue;
        }
        for (number, name) in type_names(text) {
            places.entry((package, name)).or_default().push(format!("{path}:{number}"));
        }
    }
    let repeated = places
        .into_iter()
        .filter(|((_, name), places)| places.len() > 1 && !TYPE_NAMES_DEFINED_TWICE_ALLOWED.contains(name));
    let finding = |((package, name), places): ((&str, &str), Vec<String>)| Finding {
        place: package.to_owned(),
        message: format!("`{name}` is defined {} times: {}", places.len(), places.join(", ")),
    };
    repeated.map(finding).collect()
}

/// The types that a file defines outside its inline test modules, each with its line.
fn type_names(text: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("#[cfg(test)]") {
            break; // tests are last in a file
        }
        names.extend(type_name(line).map(|name| (number, name)));
    }
    names
}

/// The name of the type that a line defines.
fn type_name(line: &str) -> Option<&str> {
    let is_top_level = !line.starts_with(' ');
    let mut words = line.split_whitespace().skip_while(|word| *word == "pub" || word.starts_with("pub("));
    let mut keyword = words.next()?;
    // The path of `pub(in crate::a)` is a word of its own.
    if keyword.ends_with(')') {
        keyword = words.next()?;
    }
    let is_definition = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        // An indented one is an associated type.
        "type" => is_top_level,
        _ => false,
    };
    let name = words.next().filter(|_| is_definition)?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end]).filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The paths, without `.rs`, of the modules that a file declares for tests only.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let directory = match stem.rsplit_once('/') {
        Some((directory, "lib" | "main")) => directory,
        _ => stem,
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter_map(|pair| {
        let [attribute, declaration] = pair else { return None };
        let is_test = attribute.starts_with("#[cfg(") && attribute.contains("test");
        let name = declaration.split("mod ").nth(1)?.strip_suffix(';')?;
        is_test.then(|| format!("{directory}/{name}"))
    });
    declared.collect()
}

/// Returns true if the file is one of these modules, or inside one.
fn is_in_module(path: &str, modules: &BTreeSet<String>) -> bool {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    modules.iter().any(|module| {
        stem.strip_prefix(module.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests;
