//! One comparison: both servers, the checks that are made of them, what they found, and what of it is meant.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::difference::{self, Gap};
use crate::normal;
use crate::options::Options;
use crate::random::Random;
use crate::report;
use crate::server::Server;
use crate::subjects::Subject;

/// So many gaps of a check are printed; the others are counted.
const SHOWN: usize = 5;

/// So much of a value is printed.
const CUT: usize = 400;

/// One of the two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The official server.
    Theirs,
    /// The plugin behind the gateway.
    Ours,
}

/// What makes two answers comparable beyond the common normal form: called with the side, the method and the answer.
pub(crate) type Adjust = Box<dyn Fn(Side, &str, &mut Value)>;

/// What a subject's checks work with.
pub(crate) struct Bench<'a> {
    subject: &'a Subject,
    options: &'a Options,
    folder: TempDir,
    servers: Option<[Server; 2]>,
    adjust: Option<Adjust>,
    /// Which of the subject's differences were met.
    met: Vec<bool>,
    /// What the running check found that isn't meant.
    gaps: Vec<String>,
    failed: bool,
}

/// Makes all checks of a subject; gives back whether none failed.
pub(crate) fn compare(subject: &Subject, options: &Options) -> bool {
    let mut bench = match Bench::new(subject, options) {
        Ok(bench) => bench,
        Err(error) => {
            report::failed(subject.plugin, "a temporary folder", &error.to_string());
            return false;
        }
    };
    if let Err(error) = (subject.check)(&mut bench) {
        bench.fails("the comparison", &format!("{error:#}"));
    }
    bench.close()
}

impl<'a> Bench<'a> {
    fn new(subject: &'a Subject, options: &'a Options) -> std::io::Result<Self> {
        Ok(Self {
            subject,
            options,
            folder: TempDir::new()?,
            servers: None,
            adjust: None,
            met: vec![false; subject.differences.len()],
            gaps: Vec::new(),
            failed: false,
        })
    }

    // --- starting ---

    /// A folder for this comparison alone, removed at its end.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
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

    /// The folder `node_modules` of the packages from npm.
    pub(crate) fn modules(&self) -> &Path {
        &self.options.modules
    }

    /// The command of an official server from PyPI.
    pub(crate) fn python(&self, module: &str) -> Command {
        let mut command = Command::new(&self.options.python);
        command.args(["-m", module]);
        command
    }

    /// Starts both servers, in place of those that run. The plugin keeps its names; `rest` is what `gateway.toml` says
    /// of it besides, such as `[plugins.<name>.allow]` with its lines.
    ///
    /// # Errors
    /// One of them doesn't start.
    pub(crate) fn start(&mut self, official: Command, rest: &str) -> Result<()> {
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
        let config = self.folder().join("gateway.toml");
        fs::write(&config, text).with_context(|| format!("`{}` can't be written", config.display()))?;
        let mut gateway = Command::new(&self.options.gateway);
        gateway.args(["serve", "--stdio", "-c"]).arg(&config);
        gateway.env_remove("MOONGATE_STATE_DIR"); // each start begins with nothing
        let theirs = Server::start("official", official, self.folder())?;
        let ours = Server::start("gateway's", gateway, self.folder())?;
        self.servers = Some([theirs, ours]);
        Ok(())
    }

    /// What makes two answers comparable from here on, beyond the common normal form.
    pub(crate) fn adjust(&mut self, adjust: impl Fn(Side, &str, &mut Value) + 'static) {
        self.adjust = Some(Box::new(adjust));
    }

    // --- checking ---

    /// One check: passes if `body` finds no gap that isn't meant.
    pub(crate) fn check(&mut self, name: &str, body: impl FnOnce(&mut Self) -> Result<()>) {
        self.gaps.clear();
        if let Err(error) = body(self) {
            self.gaps.push(format!("{error:#}"));
        }
        let gaps = std::mem::take(&mut self.gaps);
        let Some((first, others)) = gaps.split_first() else {
            return report::passed(self.subject.plugin, name);
        };
        self.fails(name, first);
        for gap in others.iter().take(SHOWN) {
            report::note(&format!("       and {gap}"));
        }
        if others.len() > SHOWN {
            report::note(&format!("       and {} more", others.len() - SHOWN));
        }
    }

    /// A check for each seed, whose calls are made up from it. The seed is part of the check's name.
    pub(crate) fn generated(
        &mut self,
        name: &str,
        seeds: std::ops::Range<u64>,
        mut body: impl FnMut(&mut Self, &mut Random) -> Result<()>,
    ) {
        for seed in seeds {
            self.check(&format!("{name}, seed {seed}"), |bench| body(bench, &mut Random::new(seed)));
        }
    }

    /// Compares the lists of tools, resources, templates and prompts: a check.
    pub(crate) fn lists(&mut self) {
        self.check("what is listed", |bench| {
            for kind in ["tools", "resources", "resources/templates", "prompts"] {
                bench.ask(&format!("{kind}/list"), &json!({}))?;
            }
            Ok(())
        });
    }

    /// Calls a tool of both and compares; gives back the official answer in normal form.
    ///
    /// # Errors
    /// One of them doesn't answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.call_each(tool, arguments, arguments)
    }

    /// The same, with arguments that say the same to each in other words, such as paths of another folder.
    ///
    /// # Errors
    /// As [`Bench::call`].
    pub(crate) fn call_each(&mut self, tool: &str, theirs: &Value, ours: &Value) -> Result<Value> {
        let params = |arguments: &Value| json!({ "name": tool, "arguments": arguments });
        self.ask_each("tools/call", &params(theirs), &params(ours))
    }

    /// Sends both a request and compares; gives back the official answer in normal form.
    ///
    /// # Errors
    /// As [`Bench::call`].
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.ask_each(method, params, params)
    }

    /// The same, with parameters that say the same to each in other words.
    ///
    /// # Errors
    /// As [`Bench::call`].
    pub(crate) fn ask_each(&mut self, method: &str, theirs: &Value, ours: &Value) -> Result<Value> {
        let [expected, got] = self.answers(method, theirs, ours)?;
        self.compare(method, theirs, &expected, &got);
        Ok(expected)
    }

    /// What both answer, in normal form, the official answer first; nothing is compared.
    ///
    /// # Errors
    /// As [`Bench::call`].
    pub(crate) fn answers(&mut self, method: &str, theirs: &Value, ours: &Value) -> Result<[Value; 2]> {
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

    /// What the plugin alone answers, in normal form, where the official server can't be asked.
    ///
    /// # Errors
    /// It doesn't answer.
    pub(crate) fn ours(&mut self, method: &str, params: &Value) -> Result<Value> {
        let [_, gateway] = self.servers.as_mut().context("no server was started")?;
        Ok(normal::answer(method, gateway.request(method, params)?))
    }

    /// Compares two values and notes each gap that isn't meant. `method` and `params` say what they answer; they may be
    /// words of the check's own where no request is compared.
    pub(crate) fn compare(&mut self, method: &str, params: &Value, theirs: &Value, ours: &Value) {
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default();
        for (at, left, right) in difference::places(theirs, ours) {
            let gap = Gap {
                method,
                name,
                arguments: &params["arguments"],
                at: &at,
                theirs: left,
                ours: right,
                answers: (theirs, ours),
            };
            let meant = self.subject.differences.iter().position(|difference| (difference.meant)(&gap));
            match meant {
                Some(index) => self.met[index] = true,
                None => self.gaps.push(format!(
                    "{method} {} at `{at}`: official {}, ours {}",
                    cut(Some(params)),
                    cut(left),
                    cut(right)
                )),
            }
        }
    }

    /// Waits until both have told a notification, and compares what it says.
    ///
    /// # Errors
    /// One of them doesn't tell it.
    pub(crate) fn hear(&mut self, method: &str) -> Result<()> {
        let [official, gateway] = self.servers.as_mut().context("no server was started")?;
        let [expected, got] = [official.hear(method)?, gateway.hear(method)?];
        self.compare(method, &json!({}), &expected, &got);
        Ok(())
    }

    fn fails(&mut self, check: &str, why: &str) {
        self.failed = true;
        report::failed(self.subject.plugin, check, why);
    }

    /// Fails for each meant difference that didn't occur: the list says what is, not what was. Where something failed
    /// before, nobody can tell.
    fn close(mut self) -> bool {
        self.servers = None;
        if self.failed {
            return false;
        }
        let unmet: Vec<&str> = self
            .subject
            .differences
            .iter()
            .zip(&self.met)
            .filter(|(_, met)| !**met)
            .map(|(difference, _)| difference.what)
            .collect();
        for what in &unmet {
            let why = format!("nothing differs any more in this, so it doesn't belong there: {what}");
            self.fails("the list of differences", &why);
        }
        if unmet.is_empty() {
            report::passed(self.subject.plugin, "every difference that is listed still occurs");
        }
        !self.failed
    }
}

impl fmt::Debug for Bench<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench").field("subject", &self.subject.plugin).finish_non_exhaustive()
    }
}

/// A value on one line, not too long.
fn cut(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(CUT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
