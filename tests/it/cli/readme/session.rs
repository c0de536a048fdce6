//! Runs the commands of a page in order, as a reader would: in the repository's directory, with its plugins.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use moongate_tests::{Terminal, Workspace, gateway_binary, project_root, wait_until};

use super::normalize::normalize;
use super::page::Block;

/// Commands that no test runs, and why.
pub(super) const NOT_RUN: &[(&str, &str)] = &[
    ("cargo xtask test", "it includes this test"),
    ("moongate add filesystem ~/notes:rw", "it asks on a terminal; `install` tests it"),
    (
        "cargo install --locked --path gateway",
        "a release build takes minutes, and changes the reader's machine",
    ),
];

/// The start of a listener's line in the banner, and the listener's address on the pages.
const LISTENERS: [(&str, &str); 2] =
    [("endpoint  http://", "127.0.0.1:8931"), ("admin     http://", "127.0.0.1:8932")];

/// A shell in a copy of the repository's directory.
pub(super) struct Session {
    workspace: Workspace,
    directory: PathBuf,
    /// The gateway that was started last.
    gateway: Option<Gateway>,
}

/// A gateway that serves until this is dropped.
struct Gateway {
    child: Child,
    /// The addresses of the listeners: on the pages, and the real ones.
    addresses: Vec<(&'static str, String)>,
    banner: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Session {
    pub(super) fn start() -> Self {
        let workspace = Workspace::new("");
        fs::copy(project_root().join("gateway.toml"), workspace.config()).unwrap();
        symlink(project_root().join("plugins"), workspace.path().join("plugins")).unwrap();
        let directory = workspace.path().to_owned();
        Self { workspace, directory, gateway: None }
    }

    /// Runs all commands of a block, and compares their output with the page.
    pub(super) fn follow(&mut self, block: &Block) {
        let mut served = false;
        for (line, shown) in block.commands() {
            let place = format!("{}: `{line}`", block.place);
            if NOT_RUN.iter().any(|(known, _)| *known == line) {
                assert_eq!(shown, "", "{place} isn't run, so the page must not show any output");
                continue;
            }
            assert!(!served, "{place} follows `serve`, which doesn't return, in the same block");
            served = line.split(" && ").any(|command| command.contains("moongate serve"));
            let (printed, is_good) = self.run(&line, &place);
            if shown.is_empty() {
                assert!(is_good, "{place} failed:\n{printed}");
            } else {
                assert_eq!(normalize(&printed), normalize(&shown), "{place} prints different output");
            }
        }
    }

    /// Replaces an existing file in the reader's current directory.
    pub(super) fn write(&self, file: &str, text: &str) {
        let path = self.directory.join(file);
        assert!(path.is_file(), "the page writes `{file}`, which doesn't exist");
        fs::write(path, text).unwrap();
    }

    /// The stdout of the gateway, run in the repository's directory.
    pub(super) fn request_and_wait(&self, words: &[&str]) -> String {
        let output = self.gateway("moongate", words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        self.shown(&String::from_utf8(output.stdout).unwrap())
    }

    /// Serves on a terminal, makes these calls one after the other, and returns what the gateway printed about them, without
    /// colours.
    pub(super) fn serve_with_calls(&self, calls: &[&[&str]]) -> String {
        let mut terminal = Terminal::start(&self.gateway("moongate", &["serve", "--http", "0"]));
        let mut next = || without_escapes(terminal.next_line().trim_end());
        let mut url = None;
        loop {
            let line = next();
            url = url.or(line.strip_prefix("endpoint  ").map(str::to_owned));
            if line.starts_with("try  ") {
                break;
            }
        }
        let url = url.unwrap();
        let mut text = String::new();
        for call in calls {
            let mut command = self.gateway("moongate", &["call", "--quiet", "--url", &url]);
            command.args(*call).output().unwrap();
            loop {
                let line = next();
                text.extend([&*line, "\n"]);
                if line.contains(&format!("  {} ", call[0])) {
                    break;
                }
            }
        }
        self.shown(&text)
    }

    /// Runs a line. Returns the output of its last command, and whether it succeeded.
    fn run(&mut self, line: &str, place: &str) -> (String, bool) {
        let mut last = (String::new(), true);
        for command in line.split(" && ") {
            assert!(last.1, "{place} failed before `{command}`:\n{}", last.0);
            let words = words(&command.replace("/path/to/sources", project_root().to_str().unwrap()));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            last = match words.as_slice() {
                ["cd", directory] => {
                    self.directory.push(directory);
                    (String::new(), self.directory.is_dir())
                }
                ["cargo", "xtask", "demo"] => self.serve("target/debug/moongate", &["serve"]),
                ["cargo", "test"] => {
                    let mut command = Command::new("cargo");
                    command.arg("test").current_dir(&self.directory);
                    self.in_rust_project(command)
                }
                ["moongate", "build"] => self.in_rust_project(self.gateway("moongate", &["build"])),
                ["sed", rest @ ..] => {
                    let mut sed = Command::new("sed");
                    sed.args(rest).current_dir(&self.directory);
                    self.finish(sed)
                }
                [program @ ("moongate" | "target/debug/moongate"), rest @ ..]
                    if rest.first() == Some(&"serve") =>
                {
                    self.serve(program, rest)
                }
                [program @ ("moongate" | "target/debug/moongate"), rest @ ..]
                    if rest.contains(&"--url") || rest.contains(&"--admin") =>
                {
                    self.request(program, rest)
                }
                [program @ ("moongate" | "target/debug/moongate"), rest @ ..] => {
                    self.finish(self.gateway(program, rest))
                }
                _ => panic!(
                    "{place}: unsupported command; implement it here, or add it to `NOT_RUN` with a reason"
                ),
            };
        }
        last
    }

    /// The gateway, run under the name that a reader uses.
    fn gateway(&self, program: &str, words: &[&str]) -> Command {
        let mut command = self.workspace.command(words);
        command.arg0(program).current_dir(&self.directory).env_remove("MOONGATE_CONFIG");
        if words.first() == Some(&"client") {
            // The output would mention a variable that only tests set.
            command.env_remove("MOONGATE_CACHE_DIR");
        }
        command
    }

    /// Runs a command that uses cargo in a plugin's project, with the repository's dependency versions. Built dependencies
    /// are kept between runs.
    fn in_rust_project(&self, mut command: Command) -> (String, bool) {
        let lock = self.directory.join("Cargo.lock");
        if !lock.exists() {
            fs::copy(project_root().join("Cargo.lock"), lock).unwrap();
            let built = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("new-plugin");
            fs::create_dir_all(&built).unwrap();
            symlink(built, self.directory.join("target")).unwrap();
        }
        // Not in cargo's home.
        command.env("CARGO_BUILD_BUILD_DIR", self.directory.join("target"));
        // The build settings come from the project's own files, as for its author.
        for name in
            ["CARGO_TARGET_DIR", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "CARGO_ENCODED_RUSTFLAGS"]
        {
            command.env_remove(name);
        }
        // The gateway runs with a home directory of its own, and the toolchain isn't there.
        let home = PathBuf::from(std::env::var_os("HOME").unwrap());
        for (name, directory) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
            command.env(name, std::env::var_os(name).unwrap_or_else(|| home.join(directory).into()));
        }
        self.finish(command)
    }

    /// Runs a command to its end. Returns its output in order, and whether it succeeded.
    fn finish(&self, mut command: Command) -> (String, bool) {
        let path = self.workspace.path().join("printed");
        let file = File::create(&path).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        (self.shown(&fs::read_to_string(path).unwrap()), status.success())
    }

    /// Sends a request to the running gateway, once: a reader who pastes a whole block doesn't wait either.
    fn request(&self, program: &str, words: &[&str]) -> (String, bool) {
        let addresses = self.gateway.iter().flat_map(|gateway| &gateway.addresses);
        let words = words.iter().map(|word| {
            let found = addresses.clone().find(|(usual, _)| word.contains(usual));
            found.map_or((*word).to_owned(), |(usual, real)| word.replace(usual, real))
        });
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.finish(self.gateway(program, &words))
    }

    /// Replaces the running gateway with one on free ports, and waits until it serves.
    fn serve(&mut self, program: &str, words: &[&str]) -> (String, bool) {
        self.gateway = None;
        let path = self.workspace.path().join("served");
        let words: Vec<_> =
            words.iter().map(|word| if *word == LISTENERS[1].1 { "0" } else { *word }).collect();
        let mut command = self.gateway(program, &words);
        command.args(["--http", "0"]).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&path).unwrap()).spawn().unwrap();
        let mut gateway = Gateway { child, addresses: Vec::new(), banner: String::new() };
        wait_until("the gateway serves", || {
            gateway.banner = fs::read_to_string(&path).unwrap();
            let ended = gateway.child.try_wait().unwrap();
            assert!(ended.is_none(), "the gateway ended: {}", gateway.banner);
            gateway.banner.contains("\nserving ")
        });
        for (beginning, usual) in LISTENERS {
            let real = gateway.banner.lines().find_map(|line| line.strip_prefix(beginning));
            gateway.addresses.extend(real.map(|real| (usual, real.trim_end_matches("/mcp").to_owned())));
        }
        let banner: String = gateway
            .banner
            .lines()
            .filter(|line| !line.starts_with("20")) // log lines, such as those about compiling
            .flat_map(|line| [line, "\n"])
            .collect();
        self.gateway = Some(gateway);
        (self.shown(&banner), true)
    }

    /// The output with this machine's paths and addresses replaced by those of the page.
    fn shown(&self, printed: &str) -> String {
        let real = |path: &Path| path.canonicalize().unwrap().to_str().unwrap().to_owned();
        let given = |path: &Path| path.to_str().unwrap().to_owned();
        let (binary, directory, root) = (gateway_binary(), self.workspace.path(), project_root());
        let mut text = printed.to_owned();
        for (path, shown) in
            [(binary.as_path(), "/path/to/moongate"), (directory, "/path/to"), (&root, "/path/to/sources")]
        {
            text = text.replace(&real(path), shown).replace(&given(path), shown);
        }
        for (usual, real) in self.gateway.iter().flat_map(|gateway| &gateway.addresses) {
            text = text.replace(real, usual);
        }
        text
    }
}

/// A line of a terminal without its escape sequences.
fn without_escapes(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest =
        parts.map(|part| part.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, text)| text));
    first + &rest.collect::<String>()
}

/// Splits a line into words. A part in single quotes is one word.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
