//! `terminal-svg`: draws `docs/terminal.svg`, a terminal session with the gateway, for the README.
//!
//! The gateway and the plugins must be built, and `script` (util-linux) must be installed. A test compares the image with
//! the current output of the commands.

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
    "moongate call --quiet --explain fetch url=http://192.168.1.1/",
    "moongate serve",
];

/// The arguments of `moongate call` for the calls that another terminal makes while the last command serves, and a text that
/// the line of each call contains.
const CALLS: [(&[&str], &str); 2] = [
    (&["time_get_current_time", "timezone=Asia/Tokyo"], "  time_get_current_time "),
    (&["fetch", "url=http://192.168.1.1/"], "  fetch "),
];

/// Calls that the image doesn't show. The first call of a plugin takes longer, because it has to describe itself.
const FIRST_CALLS: [(&[&str], &str); 2] = [
    (&["time_get_current_time", "timezone=UTC"], "  time_get_current_time "),
    (&["fetch", "url=about:blank"], "  fetch "),
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
    command.env_remove("NO_COLOR").env("MOONGATE_CACHE_DIR", project.code_cache());
    let state = project.target().join("terminal-svg-state");
    command.env("MOONGATE_STATE_DIR", state);
    let printed = if line.ends_with(" serve") {
        serve(project, &command)?
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

/// A gateway on a terminal, which ends when this is dropped.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // `script` passes this signal on, but not that of `Child::kill`.
        drop(Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status());
        drop(self.0.wait());
    }
}

/// The lines that a serving gateway prints on a terminal while it is called. It uses a free port, because the default one
/// may be in use.
fn serve(project: &Project, command: &Command) -> Result<Vec<u8>> {
    let mut script = Command::new("script");
    let program = project.gateway();
    let line = format!("exec -a moongate '{}' serve --http 0", program.display());
    // Unlike other shells, bash can set the name of the program.
    script.args(["--quiet", "--return", "--flush", "--command", &format!("bash -c \"{line}\""), "/dev/null"]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    script.env("TERM", "xterm").current_dir(project.root());
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut served = Served(script.spawn().context("can't start `script`")?);
    let screen = served.0.stdout.take().context("stdout is piped")?;
    let (sender, lines) = mpsc::channel();
    // The end of the process ends this thread.
    thread::spawn(move || {
        let _ = BufReader::new(screen).lines().try_for_each(|line| sender.send(line));
    });
    let mut next = |left| lines.recv_timeout(left).ok();
    let Banner { mut text, endpoint } = banner(&mut next)?;
    let mut call = |(words, line): (&[&str], &str)| {
        let mut call = Command::new(&program);
        call.args(["call", "--quiet", "--url", &endpoint]).args(words);
        call.stdin(Stdio::null()).output().context("can't start the gateway")?;
        lines_up_to(line, &mut next)
    };
    for first in FIRST_CALLS {
        call(first)?;
    }
    for shown in CALLS {
        text += &call(shown)?;
    }
    Ok(text.into_bytes())
}

/// The endpoint that the image shows.
const SHOWN_ENDPOINT: &str = "http://127.0.0.1:8931/mcp";

/// The start of a gateway's output.
#[derive(Debug, PartialEq)]
struct Banner {
    /// The lines up to the one with an example to try, with the endpoint replaced.
    text: String,
    /// The actual endpoint.
    endpoint: String,
}

/// Reads the banner.
fn banner(next: &mut dyn FnMut(Duration) -> Option<io::Result<String>>) -> Result<Banner> {
    let text = lines_up_to("try  ", next)?;
    let endpoint = text.lines().find_map(|line| line.strip_prefix("endpoint  "));
    let endpoint = endpoint.with_context(|| format!("the gateway printed no endpoint:\n{text}"))?.to_owned();
    Ok(Banner { text: text.replace(&endpoint, SHOWN_ENDPOINT), endpoint })
}

/// The lines up to the first one that contains a text.
fn lines_up_to(
    expected: &str,
    next: &mut dyn FnMut(Duration) -> Option<io::Result<String>>,
) -> Result<String> {
    let until = Instant::now() + START_TIMEOUT;
    let mut text = String::new();
    while let Some(line) = next(until.saturating_duration_since(Instant::now())) {
        let line = line.context("can't read the gateway's output")?;
        let line = line.trim_end_matches('\r');
        let _ = writeln!(text, "{line}");
        if line.contains(expected) {
            return Ok(text);
        }
    }
    bail!("the gateway printed no line with `{expected}`; its output:\n{text}")
}

/// The whole file; each line of the terminal is a line of the file.
fn draw(session: &[(&str, String)]) -> String {
    let mut lines = Vec::new();
    for (command, printed) in session {
        lines.push(("typed", styled(&format!("$ {command}"))));
        for line in printed.lines() {
            let mut rest = styled(line);
            let mut class = "said";
            while rest.len() > COLUMNS {
                let later = rest.split_off(COLUMNS);
                lines.push((class, rest));
                (rest, class) = (later, "more");
            }
            lines.push((class, rest));
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
.dim {{ fill: #8b949e }} .red {{ fill: #ff7b72 }} .green {{ fill: #7ee787 }} .yellow {{ fill: #e3b341 }}
.blue {{ fill: #79c0ff }} .cyan {{ fill: #76d9e6 }}
</style>
<rect width="100%" height="100%" rx="8" fill="#16191f"/>
<circle cx="20" cy="17" r="5" fill="#ff5f57"/>
<circle cx="38" cy="17" r="5" fill="#febc2e"/>
<circle cx="56" cy="17" r="5" fill="#28c840"/>
"##
    );
    for (number, (class, line)) in lines.iter().enumerate() {
        let y = TITLE_HEIGHT + (number + 1) * LINE_HEIGHT - 5;
        let text = spans(line);
        let _ =
            writeln!(svg, r#"<text class="{class}" x="{MARGIN}" y="{y}" xml:space="preserve">{text}</text>"#);
    }
    svg + "</svg>\n"
}

/// A character with the class of its colour. `None` means the usual one.
type StyledCharacter = (Option<&'static str>, char);

/// The characters of a line, with the colours of its escape sequences (ECMA-48, SGR). Other sequences are left out.
fn styled(line: &str) -> Vec<StyledCharacter> {
    let mut characters = Vec::new();
    let (mut colour, mut is_dim) = (None, false);
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default();
    characters.extend(first.chars().map(|c| (None, c)));
    for part in parts {
        let end = part.find(|c: char| ('@'..='~').contains(&c)).unwrap_or(part.len());
        let (sequence, rest) = part.split_at(end);
        if rest.starts_with('m') {
            for code in sequence.split(';') {
                match code {
                    "" | "0" => (colour, is_dim) = (None, false),
                    "2" => is_dim = true,
                    "31" => colour = Some("red"),
                    "32" => colour = Some("green"),
                    "33" => colour = Some("yellow"),
                    "34" => colour = Some("blue"),
                    "36" => colour = Some("cyan"),
                    _ => {}
                }
            }
        }
        let class = colour.or(is_dim.then_some("dim"));
        characters.extend(rest.chars().skip(1).map(|c| (class, c)));
    }
    characters
}

/// The characters as text and `tspan` elements.
fn spans(line: &[StyledCharacter]) -> String {
    let mut out = String::new();
    for run in line.chunk_by(|(first, _), (second, _)| first == second) {
        let text: String = run.iter().map(|(_, c)| c).collect();
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        match run[0].0 {
            Some(class) => out += &format!(r#"<tspan class="{class}">{text}</tspan>"#),
            None => out += &text,
        }
    }
    out
}

#[cfg(test)]
mod tests;
