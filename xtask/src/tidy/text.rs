//! What no committed file may hold, whatever its kind: it would be true on one machine only.
//!
//! The patterns are written in two halves, so that this file doesn't hold them either.

use super::Finding;

/// Absolute folders of one machine or person.
const FOLDERS: [&str; 6] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("/tm", "p/"),
    concat!("/var/", "folders/"),
];

/// Hosts of package registries: packages are named, and the machine's own settings say where they come from.
const HOSTS: [&str; 7] = [
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("pypi.", "org"),
    concat!("files.", "pythonhosted.org"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("deb.", "debian.org"),
];

/// Adds what is wrong with one file's text.
pub(super) fn check(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let lock = path.ends_with("package-lock.json");
    for (number, line) in (1..).zip(text.lines()) {
        let mut find =
            |message: String| findings.push(Finding { place: format!("{path}:{number}"), message });
        if let Some(folder) = FOLDERS.iter().find(|folder| holds_path(line, folder)) {
            find(format!(
                "a path under `{folder}` is true on one machine only; use a relative one or a variable"
            ));
        }
        if let Some(host) = HOSTS.iter().find(|host| line.contains(**host)) {
            find(format!(
                "`{host}` is a registry's address; name the package and leave the address to the machine"
            ));
        }
        if lock && line.trim_start().starts_with("\"resolved\"") {
            find(
                "an address in a lockfile; make it with `npm install --omit-lockfile-registry-resolved`"
                    .into(),
            );
        }
    }
}

/// Whether `line` holds an absolute path that begins with `folder`: what stands before it is no part of a longer
/// path or address.
fn holds_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        before.is_none_or(|c| !(c.is_alphanumeric() || ".~_-/}>*".contains(c)))
    })
}
