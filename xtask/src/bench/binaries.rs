//! What is measured and what measures, built.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::build_plugins;
use crate::project::Project;

/// How things are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Build {
    /// For figures.
    Release,
    /// To try whether the benchmarks work.
    Dev,
}

impl Build {
    /// Its name, which is also cargo's folder.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Release => &["--release"],
            Self::Dev => &[],
        }
    }
}

/// Where they lie.
#[derive(Debug)]
pub(super) struct Binaries {
    build: Build,
    pub(super) gateway: PathBuf,
    /// Measures from inside: dispatch without a transport, and timers beside looping guests.
    pub(super) inside: PathBuf,
    /// Writes plugins of any version and size.
    pub(super) generated: PathBuf,
    pub(super) axum: PathBuf,
    pub(super) rmcp: PathBuf,
    pub(super) load: PathBuf,
    /// The components.
    pub(super) dist: PathBuf,
}

impl Binaries {
    /// Where they will lie.
    pub(super) fn of(project: &Project, build: Build) -> Self {
        let exe = |folder: &Path, name: &str| folder.join(format!("{name}{}", env::consts::EXE_SUFFIX));
        let own = project.target().join(build.name());
        let peers = peers_target(project).join(build.name());
        Self {
            build,
            gateway: exe(&own, "moongate"),
            inside: exe(&own.join("examples"), "inside"),
            generated: exe(&own, "moongate-generated"),
            axum: exe(&peers, "axum-echo"),
            rmcp: exe(&peers, "rmcp-echo"),
            load: exe(&peers, "load"),
            dist: project.dist(),
        }
    }

    /// Builds them all.
    pub(super) fn build(&self, project: &Project) -> Result<()> {
        if !cfg!(target_os = "linux") {
            bail!("the benchmarks read processor time and memory as Linux shows them; run them there");
        }
        build_plugins::build(project)?;
        let own = project.cargo(&["build", "-p", "moongate", "--bin", "moongate", "--example", "inside"]);
        own.args(self.build.flags().iter().copied()).quiet_stdout().done()?;
        let generated = project.cargo(&["build", "-p", "moongate-generated"]);
        generated.args(self.build.flags().iter().copied()).quiet_stdout().done()?;
        let peers = project.cargo(&["build"]).folder(&project.root().join("tests/bench"));
        let peers = peers.env("CARGO_TARGET_DIR", peers_target(project));
        peers.args(self.build.flags().iter().copied()).quiet_stdout().done()
    }
}

/// The peers' own target folder: their workspace has a lock file of its own.
fn peers_target(project: &Project) -> PathBuf {
    project.target().join("bench")
}
