//! Starting other programs: says what is started, and turns a failure into a sentence.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

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
    /// It can't be started.
    pub(crate) fn lines(mut self, mut each: impl FnMut(&str)) -> Result<bool> {
        report::command(&self.line);
        let child = self.command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("`{}` can't be started", self.line))?;
        let stdout = child.stdout.take().expect("stdout was piped");
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            report::say(&format!("{line}\n"));
            each(&line);
        }
        Ok(child.wait()?.success())
    }
}
