//! A temporary directory with a `gateway.toml`, and the paths of build outputs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary directory with a `gateway.toml`, removed on drop.
#[derive(Debug)]
pub struct Workspace {
    directory: tempfile::TempDir,
}

impl Workspace {
    /// Writes `gateway` to `gateway.toml`. `@time@` expands to the path of the built component `time`, and likewise for
    /// the others. The endpoint listens on a free port unless the text sets `listen`.
    #[must_use]
    pub fn new(gateway: &str) -> Self {
        let workspace = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        workspace.write("gateway.toml", Self::expand(gateway));
        workspace
    }

    /// A workspace with one plugin and only its `source` set.
    #[must_use]
    pub fn with_plugin(name: &str) -> Self {
        Self::new(&format!("[plugins.{name}]\nsource = \"@{name}@\"\n"))
    }

    fn expand(text: &str) -> String {
        let mut text = text.to_owned();
        for name in [
            "time",
            "everything",
            "fetch",
            "filesystem",
            "memory",
            "statistics",
            "text",
            "zoo",
            "stateful",
            "malformed",
            "functions",
            "words",
            "misuse",
            "misuse-python",
            "misuse-javascript",
        ] {
            let mark = format!("@{name}@");
            if text.contains(&mark) {
                text = text.replace(&mark, &component(name).display().to_string());
            }
        }
        if !text.contains("version =") {
            text = format!("version = 1\n{text}");
        }
        // `[admin]` has a key `listen` too.
        match text.split_once("[http]") {
            None => text.push_str("\n[http]\nlisten = \"127.0.0.1:0\"\n"),
            Some((before, table))
                if !table.split("\n[").next().is_some_and(|own| own.contains("listen =")) =>
            {
                text = format!("{before}[http]\nlisten = \"127.0.0.1:0\"{table}");
            }
            Some(_) => {}
        }
        text
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path of `gateway.toml`.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.path().join("gateway.toml")
    }

    /// Writes a file at a path relative to the directory.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().expect("the file has a parent directory"))
            .expect("create the directory");
        fs::write(path, content).expect("write the file");
    }

    /// A gateway command with these arguments and this workspace's configuration.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(gateway_binary());
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("NO_COLOR", "1")
            .env("MOONGATE_CONFIG", self.config())
            .env("MOONGATE_CACHE_DIR", shared_cache());
        command
    }

    /// Runs the gateway with these arguments until it exits.
    ///
    /// # Panics
    /// If the process can't be started.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the gateway starts")
    }
}

/// The project's root directory.
#[must_use]
pub fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("`tests` has a parent directory").to_owned()
}

/// Returns true if the tests should rewrite the golden files.
///
/// # Panics
/// If this is CI, where golden files must not change.
#[must_use]
pub fn should_update_goldens() -> bool {
    let wanted = std::env::var_os("UPDATE_GOLDENS").is_some();
    let in_ci = std::env::var("CI").is_ok_and(|ci| !ci.is_empty() && ci != "false");
    assert!(!(wanted && in_ci), "UPDATE_GOLDENS is not allowed in CI, because it would accept any output");
    wanted
}

/// The build directory of this test, `target/debug`.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("the test's path");
    test.ancestors().nth(2).expect("the test is in `deps`").to_owned()
}

/// The path of the gateway's binary.
///
/// # Panics
/// If it isn't built.
#[must_use]
pub fn gateway_binary() -> PathBuf {
    let path = built().join("moongate");
    assert!(path.exists(), "the gateway isn't built: run `cargo build -p moongate`, or `cargo xtask test`");
    path
}

/// The path of a built component.
///
/// # Panics
/// If it isn't built.
#[must_use]
pub fn component(name: &str) -> PathBuf {
    let path = project_root().join("plugins/dist").join(format!("{name}.wasm"));
    assert!(
        path.exists(),
        "component `{name}` isn't built: run `cargo xtask build-plugins`, or `cargo xtask test`"
    );
    path
}

/// The code cache that all tests share.
fn shared_cache() -> PathBuf {
    let path = built().join("moongate-test-cache");
    fs::create_dir_all(&path).expect("create the directory");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("set permissions");
    }
    path
}
