//! Runs other programs: prints the command and turns a failure into an error message.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::report;

/// A program to run, with its arguments.
#[derive(Debug)]
pub(crate) struct ProcessRun {
    command: Command,
    line: String,
}

impl ProcessRun {
    /// Runs `program`.
    pub(crate) fn new(program: impl Into<OsString>) -> Self {
        let program = program.into();
        let line = Path::new(&program).file_stem().unwrap_or(&program).to_string_lossy().into_owned();
        Self { command: Command::new(program), line }
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, word: impl Into<OsString>) -> Self {
        let word = word.into();
        self.line.push(' ');
        self.line.push_str(&word.to_string_lossy());
        self.command.arg(word);
        self
    }

    /// Adds arguments.
    pub(crate) fn args<W: Into<OsString>>(self, words: impl IntoIterator<Item = W>) -> Self {
        words.into_iter().fold(self, |run, word| run.arg(word.into()))
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Sets the working directory.
    pub(crate) fn current_dir(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Redirects stdout to stderr, for verbs whose own stdout is for machines.
    pub(crate) fn stdout_to_stderr(mut self) -> Self {
        self.command.stdout(std::io::stderr());
        self
    }

    /// Runs the program to its end.
    ///
    /// # Errors
    /// The program can't be started or fails.
    pub(crate) fn run(mut self) -> Result<()> {
        report::command(&self.line);
        let status = self.command.stdin(Stdio::null()).status();
        let status = status.with_context(|| format!("can't start `{}`", self.line))?;
        if !status.success() {
            bail!("`{}` failed ({status})", self.line);
        }
        Ok(())
    }

    /// Runs the program to its end and returns its stdout.
    ///
    /// # Errors
    /// As [`ProcessRun::run`].
    pub(crate) fn read_stdout(mut self) -> Result<String> {
        let output = self.command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("can't start `{}`", self.line))?;
        if !output.status.success() {
            bail!(
                "`{}` failed ({}): {}",
                self.line,
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs the program to its end, and prints each line of its stdout and passes it to `each`; returns whether the
    /// exit code was 0.
    ///
    /// # Errors
    /// The program can't be started, or was killed after the limit.
    pub(crate) fn for_each_line(self, limit: Duration, mut each: impl FnMut(&str)) -> Result<bool> {
        report::command(&self.line);
        let ended = self.follow(limit, |line| {
            report::output_line(line);
            each(line);
        })?;
        Ok(ended.success())
    }

    /// Runs the program to its end and returns its exit code, stdout and stderr.
    ///
    /// # Errors
    /// As [`ProcessRun::for_each_line`].
    pub(crate) fn output(mut self, limit: Duration) -> Result<(Option<i32>, String)> {
        self.command.stderr(Stdio::piped());
        let mut text = String::new();
        let ended = self.follow(limit, |line| {
            text.push_str(line);
            text.push('\n');
        })?;
        Ok((ended.code(), text))
    }

    /// Runs the program to its end and passes each line of its piped streams to `each`.
    fn follow(mut self, limit: Duration, mut each: impl FnMut(&str)) -> Result<ExitStatus> {
        let child = self.command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("can't start `{}`", self.line))?;
        let (lines, received) = mpsc::channel();
        let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        for pipe in stdout.into_iter().chain(stderr) {
            let lines = lines.clone();
            thread::spawn(move || send_lines(pipe, &lines));
        }
        drop(lines);
        let end = Instant::now() + limit;
        loop {
            match received.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => each(&line),
                Err(RecvTimeoutError::Disconnected) => return Ok(child.wait()?),
                Err(RecvTimeoutError::Timeout) => {
                    child.kill()?;
                    child.wait()?;
                    bail!("`{}` was killed after {} s", self.line, limit.as_secs());
                }
            }
        }
    }
}

/// Sends each line of a pipe until the receiver is gone.
fn send_lines(pipe: impl Read, lines: &Sender<String>) {
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
    }
}
