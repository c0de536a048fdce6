//! A temporary folder with a `gateway.toml`, and where the built things are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary folder with a `gateway.toml` in it; it is removed when this is dropped.
#[derive(Debug)]
pub struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    /// Writes `gateway` as `gateway.toml`. `@time@` and the like stand for the path of that built component, and the
    /// endpoint listens on a free port unless the text says otherwise.
    #[must_use]
    pub fn new(gateway: &str) -> Self {
        let workspace = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        workspace.write("gateway.toml", Self::expand(gateway));
        workspace
    }

    /// One plugin with no more than its source.
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
            "keeper",
            "speaker",
        ] {
            let mark = format!("@{name}@");
            if text.contains(&mark) {
                text = text.replace(&mark, &component(name).display().to_string());
            }
        }
        if !text.contains("version =") {
            text = format!("version = 1\n{text}");
        }
        // The operator's listener has an address too, under the same name.
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

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.path().join("gateway.toml")
    }

    /// Writes a file, by a path inside the folder.
    pub fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }

    /// The gateway with these arguments, on this folder's configuration.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
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

    /// Runs the gateway with these arguments to its end.
    ///
    /// # Panics
    /// It can't be started.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the gateway starts")
    }
}

/// The project's root folder.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("`tests` is in the root").to_owned()
}

/// Are files of expected output to be written anew?
///
/// # Panics
/// They are, and this is CI, where nobody reads the difference.
#[must_use]
pub fn updates_goldens() -> bool {
    let wanted = std::env::var_os("UPDATE_GOLDENS").is_some();
    let in_ci = std::env::var("CI").is_ok_and(|ci| !ci.is_empty() && ci != "false");
    assert!(
        !(wanted && in_ci),
        "UPDATE_GOLDENS is refused where CI is set: it would make every output right"
    );
    wanted
}

/// The folder that cargo built this test into: `target/debug`.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.ancestors().nth(2).expect("a test is in `deps`").to_owned()
}

/// The gateway's binary.
///
/// # Panics
/// It wasn't built.
#[must_use]
pub fn binary() -> PathBuf {
    let path = built().join("moongate");
    assert!(path.exists(), "the gateway isn't built: run `cargo build -p moongate`, or `cargo xtask test`");
    path
}

/// A built component.
///
/// # Panics
/// It wasn't built.
#[must_use]
pub fn component(name: &str) -> PathBuf {
    let path = root().join("plugins/dist").join(format!("{name}.wasm"));
    assert!(
        path.exists(),
        "component `{name}` isn't built: run `cargo xtask build-plugins`, or `cargo xtask test`"
    );
    path
}

/// Compiled code that all tests share.
fn shared_cache() -> PathBuf {
    let path = built().join("moongate-test-cache");
    fs::create_dir_all(&path).expect("a folder");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("permissions");
    }
    path
}
