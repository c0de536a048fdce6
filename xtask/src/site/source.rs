//! The pages of the site, with the links that mdBook needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::{SUMMARY, copy, write};

/// The page that stands for a directory, on forges and on the site.
const DIRECTORY_PAGE: &str = "README.md";

/// Everything that mdBook reads. Paths are relative to the repository's root.
#[derive(Debug)]
pub(super) struct SiteSource {
    root: PathBuf,
    /// The table of contents, with a part for the other files that pages link to.
    summary: String,
    /// The pages of the repository that the table of contents lists.
    listed: BTreeSet<String>,
    /// Pages by their path on the site, which ends in `.md`.
    pages: BTreeMap<String, String>,
    images: BTreeSet<String>,
}

impl SiteSource {
    /// Reads the pages of the table of contents and everything that they link to.
    pub(super) fn collect(root: &Path) -> Result<Self> {
        let text = read(root, SUMMARY)?;
        let mut waiting = Vec::new();
        let summary = map_links(&text, |link| {
            let path = resolve(SUMMARY, link).with_context(|| format!("{SUMMARY}: invalid link `{link}`"))?;
            waiting.push(path.clone());
            Ok(site_page(&path))
        })?;
        let mut source = Self {
            root: root.to_owned(),
            summary,
            listed: waiting.iter().cloned().collect(),
            pages: BTreeMap::new(),
            images: BTreeSet::new(),
        };
        let mut files = BTreeSet::new();
        while let Some(path) = waiting.pop() {
            let page = site_page(&path);
            if source.pages.contains_key(&page) {
                continue;
            }
            let text = if path.ends_with(".md") { read(root, &path)? } else { file_page(root, &path)? };
            let text = map_links(&text, |link| source.site_link(&path, link, &mut waiting))?;
            source.pages.insert(page, text);
            if !source.listed.contains(&path) {
                files.insert(path);
            }
        }
        source.summary.push_str("\n# Files\n\n");
        for path in files {
            let title = path.strip_suffix("/README.md").unwrap_or(&path);
            let _ = writeln!(source.summary, "- [{title}]({})", site_page(&path));
        }
        Ok(source)
    }

    /// The link on the site for a link on a page of the repository. Its target becomes part of the site.
    fn site_link(&mut self, from: &str, link: &str, waiting: &mut Vec<String>) -> Result<String> {
        let (target, anchor) = link.find('#').map_or((link, ""), |at| link.split_at(at));
        if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
            return Ok(link.to_owned());
        }
        let path = resolve(from, target).filter(|path| self.root.join(path).exists());
        let Some(mut path) = path else {
            bail!("{from} links to `{link}`, which isn't in the repository");
        };
        if path.ends_with(".svg") || path.ends_with(".png") {
            self.images.insert(path);
            return Ok(link.to_owned());
        }
        let mut target = target.trim_end_matches('/').to_owned();
        if self.root.join(&path).join(DIRECTORY_PAGE).is_file() {
            for directory in [&mut path, &mut target] {
                directory.push('/');
                directory.push_str(DIRECTORY_PAGE);
            }
        }
        waiting.push(path);
        Ok(site_page(&target) + anchor)
    }

    /// Pages below `docs` that the table of contents doesn't list.
    pub(super) fn unlisted_pages(&self) -> Result<Vec<String>> {
        let mut unlisted = Vec::new();
        let mut directories = vec!["docs".to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(self.root.join(&directory))? {
                let entry = entry?;
                let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
                if entry.path().is_dir() {
                    directories.push(path);
                } else if path.ends_with(".md") && path != SUMMARY && !self.listed.contains(&path) {
                    unlisted.push(format!("{path}: list this page in {SUMMARY}"));
                }
            }
        }
        Ok(unlisted)
    }

    /// Writes everything for mdBook.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        write(&directory.join("SUMMARY.md"), self.summary.as_bytes())?;
        for (page, text) in &self.pages {
            write(&directory.join(page), text.as_bytes())?;
        }
        for image in &self.images {
            copy(&self.root.join(image), &directory.join(image))?;
        }
        Ok(())
    }
}

/// The page for a path of the repository. It works for links, too.
fn site_page(path: &str) -> String {
    match path.strip_suffix(DIRECTORY_PAGE) {
        Some(directory) => format!("{directory}index.md"),
        None if path.ends_with(".md") => path.to_owned(),
        None => format!("{path}.md"),
    }
}

/// A page that shows a file, or all files of a directory.
fn file_page(root: &Path, path: &str) -> Result<String> {
    let mut page = format!("# {path}\n");
    if root.join(path).is_file() {
        push_file(&mut page, root, path)?;
        return Ok(page);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(path)).with_context(|| format!("can't read `{path}`"))? {
        let entry = entry?;
        if entry.path().is_file() {
            files.push(format!("{path}/{}", entry.file_name().to_string_lossy()));
        }
    }
    files.sort();
    for file in files {
        let _ = write!(page, "\n## {}\n", file.rsplit('/').next().unwrap_or(&file));
        push_file(&mut page, root, &file)?;
    }
    Ok(page)
}

/// Adds a file as a code block, whose fence is longer than those of Markdown in the file.
fn push_file(page: &mut String, root: &Path, path: &str) -> Result<()> {
    let language = match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "service" | "socket" | "conf" => "ini",
        known @ ("toml" | "json" | "yaml" | "yml" | "rs") => known,
        _ => "text",
    };
    let text = read(root, path)?;
    let _ = write!(page, "\n`````{language}\n{}\n`````\n", text.trim_end());
    Ok(())
}

/// Replaces the targets of Markdown links outside code.
fn map_links(text: &str, mut replace: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut mapped = String::new();
    let mut fence = None::<&str>;
    for line in text.split_inclusive('\n') {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        let is_fence = ticks.len() >= 3 && fence.is_none_or(|open| open == ticks);
        if is_fence {
            fence = if fence.is_none() { Some(ticks) } else { None };
        }
        if is_fence || fence.is_some() {
            mapped.push_str(line);
            continue;
        }
        for (index, part) in line.split('`').enumerate() {
            if index > 0 {
                mapped.push('`');
            }
            if index % 2 == 1 {
                mapped.push_str(part);
                continue;
            }
            let mut pieces = part.split("](");
            mapped.push_str(pieces.next().unwrap_or_default());
            for piece in pieces {
                let (link, rest) = piece.split_at(piece.find(')').unwrap_or(0));
                mapped.push_str("](");
                mapped.push_str(&replace(link)?);
                mapped.push_str(rest);
            }
        }
    }
    Ok(mapped)
}

/// The path of a link's target from the root, or nothing if the link leaves the root.
pub(super) fn resolve(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn read(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("can't read `{path}`"))
}

#[cfg(test)]
mod tests;
