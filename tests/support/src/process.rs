//! Processes: on a terminal, their resource usage from `/proc`, and the number of repetitions of a test.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::{ProcessOutput, send_signal, wait_until};

/// The command, on a pseudo-terminal and with only the variables that it sets. What is written to its stdin is typed,
/// and its stdout is the screen.
///
/// # Panics
/// If an argument isn't UTF-8.
#[must_use]
pub fn on_terminal(command: &Command) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_str().expect("UTF-8").replace('\'', r"'\''")));
    // The shell would exit with a status of its own after Ctrl-C.
    let line = format!("exec {}", quoted.collect::<Vec<_>>().join(" "));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
    script.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        script.current_dir(directory);
    }
    script.env("TERM", "xterm");
    script
}

/// A program on a pseudo-terminal, which is ended on drop.
#[derive(Debug)]
pub struct Terminal {
    process: Child,
    keyboard: ChildStdin,
    screen: ProcessOutput,
}

impl Terminal {
    /// Starts the command on a terminal, with only the variables that it sets.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn start(command: &Command) -> Self {
        let mut command = on_terminal(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("the program starts");
        let keyboard = process.stdin.take().expect("stdin is piped");
        let screen = ProcessOutput::read(process.stdout.take().expect("stdout is piped"));
        Self { process, keyboard, screen }
    }

    /// Waits until the screen has shown `text`, and returns everything up to then.
    ///
    /// # Panics
    /// If the program ends before, or the text doesn't appear in time.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &str {
        self.screen.wait_for(text)
    }

    /// Waits for a whole line, and takes it.
    ///
    /// # Panics
    /// As [`Self::wait_for`].
    #[track_caller]
    pub fn next_line(&mut self) -> String {
        self.screen.next_line()
    }

    /// Everything that [`Self::wait_for`] has read.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.screen.shown()
    }

    /// Types keys.
    ///
    /// # Panics
    /// If the program has ended.
    pub fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the program reads");
    }

    /// Waits for the program to exit by itself.
    ///
    /// # Panics
    /// If it doesn't exit in time.
    #[track_caller]
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        wait_for_exit(&mut self.process)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It ends the program, too.
        if matches!(self.process.try_wait(), Ok(None)) {
            send_signal(self.process.id(), "TERM");
            let _ = self.process.wait();
        }
    }
}

/// Waits for a process to exit.
///
/// # Panics
/// If it doesn't exit in time.
#[track_caller]
pub fn wait_for_exit(process: &mut Child) -> ExitStatus {
    let mut status = None;
    wait_until("the process exits", || {
        status = process.try_wait().expect("a child process");
        status.is_some()
    });
    status.expect("it has exited")
}

/// The resource usage of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceUsage {
    /// Resident memory in KiB.
    pub resident: u64,
    /// Open file descriptors.
    pub descriptors: u64,
    /// Memory mappings.
    pub mappings: u64,
    /// Threads.
    pub threads: u64,
}

impl ResourceUsage {
    /// Reads the current usage.
    ///
    /// # Panics
    /// If the process doesn't exist.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).expect("the process runs");
        let count = |directory: &str| {
            fs::read_dir(format!("/proc/{pid}/{directory}")).expect("the process runs").count() as u64
        };
        let status = read("status");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        Self {
            resident: resident.expect("a process has resident memory"),
            descriptors: count("fd"),
            mappings: read("maps").lines().count() as u64,
            threads: count("task"),
        }
    }
}

/// The peak resident memory of a process, in bytes.
///
/// # Panics
/// If the process doesn't exist.
#[must_use]
pub fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.expect("a process has a peak of resident memory") * 1024
}

/// The processor time that a process has used, in steps of ten milliseconds.
///
/// # Panics
/// If the process doesn't exist.
#[must_use]
pub fn cpu_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs");
    // The program's name can contain spaces.
    let (_, fields) = stat.rsplit_once(')').expect("the name is in parentheses");
    let ticks =
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("a number"));
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// The number of repetitions of a test: `usual`, multiplied by `MOONGATE_ROUNDS` if that is set.
///
/// # Panics
/// If `MOONGATE_ROUNDS` isn't a number.
#[must_use]
pub fn scaled_rounds(usual: u32) -> u32 {
    let factor = std::env::var("MOONGATE_ROUNDS").ok();
    usual * factor.map_or(1, |factor| factor.parse().expect("MOONGATE_ROUNDS is a number"))
}

/// A program, or `None` if it isn't installed. In CI, it must be.
///
/// # Panics
/// It isn't installed, and `CI` is set.
#[must_use]
#[expect(clippy::print_stderr, reason = "a skipped test must be noticed")]
pub fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).chain(["/usr/bin", "/usr/sbin"].map(PathBuf::from));
    let found = places.find_map(|place| Some(place.join(name)).filter(|program| program.exists()));
    if found.is_none() {
        let is_ci = std::env::var("CI").is_ok_and(|ci| !ci.is_empty() && ci != "false");
        assert!(!is_ci, "`{name}` isn't installed");
        eprintln!("!! SKIPPED: `{name}` isn't installed");
    }
    found
}
