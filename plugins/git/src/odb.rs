//! The object database: loose objects, packs and alternates.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::ByteSlice as _;
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::fault::{GitError, GitResult};
use crate::files;
use crate::object::{Commit, Kind, ObjectId, TreeEntry};

mod pack; // packs and their indexes

use pack::Pack;

/// The maximum number of alternate object databases, which can name others.
const MAX_ALTERNATES: usize = 16;

/// The maximum size of an object in memory, in bytes. A call has little more memory.
const MAX_OBJECT_BYTES: u64 = 48 << 20;

/// The objects of a repository.
#[derive(Debug)]
pub(crate) struct ObjectDb {
    /// The repository's own directory, then the alternates.
    directories: Vec<PathBuf>,
    packs: Vec<Pack>,
    trees: RefCell<HashMap<ObjectId, Rc<Vec<TreeEntry>>>>,
}

/// An object.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) data: Rc<Vec<u8>>,
}

impl ObjectDb {
    /// Opens the database in the directory `objects`. Alternates outside the granted directories are left out, because
    /// the sandbox doesn't open them.
    pub(crate) fn open(objects: &Path) -> GitResult<Self> {
        let mut directories = vec![objects.to_owned()];
        let mut next = 0;
        while let Some(directory) = directories.get(next).cloned() {
            next += 1;
            let list = fs::read(directory.join("info/alternates")).unwrap_or_default();
            for line in list.split_str("\n").filter(|line| !line.is_empty() && !line.starts_with(b"#")) {
                let path = files::join(&directory, line.as_bstr())?;
                if directories.len() <= MAX_ALTERNATES && !directories.contains(&path) {
                    directories.push(path);
                }
            }
        }
        let mut packs = Vec::new();
        for directory in &directories {
            let Ok(entries) = fs::read_dir(directory.join("pack")) else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "idx")
                    && path.with_extension("pack").is_file()
                {
                    packs.push(Pack::open(&path)?);
                }
            }
        }
        Ok(Self { directories, packs, trees: RefCell::default() })
    }

    /// The object with this id. `None` if it is missing.
    pub(crate) fn find(&self, id: ObjectId) -> GitResult<Option<Object>> {
        for pack in &self.packs {
            if let Some(offset) = pack.offset(id)? {
                return pack.object(offset, &|base| self.find(base)).map(Some);
            }
        }
        for directory in &self.directories {
            let path = loose_path(directory, id);
            match File::open(&path) {
                Ok(file) => return loose(file, &path).map(Some),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(GitError::file("read", &path)(error)),
            }
        }
        Ok(None)
    }

    /// Returns `true` if the object is here.
    pub(crate) fn contains(&self, id: ObjectId) -> GitResult<bool> {
        for pack in &self.packs {
            if pack.offset(id)?.is_some() {
                return Ok(true);
            }
        }
        Ok(self.directories.iter().any(|directory| loose_path(directory, id).is_file()))
    }

    /// The object with this id.
    pub(crate) fn get(&self, id: ObjectId) -> GitResult<Object> {
        self.find(id)?.ok_or_else(|| GitError::new(format_args!("the object {id} is missing")))
    }

    /// The content of the blob with this id.
    pub(crate) fn blob(&self, id: ObjectId) -> GitResult<Rc<Vec<u8>>> {
        let object = self.get(id)?;
        if object.kind == Kind::Blob { Ok(object.data) } else { Err(wrong_kind(id, object.kind, Kind::Blob)) }
    }

    /// The tree with this id.
    pub(crate) fn tree(&self, id: ObjectId) -> GitResult<Rc<Vec<TreeEntry>>> {
        if let Some(tree) = self.trees.borrow().get(&id) {
            return Ok(Rc::clone(tree));
        }
        let object = self.get(id)?;
        if object.kind != Kind::Tree {
            return Err(wrong_kind(id, object.kind, Kind::Tree));
        }
        let tree = Rc::new(crate::object::tree(&object.data)?);
        self.trees.borrow_mut().insert(id, Rc::clone(&tree));
        Ok(tree)
    }

    /// The commit with this id.
    pub(crate) fn commit(&self, id: ObjectId) -> GitResult<Commit> {
        let object = self.get(id)?;
        if object.kind != Kind::Commit {
            return Err(wrong_kind(id, object.kind, Kind::Commit));
        }
        Commit::parse(&object.data)
    }

    /// Stores an object.
    pub(crate) fn write(&self, kind: Kind, data: &[u8]) -> GitResult<ObjectId> {
        let id = ObjectId::of(kind, data);
        if self.contains(id)? {
            return Ok(id);
        }
        let path = loose_path(&self.directories[0], id);
        let directory = path.parent().unwrap_or(&path);
        fs::create_dir_all(directory).map_err(GitError::file("create", directory))?;
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        let compressed = encoder
            .write_all(format!("{kind} {}\0", data.len()).as_bytes())
            .and_then(|()| encoder.write_all(data))
            .and_then(|()| encoder.finish());
        let compressed = compressed.map_err(GitError::file("compress", &path))?;
        // Another program may write the same object at the same time, which is harmless after a rename.
        let temporary = directory.join(format!("tmp_obj_{id}"));
        let written = fs::write(&temporary, compressed).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.map_err(GitError::file("write", &path))?;
        Ok(id)
    }

    /// The ids that start with these hexadecimal digits, at most two.
    pub(crate) fn starting_with(&self, prefix: &str) -> GitResult<Vec<ObjectId>> {
        let mut found = Vec::new();
        for pack in &self.packs {
            pack.starting_with(prefix, &mut found)?;
        }
        for directory in &self.directories {
            let Some((fan, rest)) = prefix.split_at_checked(2) else { break };
            for entry in fs::read_dir(directory.join(fan)).into_iter().flatten().flatten() {
                let name = entry.file_name().into_encoded_bytes();
                if name.starts_with(rest.as_bytes()) {
                    found.extend(ObjectId::parse(&[fan.as_bytes(), &name].concat()));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(2);
        Ok(found)
    }

    /// The unique abbreviation of an id, with at least as many digits as Git uses for a database of this size.
    pub(crate) fn abbreviated(&self, id: ObjectId, fixed: Option<usize>) -> GitResult<String> {
        let text = id.to_string();
        let packed: u64 = self.packs.iter().map(Pack::len).sum();
        let bits = u64::BITS - packed.leading_zeros();
        let mut digits = fixed.unwrap_or((bits.div_ceil(2) as usize).max(7)).min(40);
        if id.is_null() {
            return Ok(text[..digits].to_owned());
        }
        while digits < 40 && self.starting_with(&text[..digits])?.iter().any(|other| *other != id) {
            digits += 1;
        }
        Ok(text[..digits].to_owned())
    }
}

fn wrong_kind(id: ObjectId, kind: Kind, wanted: Kind) -> GitError {
    GitError::new(format_args!("the object {id} is a {kind} instead of a {wanted}"))
}

fn loose_path(objects: &Path, id: ObjectId) -> PathBuf {
    let text = id.to_string();
    objects.join(&text[..2]).join(&text[2..])
}

/// Reads a loose object.
fn loose(file: File, path: &Path) -> GitResult<Object> {
    let corrupt = || GitError::new(format_args!("the object in `{}` is corrupt", path.display()));
    let mut decoder = BufReader::new(ZlibDecoder::new(BufReader::new(file)));
    let mut head = Vec::new();
    decoder.by_ref().take(64).read_until(0, &mut head).map_err(GitError::file("read", path))?;
    let (kind, size) =
        head.strip_suffix(b"\0").and_then(|head| head.split_once_str(" ")).ok_or_else(corrupt)?;
    let kind = Kind::named(kind).ok_or_else(corrupt)?;
    let size: u64 = size.to_str().ok().and_then(|size| size.parse().ok()).ok_or_else(corrupt)?;
    let data = inflate(decoder, size).map_err(GitError::file("read", path))?.ok_or_else(corrupt)?;
    Ok(Object { kind, data: Rc::new(data) })
}

/// Reads exactly `size` bytes. `None` if there are more or fewer.
fn inflate(from: impl Read, size: u64) -> std::io::Result<Option<Vec<u8>>> {
    if size > MAX_OBJECT_BYTES {
        let message = format!("it has {size} bytes, but at most {MAX_OBJECT_BYTES} are supported");
        return Err(std::io::Error::other(message));
    }
    let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    from.take(size + 1).read_to_end(&mut data)?;
    Ok((data.len() as u64 == size).then_some(data))
}
