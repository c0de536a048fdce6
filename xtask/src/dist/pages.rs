//! Shell completions and man pages, which the binary generates.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::{BuiltBinary, Release};
use crate::run::ProcessRun;

/// The generated texts.
#[derive(Debug)]
pub(super) struct GeneratedPages {
    pub(super) bash: Vec<u8>,
    pub(super) zsh: Vec<u8>,
    pub(super) fish: Vec<u8>,
    /// Man pages by file name, such as `moongate-serve.1`.
    pub(super) man: BTreeMap<String, Vec<u8>>,
}

impl GeneratedPages {
    /// Runs the binary. For a target that this machine can't run, the pages of the default target are used: they are
    /// the same.
    pub(super) fn generate(release: &Release<'_>, built: &BuiltBinary) -> Result<Self> {
        let program = if built.target.is_native() {
            built.path.clone()
        } else {
            super::binary::existing(release, super::Target::DEFAULT)
        };
        let completions = |shell: &str| {
            let text = ProcessRun::new(&program).args(["completions", shell]).read_stdout()?;
            Ok::<_, anyhow::Error>(text.into_bytes())
        };
        let directory = release.scratch(built.target).join("man");
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .with_context(|| format!("can't remove `{}`", directory.display()))?;
        }
        ProcessRun::new(&program).arg("man").arg(&directory).read_stdout()?;
        let mut man = BTreeMap::new();
        for entry in
            fs::read_dir(&directory).with_context(|| format!("can't read `{}`", directory.display()))?
        {
            let entry = entry?;
            man.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
        }
        ensure!(man.contains_key("moongate.1"), "`moongate man` wrote no page `moongate.1`");
        Ok(Self { bash: completions("bash")?, zsh: completions("zsh")?, fish: completions("fish")?, man })
    }
}
