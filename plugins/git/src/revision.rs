//! Names of objects: `HEAD~2`, `v1.0^{tree}`, `main:src/lib.rs` (gitrevisions). The plugin supports those that the
//! official server's library does, except searches by message and log entries by date.

use bstr::{BStr, ByteSlice as _};

use crate::fault::{GitError, GitResult};
use crate::object::{self, Kind, ObjectId, TreeEntry};
use crate::refs;
use crate::repository::Repository;

/// The maximum number of tags from one to another.
const MAX_TAG_DEPTH: usize = 16;

/// An object that a revision names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedObject {
    pub(crate) id: ObjectId,
    pub(crate) kind: Kind,
}

/// The object with this name.
pub(crate) fn resolve(repository: &Repository, name: &str) -> GitResult<NamedObject> {
    if name.starts_with(":/") {
        return Err(GitError::new("searching commits by message isn't supported; use git_log"));
    }
    if let Some(path) = name.strip_prefix(':') {
        return indexed(repository, path);
    }
    let Some(first) = first_token(name) else {
        return object_of(repository, named(repository, name)?);
    };
    let (base, mut rest) = name.split_at(first);
    if base.is_empty() && !rest.starts_with('@') {
        return Err(GitError::new(format_args!("Revision specifier must start with an object name: {name}")));
    }
    let mut found = if base.is_empty() {
        rest = if rest.starts_with("@{") { rest } else { &rest[1..] };
        object_of(repository, named(repository, "HEAD")?)?
    } else {
        object_of(repository, named(repository, base)?)?
    };
    let mut is_first = true;
    while let Some(token) = rest.chars().next() {
        match token {
            '@' => {
                let (selector, after) = braces(rest, 1).ok_or_else(|| invalid(name))?;
                if !is_first {
                    return Err(invalid(name));
                }
                found = object_of(repository, logged(repository, base, selector)?)?;
                rest = after;
            }
            ':' => return in_tree(repository, found, &rest[1..]),
            '^' if rest.starts_with("^{") => {
                let (wanted, after) = braces(rest, 1).ok_or_else(|| invalid(name))?;
                found = peeled(repository, found, wanted, name)?;
                rest = after;
            }
            '^' | '~' => {
                let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                let number = if digits == 0 { Some(1) } else { rest[1..=digits].parse::<usize>().ok() };
                let number = number.ok_or_else(|| invalid(name))?;
                found = ancestor(repository, found, token, number)?.ok_or_else(|| {
                    GitError::unresolved(format_args!(
                        "Invalid revision spec '{name}' - not enough parent commits to reach '{token}{number}'"
                    ))
                })?;
                rest = &rest[1 + digits..];
            }
            _ => return Err(invalid(name)),
        }
        is_first = false;
    }
    Ok(found)
}

/// The commit with this name.
pub(crate) fn commit(repository: &Repository, name: &str) -> GitResult<ObjectId> {
    let found = resolve(repository, name)?;
    to_commit(repository, found.id)
}

/// The tree of the commit, tag or tree with this name.
pub(crate) fn tree(repository: &Repository, name: &str) -> GitResult<ObjectId> {
    let found = resolve(repository, name)?;
    Ok(peeled(repository, found, "tree", name)?.id)
}

/// Follows tags to a commit.
pub(crate) fn to_commit(repository: &Repository, id: ObjectId) -> GitResult<ObjectId> {
    let found = without_tags(repository, object_of(repository, id)?)?;
    if found.kind != Kind::Commit {
        return Err(GitError::new(format_args!(
            "the object {} is a {} instead of a commit",
            found.id, found.kind
        )));
    }
    Ok(found.id)
}

/// The position of the first character after the name of an object.
fn first_token(name: &str) -> Option<usize> {
    name.char_indices().map(|(at, _)| at).find(|at| {
        let rest = &name[*at..];
        rest.starts_with(['^', '~', ':'])
            || rest.starts_with("@{")
            || (*at == 0 && (rest == "@" || ["@^", "@~", "@:"].iter().any(|start| rest.starts_with(start))))
    })
}

/// The text in braces that start at this position, and the text after them.
fn braces(text: &str, at: usize) -> Option<(&str, &str)> {
    text.get(at..)?.strip_prefix('{')?.split_once('}')
}

fn invalid(name: &str) -> GitError {
    GitError::new(format_args!("invalid revision `{name}`"))
}

/// The id that a name without further tokens stands for.
fn named(repository: &Repository, name: &str) -> GitResult<ObjectId> {
    let is_hex = name.len() >= 4 && name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex {
        let name = name.to_lowercase();
        if let Some(id) = ObjectId::parse(name.as_bytes()) {
            return Ok(id);
        }
        if let [id] = *repository.odb.starting_with(&name)? {
            return Ok(id);
        }
    }
    for reference in refs::candidates(name) {
        if let Some(id) = repository.refs.resolve(&reference)? {
            return Ok(id);
        }
    }
    // A description such as `v1.0-3-g1234abc`.
    if let Some((_, digits)) = name.rsplit_once("-g")
        && digits.len() >= 4
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && let [id] = *repository.odb.starting_with(&digits.to_lowercase())?
    {
        return Ok(id);
    }
    Err(GitError::unresolved(name))
}

fn object_of(repository: &Repository, id: ObjectId) -> GitResult<NamedObject> {
    match repository.odb.find(id)? {
        Some(object) => Ok(NamedObject { id, kind: object.kind }),
        None => Err(GitError::new(format_args!("the object {id} is missing"))),
    }
}

fn without_tags(repository: &Repository, mut found: NamedObject) -> GitResult<NamedObject> {
    for _ in 0..MAX_TAG_DEPTH {
        if found.kind != Kind::Tag {
            break;
        }
        let target = object::tag_target(&repository.odb.get(found.id)?.data)?;
        found = object_of(repository, target)?;
    }
    Ok(found)
}

fn peeled(repository: &Repository, found: NamedObject, wanted: &str, name: &str) -> GitResult<NamedObject> {
    let target = without_tags(repository, found)?;
    match (wanted, target.kind) {
        ("object", _) => Ok(found),
        ("", _) | ("commit", Kind::Commit) | ("tree", Kind::Tree) | ("blob", Kind::Blob) => Ok(target),
        ("tag", _) if found.kind == Kind::Tag => Ok(found),
        ("tree", Kind::Commit) => {
            let id = repository.odb.commit(target.id)?.tree;
            Ok(NamedObject { id, kind: Kind::Tree })
        }
        _ => Err(GitError::new(format_args!("`{name}` is a {}, which isn't a {wanted}", found.kind))),
    }
}

/// The parent with this number for `^`, or the ancestor at this distance for `~`. `None` if there are too few.
fn ancestor(
    repository: &Repository,
    found: NamedObject,
    token: char,
    number: usize,
) -> GitResult<Option<NamedObject>> {
    let mut id = to_commit(repository, found.id)?;
    let [steps, parent] = if token == '~' { [number, 1] } else { [number.min(1), number] };
    for _ in 0..steps {
        match repository.commit(id)?.parents.get(parent - 1) {
            Some(next) => id = *next,
            None => return Ok(None),
        }
    }
    Ok(Some(NamedObject { id, kind: Kind::Commit }))
}

/// The id that `<base>@{<selector>}` stands for.
fn logged(repository: &Repository, base: &str, selector: &str) -> GitResult<ObjectId> {
    let branch = repository.refs.head_branch()?;
    if selector == "u" || selector == "upstream" {
        let branch = if base.is_empty() { branch } else { Some(format!("refs/heads/{base}")) };
        let upstream = branch.and_then(|branch| crate::branch::upstream(repository, &branch));
        let id = upstream.map(|upstream| repository.refs.resolve(&upstream)).transpose()?.flatten();
        return id.ok_or_else(|| GitError::new("no upstream is configured for this branch"));
    }
    let number: i64 = selector.parse().map_err(|_| {
        GitError::new(format_args!("`@{{{selector}}}` isn't supported; use a number, such as `@{{1}}`"))
    })?;
    if number < 0 {
        let log = repository.refs.log("HEAD")?;
        let switches = log.iter().rev().filter_map(|line| {
            line.split_once_str("checkout: moving from ")?.1.split_once_str(" to ").map(|(from, _)| from)
        });
        let index = usize::try_from(-(number + 1)).unwrap_or(usize::MAX);
        let name = switches.map(|name| name.to_str_lossy().into_owned()).nth(index);
        return named(repository, &name.ok_or_else(|| too_short(selector))?);
    }
    let candidates = match base {
        "" => branch.into_iter().collect(),
        "HEAD" => vec!["HEAD".to_owned()],
        base => vec![format!("refs/heads/{base}"), format!("refs/remotes/{base}"), base.to_owned()],
    };
    for name in candidates {
        let log = repository.refs.log(&name)?;
        if log.is_empty() {
            continue;
        }
        let back = usize::try_from(number).unwrap_or(usize::MAX);
        let line = log.len().checked_sub(back.saturating_add(1)).map(|at| &log[at]);
        return line.and_then(|line| ObjectId::parse(line.get(41..81)?)).ok_or_else(|| too_short(selector));
    }
    Err(too_short(selector))
}

fn too_short(selector: &str) -> GitError {
    GitError::new(format_args!("the log has no entry `@{{{selector}}}`"))
}

/// The blob of `:<path>` or `:<stage>:<path>`.
fn indexed(repository: &Repository, path: &str) -> GitResult<NamedObject> {
    let (stage, path) = match path.as_bytes() {
        [stage @ b'0'..=b'3', b':', ..] => (stage - b'0', &path[2..]),
        _ => (0, path),
    };
    let index = repository.index()?;
    match index.get(BStr::new(path), stage) {
        Some(entry) => object_of(repository, entry.id),
        None => {
            let message = format!("Path '{path}' did not exist in the index at stage {stage}");
            Err(GitError::unresolved(message))
        }
    }
}

/// The object at a path in a commit or tree.
fn in_tree(repository: &Repository, found: NamedObject, path: &str) -> GitResult<NamedObject> {
    let mut found = peeled(repository, found, "tree", path)?;
    let parts: Vec<&str> = path.split('/').collect();
    for part in parts.iter().filter(|part| !(part.is_empty() && path.is_empty())) {
        let missing = || GitError::new(format_args!("\"Blob or Tree named '{path}' not found\""));
        if found.kind != Kind::Tree {
            return Err(missing());
        }
        let tree = repository.odb.tree(found.id)?;
        let entry: &TreeEntry = tree.iter().find(|entry| entry.name == *part).ok_or_else(missing)?;
        found = if entry.mode.is_submodule() {
            NamedObject { id: entry.id, kind: Kind::Commit }
        } else {
            object_of(repository, entry.id)?
        };
    }
    Ok(found)
}
