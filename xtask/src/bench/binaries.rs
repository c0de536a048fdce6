//! The measured programs and the load generator.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use crate::build_plugins;
use crate::dist::Target;
use crate::project::Project;

/// The profile of the builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuildProfile {
    /// The gateway that `cargo xtask dist` built.
    Dist,
    /// A plain release build.
    Release,
    /// To test the benchmark itself.
    Dev,
}

impl BuildProfile {
    /// The name in the JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dist => "dist",
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }

    /// The directory in cargo's target directory of the programs for the measurements.
    fn directory(self) -> &'static str {
        match self {
            Self::Dist | Self::Release => "release",
            Self::Dev => "debug",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Dist | Self::Release => &["--release"],
            Self::Dev => &[],
        }
    }
}

/// The paths of the built programs.
#[derive(Debug, Clone)]
pub(super) struct Binaries {
    build: BuildProfile,
    pub(super) gateway: PathBuf,
    /// The example that measures dispatch without a transport, and timers during looping guests.
    pub(super) inside: PathBuf,
    /// Generates plugins of any version and size.
    pub(super) generated: PathBuf,
    pub(super) axum: PathBuf,
    pub(super) rmcp: PathBuf,
    pub(super) load: PathBuf,
    /// The directory of the components.
    pub(super) dist: PathBuf,
}

impl Binaries {
    /// The paths for a profile.
    pub(super) fn of(project: &Project, build: BuildProfile) -> Self {
        let exe = |directory: &Path, name: &str| directory.join(format!("{name}{}", env::consts::EXE_SUFFIX));
        let own = project.target().join(build.directory());
        let peers = peers_target(project).join(build.directory());
        let gateway = match build {
            BuildProfile::Dist => project.target().join(Target::DEFAULT.triple).join("release/moongate"),
            BuildProfile::Release | BuildProfile::Dev => exe(&own, "moongate"),
        };
        Self {
            build,
            gateway,
            inside: exe(&own.join("examples"), "inside"),
            generated: exe(&own, "moongate-generated"),
            axum: exe(&peers, "axum-echo"),
            rmcp: exe(&peers, "rmcp-echo"),
            load: exe(&peers, "load"),
            dist: project.dist(),
        }
    }

    /// The same programs with another gateway.
    pub(super) fn with_gateway(&self, gateway: &Path) -> Self {
        Self { gateway: gateway.to_owned(), ..self.clone() }
    }

    /// Builds all programs, except for a gateway that `cargo xtask dist` builds.
    pub(super) fn build(&self, project: &Project) -> Result<()> {
        if self.build == BuildProfile::Dist {
            ensure!(self.gateway.exists(), "run `cargo xtask dist binary` first");
        }
        let own = project.cargo(&["build", "-p", "moongate", "--bin", "moongate", "--example", "inside"]);
        own.args(self.build.flags().iter().copied()).stdout_to_stderr().run()?;
        self.build_tools(project)
    }

    /// Builds the programs that a load on a gateway needs.
    pub(super) fn build_tools(&self, project: &Project) -> Result<()> {
        if !cfg!(target_os = "linux") {
            bail!("the benchmarks read processor time and memory from `/proc`; run them on Linux");
        }
        build_plugins::build(project)?;
        let generated = project.cargo(&["build", "-p", "moongate-generated"]);
        generated.args(self.build.flags().iter().copied()).stdout_to_stderr().run()?;
        let peers = project.cargo(&["build"]).current_dir(&project.root().join("tests/bench"));
        let peers = peers.env("CARGO_TARGET_DIR", peers_target(project));
        peers.args(self.build.flags().iter().copied()).stdout_to_stderr().run()
    }
}

/// The peers' target directory; their workspace has its own lock file.
fn peers_target(project: &Project) -> PathBuf {
    project.target().join("bench")
}
