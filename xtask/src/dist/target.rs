//! The targets of a release, with the names that packages use for them.

use anyhow::{Context as _, Result};

/// A compilation target of the released binaries.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Rust's name.
    pub(crate) triple: &'static str,
    /// Debian's name of the architecture.
    pub(crate) debian: &'static str,
    /// The name of the architecture in container images.
    pub(crate) oci: &'static str,
    /// The binary logarithm of the largest page that its kernels use, if there are several.
    pub(crate) largest_page: Option<&'static str>,
}

const TARGETS: [Target; 2] = [
    Target { triple: "x86_64-unknown-linux-musl", debian: "amd64", oci: "amd64", largest_page: None },
    Target {
        triple: "aarch64-unknown-linux-musl",
        debian: "arm64",
        oci: "arm64",
        largest_page: Some("16"), // 64 KiB
    },
];

impl Target {
    /// The target that is built without `--target`.
    pub(crate) const DEFAULT: &'static Self = &TARGETS[0];

    /// Finds a target by Rust's name.
    pub(crate) fn find(triple: &str) -> Result<&'static Self> {
        TARGETS.iter().find(|target| target.triple == triple).with_context(|| {
            let known = TARGETS.each_ref().map(|target| target.triple).join("`, `");
            format!("unknown target `{triple}`: expected `{known}`")
        })
    }

    /// Reports whether this machine can run its programs.
    pub(crate) fn is_native(&self) -> bool {
        self.triple.split('-').next() == Some(std::env::consts::ARCH) && cfg!(target_os = "linux")
    }
}
