//! The building blocks of the page: tables, times, numbers, and plots of an hour.

use std::fmt::Write as _;
use std::time::SystemTime;

use maud::{Markup, html};
use moongate_model::text::escaped_line;

use crate::admin::report::format_time;
use crate::call_history::{MINUTES, MinuteCounts};

/// The longest text from a plugin or a caller in one place, in characters.
const MAX_TEXT_CHARS: usize = 400;

/// The number of hexadecimal digits of a digest that are shown, as in `Digest::short`.
const SHOWN_DIGITS: usize = 12;

/// The size of a plot, in the units of its own coordinates.
const PLOT_WIDTH: usize = MINUTES * 2;
const PLOT_HEIGHT: u32 = 24;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    head: &'static str,
    is_number: bool,
}

/// A column of text.
pub(super) const fn text(head: &'static str) -> Column {
    Column { head, is_number: false }
}

/// A column of numbers, which are aligned to the right.
pub(super) const fn number(head: &'static str) -> Column {
    Column { head, is_number: true }
}

/// A table, named by the heading of this section. The first cell of each row names the row. On narrow screens, rows are
/// shown as blocks: the roles keep them a table for screen readers.
pub(super) fn table<const N: usize>(section: &str, columns: [Column; N], rows: &[[Markup; N]]) -> Markup {
    let class = |column: &Column| column.is_number.then_some("number");
    html! {
        table role="table" aria-labelledby={ (section) "-title" } {
            thead role="rowgroup" {
                tr role="row" {
                    @for column in &columns {
                        th role="columnheader" scope="col" class=[class(column)] { (column.head) }
                    }
                }
            }
            tbody role="rowgroup" {
                @for row in rows {
                    tr role="row" {
                        @for (at, (column, cell)) in columns.iter().zip(row).enumerate() {
                            @if at == 0 {
                                th role="rowheader" scope="row" data-label=(column.head) { (cell) }
                            } @else {
                                td role="cell" class=[class(column)] data-label=(column.head) { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Text from a plugin, a caller or a file in one line, with hidden characters visible.
pub(super) fn shown(text: &str) -> String {
    escaped_line(text, MAX_TEXT_CHARS)
}

/// A sentence in place of a table without rows.
pub(super) fn nothing(sentence: &str) -> Markup {
    html! { p.nothing { (with_code(sentence)) } }
}

/// A sentence whose parts in backticks are code.
pub(super) fn with_code(sentence: &str) -> Markup {
    let sentence = shown(sentence);
    html! {
        @for (at, part) in sentence.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The beginning of a digest, which names the whole one.
pub(super) fn digest(digest: &str) -> Markup {
    let short: String = digest.chars().take(SHOWN_DIGITS).collect();
    html! { code.digest title=(shown(digest)) { (shown(&short)) } }
}

/// A point in time: without its date on the same day.
pub(super) fn time(at: SystemTime, now: SystemTime) -> Markup {
    let (full, now) = (format_time(at), format_time(now));
    let (date, clock) = full.split_at(10);
    let clock = clock.get(1..9).unwrap_or_default();
    html! {
        time datetime=(full) { @if now.starts_with(date) { (clock) } @else { (date) " " (clock) } }
    }
}

/// A count, with its digits in groups of three.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A count of errors, which stands out unless it is zero.
pub(super) fn errors(number: u64) -> Markup {
    html! { @if number == 0 { "0" } @else { strong.bad { (count(number)) } } }
}

/// The calls of each minute of an hour as bars, with those that failed at the bottom. `None` for an hour without calls.
pub(super) fn plot(minutes: &[MinuteCounts]) -> Option<Markup> {
    let most = minutes.iter().map(|minute| minute.calls).max().filter(|most| *most > 0)?;
    let bars = |value: fn(&MinuteCounts) -> u32| {
        let mut path = String::new();
        for (at, minute) in minutes.iter().enumerate().filter(|(_, minute)| value(minute) > 0) {
            let height = u64::from(value(minute)) * u64::from(PLOT_HEIGHT - 1) / u64::from(most) + 1;
            let _ = write!(path, "M{} {PLOT_HEIGHT}v-{height}", at * 2 + 1);
        }
        path
    };
    let label = format!("calls per minute in the last hour, at most {most}");
    Some(html! {
        svg.plot role="img" aria-label=(label) viewBox=(format!("0 0 {PLOT_WIDTH} {PLOT_HEIGHT}"))
            preserveAspectRatio="none" {
            path.calls d=(bars(|minute| minute.calls)) {}
            path.errors d=(bars(|minute| minute.errors)) {}
        }
    })
}

/// The button that does the same as `moongate reload`.
pub(super) fn reload_form(label: &str) -> Markup {
    html! {
        form.reload method="post" action="reload" {
            button type="submit" title="Read gateway.toml and all plugins again, and apply pending changes" { (label) }
        }
    }
}

/// The colour of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Neutral,
    Warning,
    Bad,
}

/// A word for a state.
pub(super) fn badge(tone: Tone, word: &str) -> Markup {
    let class = match tone {
        Tone::Good => "good",
        Tone::Neutral => "neutral",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
    };
    html! { span class={ "badge " (class) } { (word) } }
}
