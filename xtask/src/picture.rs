//! `picture`: `docs/terminal.svg`, a session with the gateway as it prints it, for the README.
//!
//! The gateway and the plugins must have been built. A test compares the picture with what the commands print now.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::project::Project;
use crate::report;

/// What is typed, in the repository's folder.
const SESSION: [&str; 4] = [
    "moongate check",
    "moongate call time_get_current_time timezone=Asia/Tokyo",
    "moongate call --quiet --explain fetch_fetch url=http://192.168.1.1/",
    "moongate serve",
];

/// Characters in a line; longer ones are broken, as a terminal does.
const COLUMNS: usize = 96;

/// Of one character, and of a line, in the picture's own units.
const WIDTH: f32 = 8.4;
const HEIGHT: usize = 20;

/// How long the gateway may take until it has said all: without a cache, it compiles first.
const START: Duration = Duration::from_secs(120);

/// Around the text; above it the window's title.
const MARGIN: usize = 20;
const TITLE: usize = 34;

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    crate::no_more("picture", &rest.iter().collect::<Vec<_>>())?;
    if !project.gateway().is_file() || !project.dist().is_dir() {
        bail!("the gateway and its plugins aren't built; `cargo xtask demo` builds them");
    }
    let mut session = Vec::new();
    for line in SESSION {
        report::command(line);
        session.push((line, printed(project, line)?));
    }
    let path = project.root().join("docs/terminal.svg");
    fs::write(&path, picture(&session)).with_context(|| format!("`{}` can't be written", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// What a command prints, with a reader's paths in place of this machine's.
fn printed(project: &Project, line: &str) -> Result<String> {
    let mut words = line.split(' ');
    let mut command = Command::new(project.gateway());
    name(&mut command, words.next().unwrap_or_default());
    command.args(words).current_dir(project.root()).stdin(Stdio::null());
    for variable in ["MOONGATE_CONFIG", "MOONGATE_LOG", "RUST_LOG", "MOONGATE_LOG_FORMAT"] {
        command.env_remove(variable);
    }
    command.env("NO_COLOR", "1").env("MOONGATE_CACHE_DIR", project.code_cache());
    let state = project.target().join("picture-state");
    command.env("MOONGATE_STATE_DIR", state);
    let printed = if line.ends_with(" serve") {
        banner(command)?
    } else {
        let output = command.output().context("the gateway can't be started")?;
        [output.stdout, output.stderr].concat()
    };
    let mut text = String::from_utf8(printed).context("the gateway printed what isn't text")?;
    let (gateway, root) = (project.gateway(), project.root().to_owned());
    for (path, shown) in [(gateway, "/path/to/moongate"), (root, "/path/to")] {
        for path in [path.canonicalize()?, path] {
            text = text.replace(&*path.to_string_lossy(), shown);
        }
    }
    Ok(text)
}

/// The gateway prints the name by which it was called.
#[cfg(unix)]
fn name(command: &mut Command, name: &str) {
    std::os::unix::process::CommandExt::arg0(command, name);
}

/// Elsewhere it prints its path.
#[cfg(not(unix))]
fn name(_: &mut Command, _: &str) {}

/// A process that ends with what it is for.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill()); // it has nothing to put in order
        drop(self.0.wait());
    }
}

/// The first words of a gateway that serves, at another port than the usual one, which may be taken.
fn banner(mut command: Command) -> Result<Vec<u8>> {
    command.args(["--http", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Ended(command.spawn().context("the gateway can't be started")?);
    let stderr = child.0.stderr.take().context("its stderr is piped")?;
    let (said, heard) = mpsc::channel();
    // Whoever gives up ends the process, and with it this thread.
    thread::spawn(move || {
        let _ = BufReader::new(stderr).lines().try_for_each(|line| said.send(line));
    });
    first_words(|left| heard.recv_timeout(left).ok()).map(String::into_bytes)
}

/// Where a reader's gateway is.
const ENDPOINT: &str = "http://127.0.0.1:8931/mcp";

/// The lines up to the one that says what to try, with a reader's endpoint.
fn first_words(mut next: impl FnMut(Duration) -> Option<io::Result<String>>) -> Result<String> {
    let until = Instant::now() + START;
    let (mut text, mut endpoint) = (String::new(), None::<String>);
    while let Some(line) = next(until.saturating_duration_since(Instant::now())) {
        let line = line.context("what the gateway says can't be read")?;
        endpoint = endpoint.or(line.strip_prefix("endpoint  ").map(str::to_owned));
        let line = endpoint.as_ref().map_or_else(|| line.clone(), |its| line.replace(its, ENDPOINT));
        let _ = writeln!(text, "{line}");
        if line.starts_with("try ") {
            return Ok(text);
        }
    }
    bail!("the gateway doesn't say what to try; it said:\n{text}")
}

/// The whole file: each line of the terminal is a line of it.
fn picture(session: &[(&str, String)]) -> String {
    let mut lines = Vec::new();
    for (command, printed) in session {
        lines.push(("typed", format!("$ {command}")));
        for line in printed.lines() {
            let mut rest: Vec<char> = line.chars().collect();
            let mut class = "said";
            while rest.len() > COLUMNS {
                let later = rest.split_off(COLUMNS);
                lines.push((class, rest.into_iter().collect()));
                (rest, class) = (later, "more");
            }
            lines.push((class, rest.into_iter().collect()));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than a hundred columns")]
    let width = (COLUMNS as f32).mul_add(WIDTH, 2.0 * MARGIN as f32);
    let height = TITLE + lines.len() * HEIGHT + MARGIN;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height}" width="{width:.0}" height="{height}" role="img">
<title>A session with Moongate in a terminal</title>
<style>
text {{ font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #b8c0cc }}
.typed {{ fill: #ffffff; font-weight: bold }}
</style>
<rect width="100%" height="100%" rx="8" fill="#16191f"/>
<circle cx="20" cy="17" r="5" fill="#ff5f57"/>
<circle cx="38" cy="17" r="5" fill="#febc2e"/>
<circle cx="56" cy="17" r="5" fill="#28c840"/>
"##
    );
    for (number, (class, line)) in lines.iter().enumerate() {
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let (x, y) = (MARGIN, TITLE + (number + 1) * HEIGHT - 5);
        let _ = writeln!(svg, r#"<text class="{class}" x="{x}" y="{y}" xml:space="preserve">{text}</text>"#);
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests;
