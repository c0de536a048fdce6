//! Git objects: ids, kinds, trees, commits and tags.

use std::fmt;

use bstr::{BStr, BString, ByteSlice as _};
use sha1::{Digest as _, Sha1};

use crate::fault::{GitError, GitResult};

/// The id of an object: the SHA-1 digest of its kind, size and content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct ObjectId(pub(crate) [u8; 20]);

impl ObjectId {
    /// The id of the object with this content.
    pub(crate) fn of(kind: Kind, data: &[u8]) -> Self {
        let mut hash = Sha1::new();
        hash.update(format!("{kind} {}\0", data.len()));
        hash.update(data);
        Self(hash.finalize().into())
    }

    /// Reads 40 hexadecimal digits.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut id = [0; 20];
        if text.len() != 40 {
            return None;
        }
        for (byte, digits) in id.iter_mut().zip(text.chunks(2)) {
            let digits = std::str::from_utf8(digits).ok()?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(Self(id))
    }

    /// Reads 20 bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.get(..20)?.try_into().ok()?))
    }

    /// Returns `true` for the id that stands for a missing object.
    pub(crate) fn is_null(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Blob,
    Tree,
    Commit,
    Tag,
}

impl Kind {
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"blob" => Some(Self::Blob),
            b"tree" => Some(Self::Tree),
            b"commit" => Some(Self::Commit),
            b"tag" => Some(Self::Tag),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
            Self::Tag => "tag",
        })
    }
}

/// The mode of an entry in a tree or the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode(pub(crate) u32);

impl Mode {
    pub(crate) const FILE: Self = Self(0o100_644);
    pub(crate) const LINK: Self = Self(0o120_000);
    pub(crate) const SUBMODULE: Self = Self(0o160_000);
    pub(crate) const TREE: Self = Self(0o040_000);

    pub(crate) fn is_tree(self) -> bool {
        self.0 & 0o170_000 == Self::TREE.0
    }

    pub(crate) fn is_file(self) -> bool {
        self.0 & 0o170_000 == 0o100_000
    }

    pub(crate) fn is_link(self) -> bool {
        self == Self::LINK
    }

    pub(crate) fn is_submodule(self) -> bool {
        self == Self::SUBMODULE
    }

    pub(crate) fn is_executable(self) -> bool {
        self.is_file() && self.0 & 0o111 != 0
    }

    /// Returns `true` if both are files, links or submodules.
    pub(crate) fn is_same_type(self, other: Self) -> bool {
        self.0 & 0o170_000 == other.0 & 0o170_000
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06o}", self.0)
    }
}

/// An entry of a tree.
#[derive(Debug, Clone)]
pub(crate) struct TreeEntry {
    pub(crate) mode: Mode,
    pub(crate) name: BString,
    pub(crate) id: ObjectId,
}

/// Reads a tree.
pub(crate) fn tree(data: &[u8]) -> GitResult<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let entry = (|| {
            let space = rest.find_byte(b' ')?;
            let end = rest.find_byte(0)?;
            let mode = u32::from_str_radix(rest.get(..space)?.to_str().ok()?, 8).ok()?;
            let name = BString::from(rest.get(space + 1..end)?);
            let id = ObjectId::read(rest.get(end + 1..)?)?;
            rest = rest.get(end + 21..)?;
            // Old versions of Git wrote modes such as 100664.
            let mode = if mode & 0o170_000 == 0o100_000 {
                if mode & 0o100 == 0 { Mode::FILE } else { Mode(0o100_755) }
            } else {
                Mode(mode)
            };
            Some(TreeEntry { mode, name, id })
        })();
        entries.push(entry.ok_or_else(|| GitError::new("a tree is corrupt"))?);
    }
    Ok(entries)
}

/// A person and a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signature {
    pub(crate) name: BString,
    pub(crate) email: BString,
    /// Seconds since 1970.
    pub(crate) seconds: i64,
    /// The offset of the local time from UTC, in minutes.
    pub(crate) offset: i32,
}

impl Signature {
    fn parse(text: &BStr) -> Self {
        let open = text.find_byte(b'<').unwrap_or(text.len());
        let close = text.rfind_byte(b'>').unwrap_or(text.len());
        let mut time =
            text.get(close + 1..).unwrap_or_default().split_str(" ").filter(|part| !part.is_empty());
        let number = |part: Option<&[u8]>| part.and_then(|part| part.to_str().ok()?.parse::<i64>().ok());
        let seconds = number(time.next()).unwrap_or(0);
        let zone = number(time.next()).and_then(|zone| i32::try_from(zone).ok()).unwrap_or(0);
        Self {
            name: text[..open].trim().into(),
            email: text.get(open + 1..close).unwrap_or_default().into(),
            seconds,
            offset: zone / 100 * 60 + zone % 100,
        }
    }

    /// The local date and time, such as `2001-09-09 03:46:40`.
    pub(crate) fn local_time(&self) -> String {
        let seconds = self.seconds.saturating_add(i64::from(self.offset) * 60);
        match jiff::Timestamp::from_second(seconds) {
            Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
            Err(_) => "1970-01-01 00:00:00".to_owned(),
        }
    }

    /// The offset, such as `+02:00`, with this separator.
    pub(crate) fn zone(&self, separator: &str) -> String {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs();
        format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
    }

    /// The line of a commit without its keyword.
    pub(crate) fn line(&self) -> String {
        format!("{} <{}> {} {}", self.name, self.email, self.seconds, self.zone(""))
    }
}

/// A commit.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    pub(crate) author: Signature,
    pub(crate) committer: Signature,
    pub(crate) message: BString,
}

impl Commit {
    pub(crate) fn parse(data: &[u8]) -> GitResult<Self> {
        let (head, message) = data.split_once_str("\n\n").unwrap_or((data, b""));
        let mut commit = Self {
            tree: ObjectId::default(),
            parents: Vec::new(),
            author: Signature::default(),
            committer: Signature::default(),
            message: message.into(),
        };
        for line in head.lines() {
            let (key, value) = line.split_once_str(" ").unwrap_or((line, b""));
            match key {
                b"tree" => commit.tree = ObjectId::parse(value).unwrap_or_default(),
                b"parent" => commit.parents.extend(ObjectId::parse(value)),
                b"author" => commit.author = Signature::parse(value.as_bstr()),
                b"committer" => commit.committer = Signature::parse(value.as_bstr()),
                _ => {}
            }
        }
        if commit.tree.is_null() {
            return Err(GitError::new("a commit is corrupt"));
        }
        Ok(commit)
    }
}

/// The object that a tag points to.
pub(crate) fn tag_target(data: &[u8]) -> GitResult<ObjectId> {
    let line = data.lines().next().and_then(|line| line.strip_prefix(b"object "));
    line.and_then(ObjectId::parse).ok_or_else(|| GitError::new("a tag is corrupt"))
}
