//! Checks that every link of the built site leads to a file of the site, and every anchor to an element.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::source::resolve;

/// The result for all pages.
#[derive(Debug, Default)]
pub(super) struct CheckedLinks {
    pub(super) pages: usize,
    /// Links within the site.
    pub(super) links: usize,
    /// Broken links and their pages.
    pub(super) findings: Vec<String>,
}

/// The attributes of a page that matter here.
#[derive(Debug, Default)]
struct PageAttributes {
    ids: BTreeSet<String>,
    /// The values of `href` and `src`.
    links: BTreeSet<String>,
}

/// Checks all pages in a directory except `404.html`, whose links depend on the site's address.
pub(super) fn check(site: &Path) -> Result<CheckedLinks> {
    let mut files = BTreeMap::new();
    read_files(site, "", &mut files)?;
    files.remove("404.html");
    Ok(check_pages(&files))
}

/// Reads the files below a directory; only pages have attributes.
fn read_files(
    directory: &Path,
    prefix: &str,
    files: &mut BTreeMap<String, Option<PageAttributes>>,
) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("can't read `{}`", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            read_files(&path, &format!("{name}/"), files)?;
        } else if name.ends_with(".html") {
            let text =
                fs::read_to_string(&path).with_context(|| format!("can't read `{}`", path.display()))?;
            files.insert(name, Some(attributes(&text)));
        } else {
            files.insert(name, None);
        }
    }
    Ok(())
}

/// The attributes of all tags of a page as mdBook writes it: with double quotes, and without `<` in text.
fn attributes(html: &str) -> PageAttributes {
    let mut found = PageAttributes::default();
    for tag in html.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        let value = |name: &str| {
            let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
            rest.split_once('"').map(|(value, _)| value.replace("&amp;", "&"))
        };
        found.ids.extend(value("id"));
        found.links.extend(value("href"));
        found.links.extend(value("src"));
    }
    found
}

/// Checks the links of all pages.
fn check_pages(files: &BTreeMap<String, Option<PageAttributes>>) -> CheckedLinks {
    let mut checked = CheckedLinks::default();
    for (page, attributes) in files.iter().filter_map(|(page, found)| Some((page, found.as_ref()?))) {
        checked.pages += 1;
        for link in attributes.links.iter().filter(|link| !is_external(link)) {
            checked.links += 1;
            if let Some(why) = link_error(files, page, link) {
                checked.findings.push(format!("{page}: `{link}`: {why}"));
            }
        }
    }
    checked
}

/// Returns true for a link with a scheme, such as `https:`.
fn is_external(link: &str) -> bool {
    let scheme = link.split(['/', '#']).next().unwrap_or_default();
    scheme.contains(':') || link.starts_with("//")
}

/// Returns the reason if a link is broken.
fn link_error(
    files: &BTreeMap<String, Option<PageAttributes>>,
    page: &str,
    link: &str,
) -> Option<&'static str> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { Some(page.to_owned()) } else { resolve(page, path) };
    let Some(found) = target.and_then(|target| files.get(&target)) else {
        return Some("the site has no such file");
    };
    let is_there = match (anchor, found) {
        (None | Some(""), _) => true,
        (Some(anchor), Some(attributes)) => attributes.ids.contains(anchor),
        (Some(_), None) => false,
    };
    (!is_there).then_some("the page has no such anchor")
}

#[cfg(test)]
mod tests;
