//! Problems as an operator reads them: file, line, column, excerpt, caret, hint.
//!
//! The only renderer there is: also what plugins and the catalog have to say of the configuration goes through it.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::problem::{Problem, Severity, Source, is_hidden, visible};

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Text alone, for files and pipes.
    Plain,
    /// With terminal colours.
    Colour,
}

/// Draws all `problems`, each followed by an empty line but the last, in the order they are given.
#[must_use]
pub fn render(problems: &[Problem], source: &Source, style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    }
    .decor_style(DecorStyle::Ascii);
    let text = excerptable(&source.text);
    let path = visible(&source.path.to_string_lossy()).into_owned();
    let mut out = String::new();
    for problem in problems {
        if !out.is_empty() {
            out.push('\n');
        }
        let drawn = renderer.render(&report(problem, &path, &text));
        for line in drawn.lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

fn report<'a>(problem: &'a Problem, path: &'a str, text: &'a str) -> Vec<Group<'a>> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(visible(&problem.message));
    let main = match &problem.place {
        None => title.element(Origin::path(path)),
        Some(place) => {
            let label = problem.label.as_deref().map(visible);
            let primary = AnnotationKind::Primary.span(within(place, text)).label(label);
            let mut snippet = Snippet::source(text).path(path).annotation(primary);
            for (place, label) in &problem.related {
                let context = AnnotationKind::Context.span(within(place, text)).label(visible(label));
                snippet = snippet.annotation(context);
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

/// `place` cut to what the text has, at borders of characters, and no longer than its first line: the renderer
/// panics at anything else, and a problem may come from another version of the file.
fn within(place: &Range<usize>, text: &str) -> Range<usize> {
    let border = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = border(place.start);
    let end = border(place.end).max(start);
    let first_line = text[start..end].split_inclusive('\n').next().unwrap_or("");
    start..start + first_line.trim_end().len()
}

/// The text with hidden characters replaced, byte for byte, so that places stay right.
fn excerptable(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t');
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let ends_line = c == '\r' && characters.peek() == Some(&'\n');
        match (hidden(c), ends_line) {
            (false, _) | (_, true) => out.push(c),
            (true, false) => out.extend(std::iter::repeat_n('?', c.len_utf8())),
        }
    }
    Cow::Owned(out)
}
