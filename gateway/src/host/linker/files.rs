//! Opening files: only files and directories, nothing that can make the gateway wait.
//!
//! WASI's own `open-at` opens whatever there is. Opening a pipe whose other end nobody holds never returns, and the
//! thread that waits for it is lost, because the system offers no way to call it back: a few hundred calls would take
//! all threads that files, schemas and loading need. A terminal or another device may wait likewise when it is read.

use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor as _, OpenFlags, PathFlags,
};

use crate::host::store::State;

type Question = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);
type Answer = (std::result::Result<Resource<Descriptor>, ErrorCode>,);

/// Puts a careful `open-at` in the place of WASI's.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.allow_shadowing(true);
    linker.instance("wasi:filesystem/types@0.2.12")?.func_wrap_async(
        "[method]descriptor.open-at",
        |store: StoreContextMut<'_, State>, question: Question| Box::new(open(store, question)),
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

async fn open(
    mut store: StoreContextMut<'_, State>,
    (dir, path_flags, path, open_flags, flags): Question,
) -> Result<Answer> {
    let mut files = store.data_mut().filesystem();
    let again = Resource::new_borrow(dir.rep());
    // What isn't there may be made; any other reason not to look at it is also one not to open it.
    if let Ok(found) = files.stat_at(again, path_flags, path.clone()).await {
        match found.type_ {
            DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink => {}
            DescriptorType::Fifo
            | DescriptorType::BlockDevice
            | DescriptorType::CharacterDevice
            | DescriptorType::Socket
            | DescriptorType::Unknown => return Ok((Err(ErrorCode::NotPermitted),)),
        }
    }
    match files.open_at(dir, path_flags, path, open_flags, flags).await {
        Ok(opened) => Ok((Ok(opened),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}
