//! File errors. Read and write files with [`std::fs`], in the directories that the operator grants.

use std::fs::File;
use std::io;

/// The number of the general I/O error in WASI's C library.
#[cfg(target_family = "wasm")]
const EIO: i32 = 29;

/// Returns the reason why reading or writing `file` failed, such as a full disk. Other errors are returned unchanged.
///
/// The C library of WASI reports every failed read and write as an I/O error without a reason. The gateway knows the
/// reason, and this function asks for it.
///
/// ```
/// # use moongate_sdk::prelude::*;
/// use moongate_sdk::files;
/// use std::fs::File;
/// use std::io::Write;
///
/// # fn save(text: &str) -> Result<(), ToolError> {
/// let mut file = File::create("/notes/today.md")?;
/// file.write_all(text.as_bytes()).map_err(|error| files::reason(&file, error))?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn reason(file: &File, error: io::Error) -> io::Error {
    #[cfg(target_family = "wasm")]
    if error.raw_os_error() == Some(EIO) {
        return file.sync_data().err().unwrap_or(error);
    }
    #[cfg(not(target_family = "wasm"))]
    let _ = file;
    error
}
