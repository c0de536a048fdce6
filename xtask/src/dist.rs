//! `dist`: the files of a release: static binaries, archives, a Debian package, a container image, an MCP bundle, and
//! what describes them. Each part can be written alone, from a binary that exists already.
//!
//! Binaries for this machine's architecture are profile-guided, and the profile is one of the files. The same commit with the
//! same profile and the same version of LLVM's libc gives the same bytes: all times are `SOURCE_DATE_EPOCH` or that of the
//! commit.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::install;
use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::ProcessRun;

mod archive;
mod binary;
mod bundle;
mod checksums;
mod debian;
mod file_tree;
mod image;
mod image_trial;
mod memory_functions;
mod pages;
mod profile;
mod repository;
mod sbom;
mod server_json;
mod target;

pub(crate) use repository::Repository;
pub(crate) use target::Target;

/// The version of the release: that of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

const HELP: &str = "\
Writes the files of a release to `dist` in cargo's target directory.

Usage: cargo xtask dist [part…] [options]

Parts (default: all of them):
  binary         a static, stripped binary for each target, with its list of dependencies (needs cargo-auditable
                 and, for x86-64, LLVM's libc)
  archive        a `.tar.gz` with the binary, shell completions, man pages and systemd units
  deb            a Debian package (needs dpkg-deb)
  image          a container image, as an OCI image layout; no container engine is needed
  bundle         an MCP bundle, `.mcpb` (needs npm)
  server-json    `server.json` for the MCP Registry, with the bundles of this run (needs --repository)
  sbom           the software bill of materials, in the format of CycloneDX (needs cargo-cyclonedx)
  checksums      `SHA256SUMS` of all files

Not in the default:
  try-image      run the written image as an unprivileged user with a read-only root (needs bubblewrap)

Options:
  --target TRIPLE      build for this target; repeat for several
                       (default: x86_64-unknown-linux-musl; aarch64-unknown-linux-musl needs cargo-zigbuild)
  --binary FILE        package this binary instead of building one; it must run on this machine
  --profile FILE       build with this profile instead of recording one first
  --no-profile         build without a profile
  --repository URL     the address of the source code, for metadata
  --ca-bundle FILE     certificates for the image (default: /etc/ssl/certs/ca-certificates.crt)
";

/// A part of the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DistPart {
    Binary,
    Archive,
    Deb,
    Image,
    Bundle,
    ServerJson,
    Sbom,
    Checksums,
    TryImage,
}

impl DistPart {
    /// All parts, in the order in which they are written.
    const ALL: [Self; 9] = [
        Self::Binary,
        Self::Archive,
        Self::Deb,
        Self::Image,
        Self::Bundle,
        Self::ServerJson,
        Self::Sbom,
        Self::Checksums,
        Self::TryImage,
    ];

    /// The name as an argument.
    fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Archive => "archive",
            Self::Deb => "deb",
            Self::Image => "image",
            Self::Bundle => "bundle",
            Self::ServerJson => "server-json",
            Self::Sbom => "sbom",
            Self::Checksums => "checksums",
            Self::TryImage => "try-image",
        }
    }
}

/// The options of the verb.
#[derive(Debug)]
struct DistOptions {
    parts: Vec<DistPart>,
    targets: Vec<&'static Target>,
    /// A binary that is packaged as it is.
    binary: Option<PathBuf>,
    profile: ProfileSource,
    repository: Option<Repository>,
    ca_bundle: PathBuf,
}

/// The profile of the built binaries. Those for other architectures than this machine's have none.
#[derive(Debug)]
enum ProfileSource {
    /// Recorded before the build.
    Record,
    /// Recorded earlier.
    File(PathBuf),
    /// There is no profile.
    Unused,
}

/// The directory and the facts that all parts share.
#[derive(Debug)]
pub(crate) struct Release<'a> {
    pub(crate) project: &'a Project,
    /// The directory of the finished files.
    pub(crate) directory: PathBuf,
    /// The time of everything in the packages, in seconds since 1970.
    pub(crate) time: u64,
    pub(crate) repository: Option<Repository>,
}

/// The binary for a target, and the pages that it generates.
#[derive(Debug)]
pub(crate) struct BuiltBinary {
    pub(crate) target: &'static Target,
    pub(crate) path: PathBuf,
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    if rest.iter().any(|word| word == "--help" || word == "-h") {
        report::print(HELP);
        return Ok(ExitCode::SUCCESS);
    }
    let options = DistOptions::read(rest)?;
    let directory = project.target().join("dist");
    fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
    let time = source_time(project)?;
    let release = Release { project, directory, time, repository: options.repository.clone() };
    for file in write_parts(&release, &options)? {
        let size = fs::metadata(&file).map(|found| found.len()).unwrap_or_default();
        report::print(&format!("{:>11}  {}\n", size, file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Packs an MCP bundle with a stand-in for the binary, so that the official tool checks its manifest.
pub(crate) fn check_bundle(project: &Project) -> Result<Tally> {
    let directory = project.target().join("dist/check");
    fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
    let repository = Some(Repository::new("https://github.com/example/moongate")?);
    let release = Release { project, directory, time: source_time(project)?, repository };
    Ok(match bundle::pack(&release, Target::DEFAULT, b"a stand-in".to_vec())? {
        Ok(_) => Tally::PASS,
        Err(missing) => install::skip_loudly("MCP bundle", &missing),
    })
}

/// Writes the parts and returns the finished files.
fn write_parts(release: &Release<'_>, options: &DistOptions) -> Result<Vec<PathBuf>> {
    let needs = |part: DistPart| options.parts.contains(&part);
    let mut files = Vec::new();
    let mut binaries = Vec::new();
    for target in &options.targets {
        let path = match &options.binary {
            Some(file) => file.clone(),
            None if needs(DistPart::Binary) => {
                let profile = prepare_profile(release, target, &options.profile, &mut files)?;
                binary::build(release, target, profile.as_deref())?
            }
            None => binary::existing(release, target),
        };
        binaries.push(BuiltBinary { target, path });
    }
    for built in &binaries {
        if needs(DistPart::Archive) {
            files.push(archive::write(release, built)?);
        }
        if needs(DistPart::Deb) {
            files.push(debian::write(release, built)?);
        }
        if needs(DistPart::Bundle) {
            files.push(bundle::write(release, built)?);
        }
    }
    if needs(DistPart::Image) {
        files.push(image::write(release, &binaries, &options.ca_bundle)?);
    }
    if needs(DistPart::ServerJson) {
        files.push(server_json::write(release, &binaries)?);
    }
    if needs(DistPart::Sbom) {
        files.extend(sbom::write(release, &options.targets)?);
    }
    if needs(DistPart::Checksums) {
        files.push(checksums::write(release)?);
    }
    if needs(DistPart::TryImage) {
        image_trial::run(release)?;
    }
    Ok(files)
}

/// The profile for a target's binary. It is kept as a file of the release, so that others can build the same binary.
fn prepare_profile(
    release: &Release<'_>,
    target: &Target,
    source: &ProfileSource,
    files: &mut Vec<PathBuf>,
) -> Result<Option<PathBuf>> {
    let name = format!("moongate-{VERSION}-{}.profdata", target.triple);
    let packed = release.directory.join(format!("{name}.gz"));
    if packed.exists() {
        fs::remove_file(&packed).with_context(|| format!("can't remove `{}`", packed.display()))?;
    }
    let profile = match source {
        ProfileSource::Unused => return Ok(None),
        ProfileSource::Record | ProfileSource::File(_) if !target.is_native() => {
            let triple = target.triple;
            report::note(&format!(
                "{triple}: building without a profile, which only that architecture can record"
            ));
            return Ok(None);
        }
        ProfileSource::Record => profile::record(release, target)?,
        ProfileSource::File(file) => {
            profile::check(release, file)?;
            file.clone()
        }
    };
    let kept = release
        .finish(&name, &fs::read(&profile).with_context(|| format!("can't read `{}`", profile.display()))?)?;
    gzip(&kept)?;
    files.push(packed);
    Ok(Some(profile))
}

impl DistOptions {
    /// Reads the arguments.
    fn read(rest: &[String]) -> Result<Self> {
        let mut options = Self {
            parts: Vec::new(),
            targets: Vec::new(),
            binary: None,
            profile: ProfileSource::Record,
            repository: Repository::from_environment()?,
            ca_bundle: PathBuf::from("/etc/ssl/certs/ca-certificates.crt"),
        };
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--target" => options.targets.push(Target::find(value()?)?),
                "--binary" => options.binary = Some(absolute(Path::new(value()?))?),
                "--profile" => options.profile = ProfileSource::File(absolute(Path::new(value()?))?),
                "--no-profile" => options.profile = ProfileSource::Unused,
                "--repository" => options.repository = Some(Repository::new(value()?)?),
                "--ca-bundle" => options.ca_bundle = PathBuf::from(value()?),
                name => match DistPart::ALL.iter().find(|part| part.name() == name) {
                    Some(part) => options.parts.push(*part),
                    None => bail!("unknown part or option `{name}`; see `cargo xtask dist --help`"),
                },
            }
        }
        if options.targets.is_empty() {
            options.targets.push(Target::DEFAULT);
        }
        if options.binary.is_some() && options.targets.len() > 1 {
            bail!("`--binary` can be combined with one `--target` only");
        }
        if options.parts.is_empty() {
            options.parts = DistPart::ALL.to_vec();
            options.parts.retain(|part| *part != DistPart::TryImage);
        }
        Ok(options)
    }
}

impl Release<'_> {
    /// The directory of intermediate files for a target.
    fn scratch(&self, target: &Target) -> PathBuf {
        self.directory.join("build").join(target.triple)
    }

    /// A file of the checkout.
    fn source(&self, path: &str) -> Result<Vec<u8>> {
        fs::read(self.project.root().join(path)).with_context(|| format!("can't read `{path}`"))
    }

    /// Writes a finished file.
    fn finish(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.directory.join(name);
        fs::write(&path, bytes).with_context(|| format!("can't write `{}`", path.display()))?;
        Ok(path)
    }
}

/// The time of the packages: `SOURCE_DATE_EPOCH`, or the time of the commit.
fn source_time(project: &Project) -> Result<u64> {
    let text = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => ProcessRun::new("git")
            .args(["log", "-1", "--format=%ct"])
            .current_dir(project.root())
            .read_stdout()
            .context("set SOURCE_DATE_EPOCH to the time of the release, in seconds since 1970")?,
    };
    text.trim()
        .parse()
        .with_context(|| format!("invalid time `{}`: expected seconds since 1970", text.trim()))
}

/// The path from the root.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("invalid path `{}`", path.display()))
}

/// Compresses a file of this size without its name and time; gzip replaces it by `FILE.gz`.
fn gzip(path: &Path) -> Result<PathBuf> {
    ProcessRun::new("gzip").args(["-9", "--no-name", "--force"]).arg(path).run()?;
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    Ok(PathBuf::from(name))
}

#[cfg(test)]
mod tests;
