//! Attributes of paths (gitattributes), and the line endings that they select.

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice as _};
use gix_attributes::search::{MetadataCollection, Outcome};
use gix_attributes::{Search, StateRef};
use gix_glob::pattern::Case;

use crate::fault::{GitError, GitResult};
use crate::files;
use crate::index::Index;
use crate::repository::Repository;

/// The number of bytes in which a zero byte makes content binary, as in Git.
const BINARY_PROBE_BYTES: usize = 8000;

/// The attributes that the plugin respects.
const NAMES: [&str; 5] = ["text", "eol", "crlf", "diff", "filter"];

/// The attributes of all paths in a repository.
#[derive(Debug)]
pub(crate) struct Attributes {
    search: Search,
    collection: MetadataCollection,
    /// `core.autocrlf`: convert text files with unspecified attributes.
    auto: Option<LineEnding>,
    native: LineEnding,
}

/// A line ending in the working tree. In the repository, it is always LF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnding {
    Lf,
    CrLf,
}

/// How line endings of a path are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineConversion {
    Never,
    /// If the content is text.
    Auto(LineEnding),
    Always(LineEnding),
}

/// The attributes of a path.
#[derive(Debug, Default)]
struct PathAttributes {
    text: Option<String>,
    eol: Option<String>,
    diff: Option<String>,
    filter: Option<String>,
}

impl Attributes {
    /// Reads all attribute files in the working tree that are in the index, that of the root, and that of the repository.
    pub(crate) fn read(repository: &Repository, index: &Index) -> GitResult<Self> {
        let mut collection = MetadataCollection::default();
        let mut search = Search::default();
        let mut add = |text: &[u8], source: PathBuf, root: Option<&Path>, macros: bool| {
            let added = search.add_patterns_buffer(text, source, root, &mut collection, macros);
            added.map_err(|error| GitError::new(format_args!("can't read `.gitattributes`: {error}")))
        };
        add(b"[attr]binary -diff -merge -text", "[builtin]".into(), None, true)?;
        if let Ok(worktree) = repository.worktree() {
            let name = b".gitattributes".as_bstr();
            let tracked = index.entries().iter().map(|entry| entry.path.as_bstr());
            let mut paths: Vec<&BStr> = tracked.filter(|path| path.ends_with(b"/.gitattributes")).collect();
            paths.push(name);
            paths.sort_by_key(|path| path.find_iter("/").count());
            paths.dedup();
            for path in paths {
                let Ok(file) = files::join(worktree, path) else { continue };
                if let Some(text) = std::fs::read(file).ok().filter(|_| path.is_utf8()) {
                    let source = PathBuf::from(path.to_str_lossy().into_owned());
                    add(&text, source, Some(Path::new("")), path == name)?;
                }
            }
        }
        let own = files::read(&repository.common_dir.join("info/attributes"))?.unwrap_or_default();
        add(&own, "info/attributes".into(), None, true)?;
        let settings = &repository.settings;
        let auto = match settings.get("core.autocrlf") {
            Some(value) if value.eq_ignore_ascii_case("input") => Some(LineEnding::Lf),
            Some(_) if settings.flag("core.autocrlf") == Some(true) => Some(LineEnding::CrLf),
            _ => None,
        };
        let native = match settings.get("core.eol") {
            Some("crlf") => LineEnding::CrLf,
            _ => LineEnding::Lf,
        };
        Ok(Self { search, collection, auto, native })
    }

    fn of(&self, path: &BStr) -> PathAttributes {
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&self.collection, NAMES);
        self.search.pattern_matching_relative_path(path, Case::Sensitive, Some(false), &mut outcome);
        let mut found = PathAttributes::default();
        let mut old_text = None;
        for matched in outcome.iter_selected() {
            let state = match matched.assignment.state {
                StateRef::Set => "set".to_owned(),
                StateRef::Unset => "unset".to_owned(),
                StateRef::Value(value) => format!("={}", value.as_bstr()),
                StateRef::Unspecified => continue,
            };
            match matched.assignment.name.as_str() {
                "text" => found.text = Some(state),
                "crlf" => old_text = Some(if state == "=input" { "input".to_owned() } else { state }),
                "eol" => found.eol = Some(state),
                "diff" => found.diff = Some(state),
                "filter" => found.filter = Some(state),
                _ => {}
            }
        }
        found.text = found.text.or(old_text);
        found
    }

    fn conversion(&self, path: &BStr) -> LineConversion {
        let found = self.of(path);
        let eol = match found.eol.as_deref() {
            Some("=lf") => Some(LineEnding::Lf),
            Some("=crlf") => Some(LineEnding::CrLf),
            _ => None,
        };
        let output = eol.or(self.auto).unwrap_or(self.native);
        match (found.text.as_deref(), eol, self.auto) {
            (Some("unset"), _, _) => LineConversion::Never,
            (Some("=auto"), _, _) => LineConversion::Auto(output),
            (Some("input"), None, _) => LineConversion::Always(LineEnding::Lf),
            (Some(_), _, _) | (None, Some(_), _) => LineConversion::Always(output),
            (None, None, Some(output)) => LineConversion::Auto(output),
            (None, None, None) => LineConversion::Never,
        }
    }

    /// The program that converts this path's content, such as `lfs`. The sandbox can't start programs.
    pub(crate) fn filter(&self, path: &BStr) -> Option<String> {
        self.of(path).filter?.strip_prefix('=').filter(|name| !name.is_empty()).map(str::to_owned)
    }

    /// Returns `true` if content can't be shown as lines.
    pub(crate) fn is_binary(&self, path: &BStr, content: &[u8]) -> bool {
        match self.of(path).diff.as_deref() {
            Some("unset") => true,
            Some("set") => false,
            _ => has_nul(content),
        }
    }

    /// Converts the content of a file to the form in the repository. `indexed` is the old content there.
    pub(crate) fn to_repository(
        &self,
        path: &BStr,
        content: Vec<u8>,
        indexed: impl FnOnce() -> Option<std::rc::Rc<Vec<u8>>>,
    ) -> Vec<u8> {
        let conversion = self.conversion(path);
        if conversion == LineConversion::Never || content.find(b"\r\n").is_none() {
            return content;
        }
        if matches!(conversion, LineConversion::Auto(_))
            && (is_mixed_or_binary(&content) || indexed().is_some_and(|old| old.find(b"\r\n").is_some()))
        {
            return content;
        }
        content.replace(b"\r\n", b"\n")
    }

    /// Converts content to the form in the working tree.
    pub(crate) fn to_worktree(&self, path: &BStr, content: &[u8]) -> Vec<u8> {
        let auto = match self.conversion(path) {
            LineConversion::Auto(LineEnding::CrLf) => true,
            LineConversion::Always(LineEnding::CrLf) => false,
            _ => return content.to_vec(),
        };
        if auto && (content.find(b"\r\n").is_some() || is_mixed_or_binary(content)) {
            return content.to_vec();
        }
        let mut converted = Vec::with_capacity(content.len());
        for (at, byte) in content.iter().enumerate() {
            if *byte == b'\n' && (at == 0 || content[at - 1] != b'\r') {
                converted.push(b'\r');
            }
            converted.push(*byte);
        }
        converted
    }
}

/// Returns `true` if the start of the content has a zero byte.
pub(crate) fn has_nul(content: &[u8]) -> bool {
    content[..content.len().min(BINARY_PROBE_BYTES)].contains(&0)
}

/// Returns `true` if automatic conversion leaves content alone: it has a CR without LF, zero bytes, or many control
/// characters.
fn is_mixed_or_binary(content: &[u8]) -> bool {
    let mut printable = 0_usize;
    let mut control = 0_usize;
    for (at, byte) in content.iter().enumerate() {
        match byte {
            0 => return true,
            b'\r' if content.get(at + 1) != Some(&b'\n') => return true,
            b'\r' | b'\n' => {}
            8 | 9 | 12 | 27 | 32..=126 | 128.. => printable += 1,
            _ => control += 1,
        }
    }
    printable >> 7 < control
}
