//! Runs the written image without a container engine: bubblewrap gives it an unprivileged user without capabilities, a
//! read-only root and the mounts of `docs/containers.md`. The gateway serves a plugin, passes its health check, and
//! answers a call.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::binary::require_tool;
use super::{Release, VERSION};
use crate::report;
use crate::run::ProcessRun;
use crate::server::Server;

/// The number of the image's user.
const USER: &str = "65532";

const CONFIGURATION: &str = "\
version = 1
[http]
listen = \"127.0.0.1:0\"
[plugins.time]
source = \"builtin:time\"
";

/// An unpacked image and its mounts.
#[derive(Debug)]
struct ImageTrial {
    root: PathBuf,
    mounts: PathBuf,
    /// The image's `config`: entry point, variables, working directory.
    config: Value,
}

/// Runs the image for this machine.
pub(super) fn run(release: &Release<'_>) -> Result<()> {
    require_tool(&["bwrap", "--version"], "install the package `bubblewrap`")?;
    let trial = ImageTrial::unpack(release)?;
    let admin = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let mut serve = trial.command()?;
    let server = Server::start({
        serve.args(["serve", "--admin", &admin]);
        serve
    })?;
    let run = |words: &[&str]| {
        let output = trial.command()?.args(words).output().context("can't start bwrap")?;
        ensure!(output.status.success(), "`{words:?}` failed in the image: {output:?}\n{}", server.log());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let called = run(&["call", "--url", &server.url, "time_get_current_time", "timezone=UTC"])?;
    ensure!(called.contains("\"UTC\""), "the call in the image returned: {called}");
    let health = run(&["health", "--admin", &admin])?;
    ensure!(health == "ready\n", "the image's health check printed: {health}");
    report::note("the image serves as an unprivileged user with a read-only root");
    Ok(())
}

impl ImageTrial {
    /// Unpacks the image for this machine, and writes what is mounted into it.
    fn unpack(release: &Release<'_>) -> Result<Self> {
        let scratch = release.directory.join("build/image");
        if scratch.exists() {
            fs::remove_dir_all(&scratch).with_context(|| format!("can't remove `{}`", scratch.display()))?;
        }
        let (layout, root, mounts) = (scratch.join("layout"), scratch.join("root"), scratch.join("mounts"));
        let image = release.directory.join(format!("moongate-{VERSION}-image.tar"));
        unpack(&image, &layout)?;
        let top = read_json(&layout.join("index.json"))?;
        let index = read_json(&blob(&layout, &top["manifests"][0])?)?;
        let entries = index["manifests"].as_array().context("the index lists no images")?;
        let own = entries.iter().find(|entry| {
            let architecture = entry["platform"]["architecture"].as_str();
            matches!(
                (architecture, std::env::consts::ARCH),
                (Some("amd64"), "x86_64") | (Some("arm64"), "aarch64")
            )
        });
        let manifest = read_json(&blob(&layout, own.context("the image doesn't support this machine")?)?)?;
        unpack(&blob(&layout, &manifest["layers"][0])?, &root)?;
        let config = read_json(&blob(&layout, &manifest["config"])?)?["config"].take();
        for directory in ["config", "cache", "state"] {
            fs::create_dir_all(mounts.join(directory))?;
        }
        // Container engines create missing mount points; bubblewrap can't in a read-only root.
        for directory in ["proc", "dev", "tmp"] {
            fs::create_dir_all(root.join(directory))?;
        }
        fs::write(mounts.join("config/gateway.toml"), CONFIGURATION)?;
        Ok(Self { root, mounts, config })
    }

    /// The image's entry point, ready for arguments.
    fn command(&self) -> Result<Command> {
        let mut command = Command::new("bwrap");
        command.args(["--unshare-all", "--share-net", "--die-with-parent", "--new-session", "--clearenv"]);
        command.args(["--uid", USER, "--gid", USER, "--cap-drop", "ALL"]);
        command.arg("--ro-bind").arg(&self.root).arg("/");
        command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
        for (flag, directory, path) in [
            ("--ro-bind", "config", "/etc/moongate"),
            ("--bind", "cache", "/var/cache/moongate"),
            ("--bind", "state", "/var/lib/moongate"),
        ] {
            command.arg(flag).arg(self.mounts.join(directory)).arg(path);
        }
        for variable in self.config["Env"].as_array().context("the image sets no variables")? {
            let (name, value) =
                variable.as_str().and_then(|text| text.split_once('=')).context("a variable")?;
            command.args(["--setenv", name, value]);
        }
        let directory = self.config["WorkingDir"].as_str().context("the image has no working directory")?;
        let program = self.config["Entrypoint"][0].as_str().context("the image has no entry point")?;
        command.args(["--chdir", directory, program]);
        Ok(command)
    }
}

/// Unpacks a tar archive into a new directory, as the current user.
fn unpack(archive: &Path, directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("can't create `{}`", directory.display()))?;
    ProcessRun::new("tar")
        .args(["--extract", "--no-same-owner", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(directory)
        .run()
}

/// The path of a blob in an unpacked layout.
fn blob(layout: &Path, descriptor: &Value) -> Result<PathBuf> {
    let digest = descriptor["digest"].as_str().context("a descriptor without a digest")?;
    Ok(layout.join("blobs").join(digest.replace(':', "/")))
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read(path).with_context(|| format!("can't read `{}`", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("`{}` isn't JSON", path.display()))
}
