//! Packs: many objects in one file, some as differences to others, with an index (gitformat-pack, version 2).

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::bufread::ZlibDecoder;

use super::{Object, inflate};
use crate::fault::{GitError, GitResult};
use crate::object::{Kind, ObjectId};

/// The bytes of an index before its ids: magic, version, and the number of ids up to each first byte.
const INDEX_HEAD_BYTES: usize = 8 + 256 * 4;

/// The maximum number of differences from a whole object to another object. Git writes at most 4095.
const MAX_DELTA_DEPTH: usize = 10_000;

/// The maximum size of the objects that are kept because others may be differences to them, in bytes.
const MAX_CACHE_BYTES: usize = 8 << 20;

/// A pack with its index.
#[derive(Debug)]
pub(super) struct Pack {
    index_path: PathBuf,
    index: RefCell<File>,
    data_path: PathBuf,
    data: OnceCell<RefCell<File>>,
    /// The number of ids up to and including each first byte.
    fanout: Vec<u32>,
    /// The ids of each first byte, when they have been read.
    buckets: Vec<OnceCell<Vec<u8>>>,
    cache: RefCell<BaseCache>,
}

#[derive(Debug, Default)]
struct BaseCache {
    objects: HashMap<u64, Object>,
    bytes: usize,
}

/// The base of an object that is stored as a difference.
enum Base {
    Offset(u64),
    Id(ObjectId),
}

impl Pack {
    /// Opens a pack by the path of its index.
    pub(super) fn open(index_path: &Path) -> GitResult<Self> {
        let mut index = File::open(index_path).map_err(GitError::file("read", index_path))?;
        let mut head = vec![0; INDEX_HEAD_BYTES];
        index.read_exact(&mut head).map_err(GitError::file("read", index_path))?;
        if head[..8] != *b"\xfftOc\0\0\0\x02" {
            return Err(GitError::new(format_args!(
                "`{}` isn't a pack index of version 2; run `git gc`",
                index_path.display()
            )));
        }
        let fanout = head[8..].chunks_exact(4).map(number).collect();
        Ok(Self {
            index_path: index_path.to_owned(),
            index: RefCell::new(index),
            data_path: index_path.with_extension("pack"),
            data: OnceCell::new(),
            fanout,
            buckets: (0..256).map(|_| OnceCell::new()).collect(),
            cache: RefCell::default(),
        })
    }

    /// The number of objects.
    pub(super) fn len(&self) -> u64 {
        self.fanout.last().copied().unwrap_or(0).into()
    }

    /// The position of the first id with this first byte, and all ids with it.
    fn bucket(&self, first: u8) -> GitResult<(u64, &[u8])> {
        let first = usize::from(first);
        let start = if first == 0 { 0 } else { self.fanout[first - 1] };
        let end = self.fanout[first];
        let cell = &self.buckets[first];
        if let Some(ids) = cell.get() {
            return Ok((start.into(), ids));
        }
        let mut ids = vec![0; end.saturating_sub(start) as usize * 20];
        self.read_index(INDEX_HEAD_BYTES as u64 + u64::from(start) * 20, &mut ids)?;
        Ok((start.into(), cell.get_or_init(|| ids)))
    }

    fn read_index(&self, at: u64, bytes: &mut [u8]) -> GitResult<()> {
        let mut file = self.index.borrow_mut();
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes));
        read.map_err(GitError::file("read", &self.index_path))
    }

    /// The offset of an object in the pack. `None` if the pack doesn't have it.
    pub(super) fn offset(&self, id: ObjectId) -> GitResult<Option<u64>> {
        let (start, ids) = self.bucket(id.0[0])?;
        let (mut low, mut high) = (0, ids.len() / 20);
        while low < high {
            let middle = usize::midpoint(low, high);
            match ids[middle * 20..middle * 20 + 20].cmp(&id.0) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset_at(start + middle as u64).map(Some),
            }
        }
        Ok(None)
    }

    /// The offset of the object at a position of the index.
    fn offset_at(&self, position: u64) -> GitResult<u64> {
        let offsets = INDEX_HEAD_BYTES as u64 + self.len() * 24;
        let mut small = [0; 4];
        self.read_index(offsets + position * 4, &mut small)?;
        let small = u32::from_be_bytes(small);
        if small & 0x8000_0000 == 0 {
            return Ok(small.into());
        }
        let mut large = [0; 8];
        self.read_index(offsets + self.len() * 4 + u64::from(small & 0x7fff_ffff) * 8, &mut large)?;
        Ok(u64::from_be_bytes(large))
    }

    /// Adds the ids that start with these hexadecimal digits, at least two digits.
    pub(super) fn starting_with(&self, prefix: &str, found: &mut Vec<ObjectId>) -> GitResult<()> {
        let Some(first) = prefix.get(..2).and_then(|first| u8::from_str_radix(first, 16).ok()) else {
            return Ok(());
        };
        let (_, ids) = self.bucket(first)?;
        let ids = ids.chunks_exact(20).filter_map(ObjectId::read);
        found.extend(ids.filter(|id| id.to_string().starts_with(prefix)));
        Ok(())
    }

    /// The object at an offset. `find` returns an object by its id, for differences to objects elsewhere.
    pub(super) fn object(
        &self,
        offset: u64,
        find: &dyn Fn(ObjectId) -> GitResult<Option<Object>>,
    ) -> GitResult<Object> {
        // The chain of differences, the wanted object first.
        let mut chain = Vec::new();
        let mut at = offset;
        let mut object = loop {
            if let Some(object) = self.cache.borrow().objects.get(&at) {
                break object.clone();
            }
            if chain.len() > MAX_DELTA_DEPTH {
                return Err(self.corrupt());
            }
            let (kind, data, base) = self.entry(at)?;
            match (kind, base) {
                (Some(kind), _) => {
                    let object = Object { kind, data: Rc::new(data) };
                    self.keep(at, &object);
                    break object;
                }
                (None, Some(Base::Offset(base))) => {
                    chain.push((at, data));
                    at = base;
                }
                (None, Some(Base::Id(id))) => {
                    chain.push((at, data));
                    match self.offset(id)? {
                        Some(base) => at = base,
                        None => break find(id)?.ok_or_else(|| self.corrupt())?,
                    }
                }
                (None, None) => return Err(self.corrupt()),
            }
        };
        while let Some((at, delta)) = chain.pop() {
            let data = apply(&object.data, &delta).ok_or_else(|| self.corrupt())?;
            object = Object { kind: object.kind, data: Rc::new(data) };
            self.keep(at, &object);
        }
        Ok(object)
    }

    /// Reads the entry at an offset: the kind of a whole object, the content, and the base of a difference.
    fn entry(&self, offset: u64) -> GitResult<(Option<Kind>, Vec<u8>, Option<Base>)> {
        let failed = || GitError::file("read", &self.data_path);
        let mut file = match self.data.get() {
            Some(file) => file.borrow_mut(),
            None => {
                let file = File::open(&self.data_path).map_err(failed())?;
                self.data.get_or_init(|| RefCell::new(file)).borrow_mut()
            }
        };
        file.seek(SeekFrom::Start(offset)).map_err(failed())?;
        let mut reader = BufReader::with_capacity(4096, &mut *file);
        let mut next = || -> GitResult<u8> {
            let byte = reader.fill_buf().map_err(failed())?.first().copied().ok_or_else(|| self.corrupt())?;
            reader.consume(1);
            Ok(byte)
        };
        let mut byte = next()?;
        let kind = byte >> 4 & 7;
        let mut size = u64::from(byte & 15);
        let mut shift = 4;
        while byte & 0x80 != 0 {
            byte = next()?;
            size |= u64::from(byte & 0x7f).checked_shl(shift).ok_or_else(|| self.corrupt())?;
            shift += 7;
        }
        let (kind, base) = match kind {
            1 => (Some(Kind::Commit), None),
            2 => (Some(Kind::Tree), None),
            3 => (Some(Kind::Blob), None),
            4 => (Some(Kind::Tag), None),
            6 => {
                byte = next()?;
                let mut back = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    back = (back.saturating_add(1)).saturating_mul(128) | u64::from(byte & 0x7f);
                }
                // A difference to itself would never end.
                let base = offset.checked_sub(back).filter(|_| back > 0).ok_or_else(|| self.corrupt())?;
                (None, Some(Base::Offset(base)))
            }
            7 => {
                let mut id = [0; 20];
                for byte in &mut id {
                    *byte = next()?;
                }
                (None, Some(Base::Id(ObjectId(id))))
            }
            _ => return Err(self.corrupt()),
        };
        let data =
            inflate(ZlibDecoder::new(reader), size).map_err(failed())?.ok_or_else(|| self.corrupt())?;
        Ok((kind, data, base))
    }

    fn keep(&self, offset: u64, object: &Object) {
        let mut cache = self.cache.borrow_mut();
        if cache.bytes + object.data.len() > MAX_CACHE_BYTES {
            *cache = BaseCache::default();
        }
        if object.data.len() <= MAX_CACHE_BYTES {
            cache.bytes += object.data.len();
            cache.objects.insert(offset, object.clone());
        }
    }

    fn corrupt(&self) -> GitError {
        GitError::new(format_args!("the pack `{}` is corrupt", self.data_path.display()))
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_be_bytes)
}

/// Applies a difference: instructions to copy from the base or to insert new bytes.
fn apply(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut delta = delta.iter().copied();
    let mut size = || {
        let mut size = 0_usize;
        let mut shift = 0;
        loop {
            let byte = delta.next()?;
            size |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(size);
            }
        }
    };
    let [base_size, result_size] = [size()?, size()?];
    if base_size != base.len() || result_size as u64 > super::MAX_OBJECT_BYTES {
        return None;
    }
    let mut result = Vec::with_capacity(result_size);
    while let Some(instruction) = delta.next() {
        if instruction & 0x80 == 0 {
            let count = usize::from(instruction);
            let before = result.len();
            result.extend(delta.by_ref().take(count));
            if count == 0 || result.len() - before != count {
                return None;
            }
            continue;
        }
        let mut field = |bits: std::ops::Range<u32>| {
            let mut value = 0_usize;
            for (index, bit) in bits.enumerate() {
                if instruction >> bit & 1 != 0 {
                    value |= usize::from(delta.next()?) << (8 * index);
                }
            }
            Some(value)
        };
        let start = field(0..4)?;
        let count = match field(4..7)? {
            0 => 0x10000,
            count => count,
        };
        if result.len() + count > result_size {
            return None;
        }
        result.extend_from_slice(base.get(start..start.checked_add(count)?)?);
    }
    (result.len() == result_size).then_some(result)
}
