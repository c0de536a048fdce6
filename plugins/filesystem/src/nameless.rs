//! Directories with names that aren't UTF-8. A component can't represent such a name, and its library stops reading
//! there; read entry by entry, the host returns the others.

use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

use crate::granted::{Access, Directory};
use crate::list::{Entry, EntryKind};

/// The entries of a directory whose names are UTF-8.
pub(crate) fn others(path: &str) -> Result<Vec<Entry>, ErrorCode> {
    let opened = preopens::get_directories();
    let below = |granted: &str| Directory { path: granted.to_owned(), access: Access::Read };
    let found: Option<(&Descriptor, &str, &str)> = opened
        .iter()
        .filter_map(|(descriptor, granted)| Some((descriptor, granted.as_str(), below(granted).below(path)?)))
        .max_by_key(|(_, granted, _)| granted.len());
    let (granted, _, below) = found.ok_or(ErrorCode::NoEntry)?;
    let below = if below.is_empty() { "." } else { below };
    let directory =
        granted.open_at(PathFlags::empty(), below, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
    let stream = directory.read_directory()?;
    let mut entries = Vec::new();
    loop {
        match stream.read_directory_entry() {
            Ok(Some(entry)) => {
                let is_dir = entry.type_ == DescriptorType::Directory;
                let kind = if is_dir { EntryKind::Directory } else { EntryKind::File };
                entries.push(Entry { name: entry.name, kind });
            }
            Ok(None) => return Ok(entries),
            Err(ErrorCode::IllegalByteSequence) => {}
            Err(error) => return Err(error),
        }
    }
}
