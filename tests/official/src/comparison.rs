//! One comparison of an official server and a plugin: both servers, the checks, their mismatches and the intended
//! differences.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::difference::{self, Mismatch};
use crate::normal;
use crate::options::Options;
use crate::random::Random;
use crate::report;
use crate::server::{ClientRole, Server};
use crate::subjects::Subject;

/// The number of mismatches of a check that are printed; the others are only counted.
const MAX_SHOWN_MISMATCHES: usize = 5;

/// The maximum length of a printed value.
const MAX_SHOWN_CHARS: usize = 400;

/// One of the two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The official server.
    Theirs,
    /// The plugin behind the gateway.
    Ours,
}

/// An additional normalization of answers, called with the side, the method and the answer in normal form.
pub(crate) type Normalizer = Box<dyn Fn(Side, &str, &mut Value)>;

/// The running comparison of a subject.
pub(crate) struct Comparison<'a> {
    subject: &'a Subject,
    options: &'a Options,
    directory: TempDir,
    servers: Option<[Server; 2]>,
    adjust: Option<Normalizer>,
    client: ClientRole,
    /// For each intended difference of the subject, whether it occurred.
    occurred: Vec<bool>,
    /// The unintended mismatches of the running check.
    mismatches: Vec<String>,
    failed: bool,
}

/// Runs all checks of a subject. Returns whether all of them passed.
pub(crate) fn run(subject: &Subject, options: &Options) -> bool {
    let mut comparison = match Comparison::new(subject, options) {
        Ok(comparison) => comparison,
        Err(error) => {
            report::failed(subject.plugin, "a temporary directory", &error.to_string());
            return false;
        }
    };
    if let Err(error) = (subject.check)(&mut comparison) {
        comparison.fail("the comparison", &format!("{error:#}"));
    }
    comparison.close()
}

impl<'a> Comparison<'a> {
    fn new(subject: &'a Subject, options: &'a Options) -> std::io::Result<Self> {
        Ok(Self {
            subject,
            options,
            directory: TempDir::new()?,
            servers: None,
            adjust: None,
            client: ClientRole::default(),
            occurred: vec![false; subject.differences.len()],
            mismatches: Vec::new(),
            failed: false,
        })
    }

    // --- starting ---

    /// The temporary directory of this comparison, removed at its end.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The command of an official server from npm; `script` is its file below `@modelcontextprotocol`.
    pub(crate) fn node(&self, script: &str) -> Command {
        let mut command = Command::new(&self.options.node);
        command.arg(self.options.modules.join("@modelcontextprotocol").join(script));
        command
    }

    /// The program `node`, for a server that starts it by name.
    pub(crate) fn node_program(&self) -> &Path {
        &self.options.node
    }

    /// The `node_modules` directory of the packages from npm.
    pub(crate) fn modules(&self) -> &Path {
        &self.options.modules
    }

    /// The command of an official server from PyPI.
    pub(crate) fn python(&self, module: &str) -> Command {
        let mut command = Command::new(&self.options.python);
        command.args(["-m", module]);
        command
    }

    /// Starts both servers, and replaces running ones. The plugin's tools keep their names. `rest` is the rest of
    /// `gateway.toml`, such as `[plugins.<name>.allow]` with its lines.
    ///
    /// # Errors
    /// A server doesn't start.
    pub(crate) fn start(&mut self, official: Command, rest: &str) -> Result<()> {
        self.start_with(official, rest, &[])
    }

    /// Like [`Comparison::start`], with environment variables for both servers.
    ///
    /// # Errors
    /// As [`Comparison::start`].
    pub(crate) fn start_with(
        &mut self,
        mut official: Command,
        rest: &str,
        variables: &[(&str, &str)],
    ) -> Result<()> {
        self.servers = None;
        let plugin = self.subject.plugin;
        let component = self.options.plugins.join(format!("{plugin}.wasm"));
        ensure!(
            component.is_file(),
            "`{}` isn't there: run `cargo xtask build-plugins`",
            component.display()
        );
        let source = json!(component.display().to_string());
        let text = format!(
            "version = 1\ngateway.require_all = true\n[plugins.{plugin}]\nsource = {source}\nprefix = \"\"\n{rest}"
        );
        let config = self.directory().join("gateway.toml");
        fs::write(&config, text).with_context(|| format!("can't write `{}`", config.display()))?;
        let mut gateway = Command::new(&self.options.gateway);
        gateway.args(["serve", "--stdio", "-c"]).arg(&config);
        gateway.env_remove("MOONGATE_STATE_DIR"); // every start has empty state
        for command in [&mut official, &mut gateway] {
            command.envs(variables.iter().copied());
        }
        let theirs = Server::start("official", official, self.directory(), self.client.clone())?;
        let ours = Server::start("gateway's", gateway, self.directory(), self.client.clone())?;
        self.servers = Some([theirs, ours]);
        Ok(())
    }

    /// Adds a normalization of all later answers, in addition to the common normal form.
    pub(crate) fn normalize_with(&mut self, adjust: impl Fn(Side, &str, &mut Value) + 'static) {
        self.adjust = Some(Box::new(adjust));
    }

    /// Sets the client's capabilities and answers for all later starts.
    pub(crate) fn act_as(&mut self, client: ClientRole) {
        self.client = client;
    }

    // --- checking ---

    /// Runs one check, which passes if all mismatches in `body` are intended.
    pub(crate) fn check(&mut self, name: &str, body: impl FnOnce(&mut Self) -> Result<()>) {
        self.mismatches.clear();
        if let Err(error) = body(self) {
            self.mismatches.push(format!("{error:#}"));
        }
        let mismatches = std::mem::take(&mut self.mismatches);
        let Some((first, others)) = mismatches.split_first() else {
            return report::passed(self.subject.plugin, name);
        };
        self.fail(name, first);
        for mismatch in others.iter().take(MAX_SHOWN_MISMATCHES) {
            report::note(&format!("       and {mismatch}"));
        }
        if others.len() > MAX_SHOWN_MISMATCHES {
            report::note(&format!("       and {} more", others.len() - MAX_SHOWN_MISMATCHES));
        }
    }

    /// Runs one check for each seed, with random calls. The seed is part of the check's name.
    pub(crate) fn generated(
        &mut self,
        name: &str,
        seeds: std::ops::Range<u64>,
        mut body: impl FnMut(&mut Self, &mut Random) -> Result<()>,
    ) {
        for seed in seeds {
            self.check(&format!("{name}, seed {seed}"), |comparison| {
                body(comparison, &mut Random::new(seed))
            });
        }
    }

    /// Runs a check that compares the lists of tools, resources, templates and prompts.
    pub(crate) fn compare_lists(&mut self) {
        self.check("lists", |comparison| {
            for kind in ["tools", "resources", "resources/templates", "prompts"] {
                comparison.ask(&format!("{kind}/list"), &json!({}))?;
            }
            Ok(())
        });
    }

    /// Calls a tool of both servers and compares the answers. Returns the official answer in normal form.
    ///
    /// # Errors
    /// A server doesn't answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.call_each(tool, arguments, arguments)
    }

    /// Like [`Comparison::call`], with equivalent arguments for each server, such as paths in different directories.
    ///
    /// # Errors
    /// As [`Comparison::call`].
    pub(crate) fn call_each(&mut self, tool: &str, theirs: &Value, ours: &Value) -> Result<Value> {
        let params = |arguments: &Value| json!({ "name": tool, "arguments": arguments });
        self.ask_each("tools/call", &params(theirs), &params(ours))
    }

    /// Sends both servers a request and compares the answers. Returns the official answer in normal form.
    ///
    /// # Errors
    /// As [`Comparison::call`].
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.ask_each(method, params, params)
    }

    /// Like [`Comparison::ask`], with equivalent parameters for each server.
    ///
    /// # Errors
    /// As [`Comparison::call`].
    pub(crate) fn ask_each(&mut self, method: &str, theirs: &Value, ours: &Value) -> Result<Value> {
        let [expected, got] = self.request_both(method, theirs, ours)?;
        self.compare(method, theirs, &expected, &got);
        Ok(expected)
    }

    /// Returns both answers in normal form, the official one first, without comparing them.
    ///
    /// # Errors
    /// As [`Comparison::call`].
    pub(crate) fn request_both(&mut self, method: &str, theirs: &Value, ours: &Value) -> Result<[Value; 2]> {
        let [official, gateway] = self.servers.as_mut().context("no server was started")?;
        let mut answers = [official.request(method, theirs)?, gateway.request(method, ours)?]
            .map(|answer| normal::answer(method, answer));
        if let Some(adjust) = &self.adjust {
            let [first, second] = &mut answers;
            adjust(Side::Theirs, method, first);
            adjust(Side::Ours, method, second);
        }
        Ok(answers)
    }

    /// Returns the plugin's answer in normal form, for requests that the official server can't handle.
    ///
    /// # Errors
    /// The gateway doesn't answer.
    pub(crate) fn request_ours(&mut self, method: &str, params: &Value) -> Result<Value> {
        let [_, gateway] = self.servers.as_mut().context("no server was started")?;
        Ok(normal::answer(method, gateway.request(method, params)?))
    }

    /// Compares two values and records each unintended mismatch. `method` and `params` describe the request; if the values
    /// aren't answers, the check supplies its own description.
    pub(crate) fn compare(&mut self, method: &str, params: &Value, theirs: &Value, ours: &Value) {
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default();
        for (at, left, right) in difference::places(theirs, ours) {
            let mismatch = Mismatch {
                method,
                name,
                arguments: &params["arguments"],
                at: &at,
                theirs: left,
                ours: right,
                answers: (theirs, ours),
            };
            let intended =
                self.subject.differences.iter().position(|difference| (difference.matches)(&mismatch));
            match intended {
                Some(index) => self.occurred[index] = true,
                None => self.mismatches.push(format!(
                    "{method} {} at `{at}`: official {}, ours {}",
                    cut(Some(params)),
                    cut(left),
                    cut(right)
                )),
            }
        }
    }

    /// Waits for a notification from both servers, and compares its parameters.
    ///
    /// # Errors
    /// A server doesn't send the notification.
    pub(crate) fn wait_for_notification(&mut self, method: &str) -> Result<()> {
        let [official, gateway] = self.servers.as_mut().context("no server was started")?;
        let [expected, got] =
            [official.wait_for_notification(method)?, gateway.wait_for_notification(method)?];
        self.compare(method, &json!({}), &expected, &got);
        Ok(())
    }

    fn fail(&mut self, check: &str, why: &str) {
        self.failed = true;
        report::failed(self.subject.plugin, check, why);
    }

    /// Fails for each intended difference that didn't occur, so that the list stays current. If a check failed, this isn't
    /// tested, because the failed check may have missed some.
    fn close(mut self) -> bool {
        self.servers = None;
        if self.failed {
            return false;
        }
        let missing: Vec<&str> = self
            .subject
            .differences
            .iter()
            .zip(&self.occurred)
            .filter(|(_, occurred)| !**occurred)
            .map(|(difference, _)| difference.description)
            .collect();
        for description in &missing {
            let why = format!("this difference no longer occurs; remove it: {description}");
            self.fail("the list of differences", &why);
        }
        if missing.is_empty() {
            report::passed(self.subject.plugin, "every listed difference still occurs");
        }
        !self.failed
    }
}

impl fmt::Debug for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Comparison").field("subject", &self.subject.plugin).finish_non_exhaustive()
    }
}

/// A value on one line, not too long.
fn cut(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
