//! `terminal-svg`: draws `docs/terminal.svg`, a terminal session with the gateway, for the README.
//!
//! The gateway and the plugins must be built. A test compares the image with the current output of the commands.

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

/// The commands, run in the repository's root.
const SESSION: [&str; 4] = [
    "moongate check",
    "moongate call time_get_current_time timezone=Asia/Tokyo",
    "moongate call --quiet --explain fetch_fetch url=http://192.168.1.1/",
    "moongate serve",
];

/// Characters in a line; longer lines are wrapped.
const COLUMNS: usize = 96;

/// The width of a character, in pixels.
const CHARACTER_WIDTH: f32 = 8.4;

/// The height of a line, in pixels.
const LINE_HEIGHT: usize = 20;

/// The gateway prints its banner within this time, even if it must compile plugins first.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// The margin around the text, in pixels.
const MARGIN: usize = 20;

/// The height of the window's title bar, in pixels.
const TITLE_HEIGHT: usize = 34;

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    crate::reject_arguments("terminal-svg", &rest.iter().collect::<Vec<_>>())?;
    if !project.gateway().is_file() || !project.dist().is_dir() {
        bail!("the gateway and its plugins aren't built; run `cargo xtask demo`");
    }
    let mut session = Vec::new();
    for line in SESSION {
        report::command(line);
        session.push((line, run_command(project, line)?));
    }
    let path = project.root().join("docs/terminal.svg");
    fs::write(&path, draw(&session)).with_context(|| format!("can't write `{}`", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The output of a command, with neutral paths instead of this machine's.
fn run_command(project: &Project, line: &str) -> Result<String> {
    let mut words = line.split(' ');
    let mut command = Command::new(project.gateway());
    set_arg0(&mut command, words.next().unwrap_or_default());
    command.args(words).current_dir(project.root()).stdin(Stdio::null());
    for variable in ["MOONGATE_CONFIG", "MOONGATE_LOG", "RUST_LOG", "MOONGATE_LOG_FORMAT"] {
        command.env_remove(variable);
    }
    command.env("NO_COLOR", "1").env("MOONGATE_CACHE_DIR", project.code_cache());
    let state = project.target().join("terminal-svg-state");
    command.env("MOONGATE_STATE_DIR", state);
    let printed = if line.ends_with(" serve") {
        banner(command)?
    } else {
        let output = command.output().context("can't start the gateway")?;
        [output.stdout, output.stderr].concat()
    };
    let mut text = String::from_utf8(printed).context("the gateway's output isn't UTF-8")?;
    let root = project.root().to_owned();
    for (path, shown) in [(project.gateway(), "/path/to/moongate"), (root, "/path/to")] {
        for path in [path.canonicalize()?, path] {
            text = text.replace(&*path.to_string_lossy(), shown);
        }
    }
    Ok(text)
}

/// Sets the name of the program, which the gateway prints.
#[cfg(unix)]
fn set_arg0(command: &mut Command, name: &str) {
    std::os::unix::process::CommandExt::arg0(command, name);
}

/// On other systems the gateway prints its path.
#[cfg(not(unix))]
fn set_arg0(_: &mut Command, _: &str) {}

/// A process that is killed when this is dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        drop(self.0.kill()); // the gateway has nothing to clean up
        drop(self.0.wait());
    }
}

/// The banner of a serving gateway, on a free port, because the default port may be in use.
fn banner(mut command: Command) -> Result<Vec<u8>> {
    command.args(["--http", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = KillOnDrop(command.spawn().context("can't start the gateway")?);
    let stderr = child.0.stderr.take().context("stderr is piped")?;
    let (sender, lines) = mpsc::channel();
    // The end of the process ends this thread.
    thread::spawn(move || {
        let _ = BufReader::new(stderr).lines().try_for_each(|line| sender.send(line));
    });
    banner_lines(|left| lines.recv_timeout(left).ok()).map(String::into_bytes)
}

/// The endpoint that the image shows.
const SHOWN_ENDPOINT: &str = "http://127.0.0.1:8931/mcp";

/// The lines up to the one with an example to try, with the endpoint replaced.
fn banner_lines(mut next: impl FnMut(Duration) -> Option<io::Result<String>>) -> Result<String> {
    let until = Instant::now() + START_TIMEOUT;
    let mut text = String::new();
    let mut endpoint = None::<String>;
    while let Some(line) = next(until.saturating_duration_since(Instant::now())) {
        let line = line.context("can't read the gateway's output")?;
        endpoint = endpoint.or(line.strip_prefix("endpoint  ").map(str::to_owned));
        let line =
            endpoint.as_ref().map_or_else(|| line.clone(), |actual| line.replace(actual, SHOWN_ENDPOINT));
        let _ = writeln!(text, "{line}");
        if line.starts_with("try ") {
            return Ok(text);
        }
    }
    bail!("the gateway printed no example to try; its output:\n{text}")
}

/// The whole file; each line of the terminal is a line of the file.
fn draw(session: &[(&str, String)]) -> String {
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
    let width = (COLUMNS as f32).mul_add(CHARACTER_WIDTH, 2.0 * MARGIN as f32);
    let height = TITLE_HEIGHT + lines.len() * LINE_HEIGHT + MARGIN;
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
        let y = TITLE_HEIGHT + (number + 1) * LINE_HEIGHT - 5;
        let _ =
            writeln!(svg, r#"<text class="{class}" x="{MARGIN}" y="{y}" xml:space="preserve">{text}</text>"#);
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests;
