//! Starting other programs: says what is started, and turns a failure into a sentence.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::report;

/// A program to start, with its arguments.
#[derive(Debug)]
pub(crate) struct Run {
    command: Command,
    line: String,
}

impl Run {
    /// A call of `program`.
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

    /// Sets a variable for the program.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Sets the program's folder.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Sends the program's stdout to stderr: for verbs whose own stdout belongs to somebody else.
    pub(crate) fn quiet_stdout(mut self) -> Self {
        self.command.stdout(std::io::stderr());
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It can't be started, or ends with another code than 0.
    pub(crate) fn done(mut self) -> Result<()> {
        report::command(&self.line);
        let status = self.command.stdin(Stdio::null()).status();
        let status = status.with_context(|| format!("`{}` can't be started", self.line))?;
        if !status.success() {
            bail!("`{}` failed ({status})", self.line);
        }
        Ok(())
    }

    /// Runs it to its end and gives back what it printed on stdout.
    ///
    /// # Errors
    /// As [`Run::done`].
    pub(crate) fn read(mut self) -> Result<String> {
        let output = self.command.stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("`{}` can't be started", self.line))?;
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

    /// Runs it to its end, prints each line of its stdout as it comes and shows it to `each`; gives back whether it
    /// ended with 0.
    ///
    /// # Errors
    /// It can't be started, or hasn't ended after the limit; then it is ended.
    pub(crate) fn lines(self, limit: Duration, mut each: impl FnMut(&str)) -> Result<bool> {
        report::command(&self.line);
        let ended = self.follow(limit, |line| {
            report::say(&format!("{line}\n"));
            each(line);
        })?;
        Ok(ended.success())
    }

    /// Runs it to its end and gives back its exit code and all that it printed, on stdout and then on stderr.
    ///
    /// # Errors
    /// As [`Run::lines`].
    pub(crate) fn output(mut self, limit: Duration) -> Result<(Option<i32>, String)> {
        self.command.stderr(Stdio::piped());
        let mut text = String::new();
        let ended = self.follow(limit, |line| {
            text.push_str(line);
            text.push('\n');
        })?;
        Ok((ended.code(), text))
    }

    /// Runs it to its end and shows each line of what is piped to `each`.
    fn follow(mut self, limit: Duration, mut each: impl FnMut(&str)) -> Result<ExitStatus> {
        let child = self.command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("`{}` can't be started", self.line))?;
        let (said, heard) = mpsc::channel();
        let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        for pipe in stdout.into_iter().chain(stderr) {
            let said = said.clone();
            thread::spawn(move || pass_on(pipe, &said));
        }
        drop(said);
        let end = Instant::now() + limit;
        loop {
            match heard.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => each(&line),
                Err(RecvTimeoutError::Disconnected) => return Ok(child.wait()?),
                Err(RecvTimeoutError::Timeout) => {
                    child.kill()?;
                    child.wait()?;
                    bail!("`{}` hasn't ended after {} s and was stopped", self.line, limit.as_secs());
                }
            }
        }
    }
}

/// Sends each line of a pipe, until nobody listens.
fn pass_on(pipe: impl Read, said: &Sender<String>) {
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        if said.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
    }
}
