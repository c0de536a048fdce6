//! The ways in which editors, build tools and orchestrators replace a file.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A way to replace a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceMethod {
    /// Write a new file next to it and rename it: most editors, package managers.
    Rename,
    /// Overwrite the file at once: `cp`.
    InPlace,
    /// Overwrite the file in pieces: a slow copy, a linker.
    Pieces,
    /// Delete it and create it again later: `rm` and `cp`.
    DeleteAndCreate,
    /// Retarget a symlink to a file per version: release directories.
    Symlink,
    /// Retarget the directory symlink `..data` that the file's symlink goes through: Kubernetes volumes.
    DataSwap,
    /// Rename a hard link of another file over it: cargo's `target` directory.
    HardLink,
}

impl ReplaceMethod {
    /// All variants.
    pub const ALL: [Self; 7] = [
        Self::Rename,
        Self::InPlace,
        Self::Pieces,
        Self::DeleteAndCreate,
        Self::Symlink,
        Self::DataSwap,
        Self::HardLink,
    ];
}

/// A file that a test replaces repeatedly.
#[derive(Debug)]
pub struct ReplaceableFile {
    file: PathBuf,
    count: u32,
}

impl ReplaceableFile {
    /// A file at this path, which need not exist yet. Its directory must exist; other files in it aren't touched.
    #[must_use]
    pub fn new(file: PathBuf) -> Self {
        Self { file, count: 0 }
    }

    /// The file's path.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Replaces the content. `between` runs while the file is incomplete or missing, if the way has such moments.
    ///
    /// # Panics
    /// If a file operation fails.
    pub fn replace_by(&mut self, way: ReplaceMethod, bytes: &[u8], between: &mut dyn FnMut()) {
        self.count += 1;
        match way {
            ReplaceMethod::Rename => {
                let new_file = self.sibling("new");
                fs::write(&new_file, bytes).expect("write the file");
                fs::rename(&new_file, &self.file).expect("rename the file");
            }
            ReplaceMethod::InPlace => fs::write(&self.file, bytes).expect("write the file"),
            ReplaceMethod::Pieces => {
                const PIECES: usize = 3;
                let mut file = File::create(&self.file).expect("open the file");
                for piece in bytes.chunks(bytes.len() / PIECES + 1) {
                    file.write_all(piece).expect("write a piece");
                    between();
                }
            }
            ReplaceMethod::DeleteAndCreate => {
                // This also removes a dangling symlink.
                fs::remove_file(&self.file).expect("remove the file");
                between();
                fs::write(&self.file, bytes).expect("write the file");
            }
            ReplaceMethod::Symlink => {
                let target = self.sibling("target");
                fs::write(&target, bytes).expect("write the file");
                self.retarget(&target, &self.file);
            }
            ReplaceMethod::DataSwap => self.swap_data_symlink(bytes),
            ReplaceMethod::HardLink => {
                let elsewhere = self.sibling("elsewhere");
                let name = self.sibling("name");
                fs::write(&elsewhere, bytes).expect("write the file");
                fs::hard_link(&elsewhere, &name).expect("create the hard link");
                fs::rename(&name, &self.file).expect("rename the file");
            }
        }
    }

    /// Replaces the file by renaming.
    pub fn replace(&mut self, bytes: &[u8]) {
        self.replace_by(ReplaceMethod::Rename, bytes, &mut || {});
    }

    /// Replaces the file like a Kubernetes volume: `..data` points to the newest directory, and the file's symlink goes
    /// through it.
    fn swap_data_symlink(&self, bytes: &[u8]) {
        let directory = self.file.parent().expect("the file has a parent directory");
        let version = format!("..version-{}", self.count);
        let name = self.file.file_name().expect("a file has a name");
        fs::create_dir(directory.join(&version)).expect("create the directory");
        fs::write(directory.join(&version).join(name), bytes).expect("write the file");
        let inside = Path::new("..data").join(name);
        self.retarget(Path::new(&version), &directory.join("..data"));
        if fs::read_link(&self.file).ok().as_ref() != Some(&inside) {
            self.retarget(&inside, &self.file);
        }
    }

    /// Atomically points `link` at `target`.
    fn retarget(&self, target: &Path, link: &Path) {
        let new_file = self.sibling("link");
        symlink(target, &new_file).expect("create the symlink");
        fs::rename(&new_file, link).expect("rename the symlink");
    }

    /// An unused name in the same directory.
    fn sibling(&self, what: &str) -> PathBuf {
        let name = self.file.file_name().expect("a file has a name").to_string_lossy();
        self.file.with_file_name(format!(".{name}.{}.{what}", self.count))
    }
}
