//! Renders diagnostics for people: file, line, column, excerpt, caret and hint.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::model::diagnostic::visible;
use crate::model::{Diagnostic, Severity};
use moongate_model::text::is_hidden_in_block;

/// The maximum number of rendered diagnostics. A file that was named by mistake can have an error on every line.
const MAX_RENDERED: usize = 100;

/// The text that the spans of diagnostics refer to.
#[derive(Debug, Clone)]
pub struct ConfigSource {
    /// The file as the operator named it.
    pub path: PathBuf,
    /// Its content. Empty if it couldn't be read.
    pub text: String,
}

/// The output style of diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderStyle {
    /// Plain text, for files and pipes.
    Plain,
    /// With terminal colours.
    Colour,
}

/// Renders `problems` in the given order, with an empty line between them.
#[must_use]
pub fn render_diagnostics(problems: &[Diagnostic], source: &ConfigSource, style: RenderStyle) -> String {
    let renderer = match style {
        RenderStyle::Plain => Renderer::plain(),
        RenderStyle::Colour => Renderer::styled(),
    }
    .decor_style(DecorStyle::Ascii);
    let text = excerptable(&source.text);
    let (problems, omitted) = first(problems);
    let path = visible(&source.path.to_string_lossy()).into_owned();
    let mut out = String::new();
    for problem in problems {
        if !out.is_empty() {
            out.push('\n');
        }
        let rendered = renderer.render(&report(problem, &path, &text));
        for line in rendered.lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    if omitted > 0 {
        let _ = writeln!(out, "\n{omitted} more not shown");
    }
    out
}

/// The diagnostics to render, in the given order, and the number of others. Errors take precedence over warnings.
fn first(problems: &[Diagnostic]) -> (Vec<&Diagnostic>, usize) {
    let mut errors = problems.iter().filter(|problem| problem.is_error()).count().min(MAX_RENDERED);
    let mut warnings = MAX_RENDERED - errors;
    let mut take = |problem: &&Diagnostic| {
        let left = if problem.is_error() { &mut errors } else { &mut warnings };
        *left = match left.checked_sub(1) {
            Some(left) => left,
            None => return false,
        };
        true
    };
    let first: Vec<&Diagnostic> = problems.iter().filter(|problem| take(problem)).collect();
    let omitted = problems.len() - first.len();
    (first, omitted)
}

fn report<'a>(problem: &'a Diagnostic, path: &'a str, text: &'a str) -> Vec<Group<'a>> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(visible(&problem.message));
    let main = match &problem.span {
        None => title.element(Origin::path(path)),
        Some(place) => {
            let (text, start) = lines(problem, text);
            let within = |place: &Range<usize>| {
                within(&(place.start.saturating_sub(start.byte)..place.end.saturating_sub(start.byte)), text)
            };
            let label = problem.label.as_deref().map(visible);
            let primary = AnnotationKind::Primary.span(within(place)).label(label);
            let mut snippet = Snippet::source(text).line_start(start.line).path(path).annotation(primary);
            for (place, label) in &problem.related {
                snippet =
                    snippet.annotation(AnnotationKind::Context.span(within(place)).label(visible(label)));
            }
            title.element(snippet)
        }
    };
    let mut groups = vec![main];
    if let Some(hint) = &problem.hint {
        groups.push(Group::with_title(Level::HELP.with_name("hint").secondary_title(visible(hint))));
    }
    groups
}

/// The start of an excerpt.
struct ExcerptStart {
    byte: usize,
    /// The line number, from 1.
    line: usize,
}

/// The lines of a diagnostic. The renderer scans every line that it gets, so it gets only these.
fn lines<'a>(problem: &Diagnostic, text: &'a str) -> (&'a str, ExcerptStart) {
    let places = problem.span.iter().chain(problem.related.iter().map(|(place, _)| place));
    let mut first = text.len();
    let mut last = 0;
    for place in places {
        first = first.min(place.start);
        last = last.max(place.end.max(place.start).min(text.len()));
    }
    let bytes = text.as_bytes();
    let byte = bytes[..first].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let end = bytes[last..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| last + at + 1);
    let line = 1 + bytes[..byte].iter().filter(|&&byte| byte == b'\n').count();
    (&text[byte..end], ExcerptStart { byte, line })
}

/// `place` limited to the text, to character boundaries and to its first line. The renderer panics on any other span,
/// and a diagnostic can come from another version of the file.
fn within(place: &Range<usize>, text: &str) -> Range<usize> {
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(place.start);
    let end = boundary(place.end).max(start);
    let first_line = text[start..end].split_inclusive('\n').next().unwrap_or("");
    start..start + first_line.trim_end().len()
}

/// The text with hidden characters replaced, byte for byte, so that spans stay valid.
fn excerptable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden_in_block) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let ends_line = c == '\r' && characters.peek() == Some(&'\n');
        match (is_hidden_in_block(c), ends_line) {
            (false, _) | (_, true) => out.push(c),
            (true, false) => out.extend(std::iter::repeat_n('?', c.len_utf8())),
        }
    }
    Cow::Owned(out)
}
