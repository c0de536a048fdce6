//! The ways in which editors, build tools and orchestrators put another file in a file's place.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// How a file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Written beside it and renamed: most editors, package managers.
    Rename,
    /// Written into the file that is there, at once: `cp`.
    InPlace,
    /// Written into the file that is there, piece by piece: a slow copy, a linker.
    Pieces,
    /// Removed, and made anew later: `rm` and `cp`.
    DeleteAndCreate,
    /// A symbolic link to a file of each version, which is retargeted: releases in folders.
    Symlink,
    /// A link into the folder `..data`, itself a link that is retargeted: volumes of Kubernetes.
    DataSwap,
    /// A second name of a file elsewhere, put in its place: cargo's `target` folder.
    HardLink,
}

impl Way {
    /// All of them.
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

/// A file that is replaced again and again, each time in any way.
#[derive(Debug)]
pub struct Replaced {
    file: PathBuf,
    count: u32,
}

impl Replaced {
    /// The file of that path, which need not be there yet. Its folder is there, and others' files in it have nothing to
    /// fear.
    #[must_use]
    pub fn new(file: PathBuf) -> Self {
        Self { file, count: 0 }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Puts these bytes in its place. `between` runs while it is half there, or not at all, where the way has such
    /// moments.
    ///
    /// # Panics
    /// The system doesn't let it.
    pub fn by(&mut self, way: Way, bytes: &[u8], between: &mut dyn FnMut()) {
        self.count += 1;
        match way {
            Way::Rename => {
                let beside = self.beside("new");
                fs::write(&beside, bytes).expect("a file is written");
                fs::rename(&beside, &self.file).expect("a file is renamed");
            }
            Way::InPlace => fs::write(&self.file, bytes).expect("a file is written"),
            Way::Pieces => {
                const PIECES: usize = 3;
                let mut file = File::create(&self.file).expect("a file is opened");
                for piece in bytes.chunks(bytes.len() / PIECES + 1) {
                    file.write_all(piece).expect("a piece is written");
                    between();
                }
            }
            Way::DeleteAndCreate => {
                // It may be a link to what is gone; then the link is what stands there.
                fs::remove_file(&self.file).expect("a file is removed");
                between();
                fs::write(&self.file, bytes).expect("a file is written");
            }
            Way::Symlink => {
                let target = self.beside("target");
                fs::write(&target, bytes).expect("a file is written");
                self.link(&target, &self.file);
            }
            Way::DataSwap => self.swap(bytes),
            Way::HardLink => {
                let (elsewhere, name) = (self.beside("elsewhere"), self.beside("name"));
                fs::write(&elsewhere, bytes).expect("a file is written");
                fs::hard_link(&elsewhere, &name).expect("a file gets a second name");
                fs::rename(&name, &self.file).expect("a file is renamed");
            }
        }
    }

    /// Replaces it by renaming.
    pub fn with(&mut self, bytes: &[u8]) {
        self.by(Way::Rename, bytes, &mut || {});
    }

    /// Like a volume of Kubernetes: `..data` leads to the newest folder, and the file leads through it.
    fn swap(&self, bytes: &[u8]) {
        let folder = self.file.parent().expect("a file is in a folder");
        let version = format!("..version-{}", self.count);
        let name = self.file.file_name().expect("a file has a name");
        fs::create_dir(folder.join(&version)).expect("a folder is made");
        fs::write(folder.join(&version).join(name), bytes).expect("a file is written");
        let inside = Path::new("..data").join(name);
        self.link(Path::new(&version), &folder.join("..data"));
        if fs::read_link(&self.file).ok().as_ref() != Some(&inside) {
            self.link(&inside, &self.file);
        }
    }

    /// Makes `link` lead to `target`, without a moment in which it leads nowhere.
    fn link(&self, target: &Path, link: &Path) {
        let beside = self.beside("link");
        symlink(target, &beside).expect("a link is made");
        fs::rename(&beside, link).expect("a link is renamed");
    }

    /// A name in the same folder that nothing has yet.
    fn beside(&self, what: &str) -> PathBuf {
        let name = self.file.file_name().expect("a file has a name").to_string_lossy();
        self.file.with_file_name(format!(".{name}.{}.{what}", self.count))
    }
}
