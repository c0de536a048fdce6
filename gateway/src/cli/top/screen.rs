//! The screen of `top`: a line with the state of the gateway, the calls of the last hour, one table, and the keys.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Sparkline, Table, Tabs};

use super::TopState;
use crate::admin::activity::{
    Activity, ActivityTables, CallRecord, CallerRow, ItemRow, PluginRow, RefusalRow, ReplicaRow,
};
use crate::call_line::short_duration;
use crate::cli::print;

/// The keys.
const HELP: &str = "q quit  Tab table  ↑↓ scroll";

/// The lowest terminal with a plot, in lines.
const MIN_HEIGHT_WITH_PLOT: u16 = 14;

/// The space between columns.
const COLUMN_SPACING: u16 = 2;

/// One of the tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TopTable {
    #[default]
    Tools,
    Plugins,
    Callers,
    Calls,
    Refused,
    Limits,
    Gateways,
}

impl TopTable {
    const ALL: [Self; 7] =
        [Self::Tools, Self::Plugins, Self::Callers, Self::Calls, Self::Refused, Self::Limits, Self::Gateways];

    fn title(self) -> &'static str {
        match self {
            Self::Tools => "Tools",
            Self::Plugins => "Plugins",
            Self::Callers => "Callers",
            Self::Calls => "Latest calls",
            Self::Refused => "Refused",
            Self::Limits => "Limits",
            Self::Gateways => "Gateways",
        }
    }
}

/// A column: its head, its width, and the narrowest table that shows it.
#[derive(Debug, Clone, Copy)]
struct TopColumn {
    head: &'static str,
    width: Constraint,
    is_number: bool,
    min_table_width: u16,
}

const fn text(head: &'static str, width: Constraint, min_table_width: u16) -> TopColumn {
    TopColumn { head, width, is_number: false, min_table_width }
}

const fn number(head: &'static str, width: u16, min_table_width: u16) -> TopColumn {
    TopColumn { head, width: Constraint::Length(width), is_number: true, min_table_width }
}

/// A cell that stands out if it is `bad`.
struct TopCell {
    text: String,
    is_bad: bool,
}

fn plain(text: impl AsRef<str>) -> TopCell {
    TopCell { text: print::inline(text.as_ref()), is_bad: false }
}

fn errors(number: u64) -> TopCell {
    TopCell { text: number.to_string(), is_bad: number > 0 }
}

fn milliseconds(value: Option<f64>) -> TopCell {
    let duration = value.and_then(|value| Duration::try_from_secs_f64(value / 1e3).ok());
    plain(duration.map_or("–".to_owned(), short_duration))
}

fn time_of_day(at: &str) -> TopCell {
    plain(at.get(11..19).unwrap_or(at))
}

/// What the user selected.
#[derive(Debug, Default)]
pub(super) struct TopScreen {
    table: TopTable,
    /// The first row that is shown.
    first_row: usize,
    /// The number of rows on the screen.
    page: usize,
}

impl TopScreen {
    pub(super) fn select_next_table(&mut self) {
        self.select(1);
    }

    pub(super) fn select_previous_table(&mut self) {
        self.select(TopTable::ALL.len() - 1);
    }

    fn select(&mut self, steps: usize) {
        let at = TopTable::ALL.iter().position(|table| *table == self.table).unwrap_or_default();
        self.table = TopTable::ALL[(at + steps) % TopTable::ALL.len()];
        self.first_row = 0;
    }

    pub(super) fn scroll(&mut self, rows: isize) {
        self.first_row = self.first_row.saturating_add_signed(rows);
    }

    pub(super) fn scroll_page(&mut self, direction: isize) {
        let rows = isize::try_from(self.page.saturating_sub(1).max(1)).unwrap_or(1);
        self.scroll(rows * direction);
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>, state: &TopState) {
        let plot_height = if frame.area().height < MIN_HEIGHT_WITH_PLOT { 0 } else { 4 };
        let lines = [
            Constraint::Length(1),
            Constraint::Length(plot_height),
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(1),
        ];
        let [head, plot, tabs, table, help] = Layout::vertical(lines).areas(frame.area());
        frame.render_widget(Paragraph::new(summary(state)), head);
        draw_plot(frame, plot, state.activity.tables.as_ref());
        let titles = TopTable::ALL.map(TopTable::title);
        let selected = TopTable::ALL.iter().position(|table| *table == self.table);
        let style = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(Tabs::new(titles).select(selected).divider("").highlight_style(style), tabs);
        self.draw_table(frame, table, &state.activity);
        frame.render_widget(Paragraph::new(HELP).style(Style::new().add_modifier(Modifier::DIM)), help);
    }

    fn draw_table(&mut self, frame: &mut Frame<'_>, area: Rect, activity: &Activity) {
        let (columns, rows) = content(self.table, activity);
        self.page = usize::from(area.height.saturating_sub(1));
        self.first_row = self.first_row.min(rows.len().saturating_sub(self.page));
        let is_shown = |column: &TopColumn| area.width >= column.min_table_width;
        let shown: Vec<_> = columns.iter().filter(|column| is_shown(column)).collect();
        let heads = shown.iter().map(|column| cell(column, column.head.to_owned()));
        let head = Row::new(heads).style(Style::new().add_modifier(Modifier::BOLD));
        let visible = rows.into_iter().skip(self.first_row).take(self.page);
        let body = visible.map(|cells| {
            let cells = columns.iter().zip(cells).filter(|(column, _)| is_shown(column));
            Row::new(cells.map(|(column, TopCell { text, is_bad })| {
                let cell = cell(column, text);
                if is_bad { cell.style(Style::new().fg(Color::Red)) } else { cell }
            }))
        });
        let widths: Vec<_> = shown.iter().map(|column| column.width).collect();
        let table = Table::new(body, widths).header(head).column_spacing(COLUMN_SPACING);
        frame.render_widget(table, area);
    }
}

fn cell(column: &TopColumn, text: String) -> Cell<'static> {
    let line = Line::from(text);
    Cell::from(if column.is_number { line.right_aligned() } else { line.left_aligned() })
}

/// The state of the gateway in one line.
fn summary(state: &TopState) -> Line<'static> {
    let TopState { activity, rate, problem } = state;
    if let Some(problem) = problem {
        let text = format!("Moongate doesn't respond: {}", print::inline(problem));
        return Line::styled(text, Style::new().fg(Color::Red));
    }
    let colour = if activity.state == "ready" { Color::Green } else { Color::Yellow };
    let minutes = activity.uptime_seconds / 60;
    let rate = rate.map_or("–".to_owned(), |rate| format!("{rate:.1}"));
    let mut parts = vec![
        Span::styled(
            format!("Moongate {}", print::inline(&activity.version)),
            Style::new().add_modifier(Modifier::BOLD),
        ),
        Span::styled(print::inline(&activity.state), Style::new().fg(colour)),
        Span::raw(format!("{rate} calls/s")),
    ];
    if let Some(ActivityTables { plugins, sessions, streams, .. }) = &activity.tables {
        let running: u64 = plugins.iter().map(|plugin| plugin.running).sum();
        parts.push(Span::raw(format!("{running} running")));
        parts.push(Span::raw(format!("{sessions} sessions")));
        parts.push(Span::raw(format!("{streams} streams")));
    }
    parts.push(Span::raw(format!("up {} h {} min", minutes / 60, minutes % 60)));
    let spaced = parts.into_iter().flat_map(|part| [part, Span::raw("  ")]);
    Line::from(spaced.collect::<Vec<_>>())
}

fn draw_plot(frame: &mut Frame<'_>, area: Rect, tables: Option<&ActivityTables>) {
    let Some(tables) = tables.filter(|_| area.height > 1) else { return };
    let [label, plot] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let most = tables.minutes.iter().max().copied().unwrap_or_default();
    let total: u64 = tables.minutes.iter().sum();
    let text = format!("{total} calls in the last hour, at most {most} a minute");
    frame.render_widget(Paragraph::new(text).style(Style::new().add_modifier(Modifier::DIM)), label);
    // The newest minutes fit into a narrow terminal.
    let shown = tables.minutes.len().saturating_sub(usize::from(plot.width));
    let colour = Style::new().fg(Color::Cyan);
    frame.render_widget(Sparkline::default().data(&tables.minutes[shown..]).style(colour), plot);
}

/// The columns and rows of a table.
fn content(table: TopTable, activity: &Activity) -> (Vec<TopColumn>, Vec<Vec<TopCell>>) {
    let nothing = ActivityTables::default();
    let tables = activity.tables.as_ref().unwrap_or(&nothing);
    match table {
        TopTable::Tools => tools(&tables.items),
        TopTable::Plugins => plugins(&tables.plugins),
        TopTable::Callers => callers(&tables.callers),
        TopTable::Calls => calls(&activity.calls),
        TopTable::Refused => {
            let columns = vec![
                text("Time", Constraint::Length(8), 0),
                text("Plugin", Constraint::Length(12), 0),
                number("Times", 5, 60),
                text("Access, and how to allow it", Constraint::Fill(1), 0),
            ];
            (columns, activity.refused.iter().flat_map(refused).collect())
        }
        TopTable::Limits => {
            let columns = vec![
                text("Last", Constraint::Length(8), 0),
                text("Plugin", Constraint::Fill(1), 0),
                text("Limit", Constraint::Fill(1), 0),
                number("Times", 6, 0),
            ];
            let rows = tables.limits.iter().map(|limit| {
                vec![
                    time_of_day(&limit.last),
                    plain(&limit.plugin),
                    plain(&limit.limit),
                    plain(limit.count.to_string()),
                ]
            });
            (columns, rows.collect())
        }
        TopTable::Gateways => gateways(&tables.gateways),
    }
}

/// A refused access. The change that would allow it has a row of its own, because it is too long for a column.
fn refused(refusal: &RefusalRow) -> Vec<Vec<TopCell>> {
    let RefusalRow { plugin, access, fix, count, last } = refusal;
    let access = TopCell { text: print::inline(access), is_bad: true };
    let plugin = plain(plugin.as_deref().unwrap_or("request"));
    let mut rows = vec![vec![time_of_day(last), plugin, plain(count.to_string()), access]];
    rows.extend(fix.as_ref().map(|fix| vec![plain(""), plain(""), plain(""), plain(fix)]));
    rows
}

/// The gateways that share the store.
fn gateways(gateways: &[ReplicaRow]) -> (Vec<TopColumn>, Vec<Vec<TopCell>>) {
    let columns = vec![
        text("Gateway", Constraint::Fill(1), 0),
        text("Compared", Constraint::Length(28), 0),
        text("Version", Constraint::Length(10), 70),
        text("Configuration", Constraint::Length(13), 90),
        text("Code", Constraint::Length(12), 100),
    ];
    let rows = gateways.iter().map(|gateway| {
        let ReplicaRow { name, own, version, config, code, differs } = gateway;
        let compared = match (own, differs.as_slice()) {
            (true, _) => plain("this gateway"),
            (false, []) => plain("same"),
            (false, differs) => {
                TopCell { text: print::inline(&format!("other {}", differs.join(", "))), is_bad: true }
            }
        };
        let short = |digest: &str| plain(digest.chars().take(12).collect::<String>());
        vec![plain(name), compared, plain(version), short(config), short(code)]
    });
    (columns, rows.collect())
}

fn tools(items: &[ItemRow]) -> (Vec<TopColumn>, Vec<Vec<TopCell>>) {
    let columns = vec![
        text("Tool", Constraint::Fill(1), 0),
        number("Calls", 8, 0),
        number("Errors", 7, 0),
        number("p50", 7, 50),
        number("p95", 7, 50),
        number("Running", 7, 70),
        text("Plugin", Constraint::Length(20), 90),
    ];
    let rows = items.iter().map(|item| {
        vec![
            plain(item.label()),
            plain(item.calls.to_string()),
            errors(item.errors),
            milliseconds(item.p50_ms),
            milliseconds(item.p95_ms),
            plain(item.in_flight.to_string()),
            plain(&item.plugin),
        ]
    });
    (columns, rows.collect())
}

fn plugins(plugins: &[PluginRow]) -> (Vec<TopColumn>, Vec<Vec<TopCell>>) {
    let columns = vec![
        text("Plugin", Constraint::Fill(1), 0),
        text("State", Constraint::Length(10), 0),
        text("Version", Constraint::Length(10), 70),
        number("Calls", 8, 0),
        number("Errors", 7, 50),
        number("Running", 7, 60),
        number("Waiting", 7, 80),
    ];
    let rows = plugins.iter().map(|plugin| {
        let is_bad = matches!(plugin.state.as_str(), "failed" | "degraded");
        vec![
            plain(&plugin.id),
            TopCell { text: print::inline(&plugin.state), is_bad },
            plain(plugin.version.as_deref().unwrap_or("–")),
            plain(plugin.calls.to_string()),
            errors(plugin.errors),
            plain(plugin.running.to_string()),
            plain(plugin.waiting.to_string()),
        ]
    });
    (columns, rows.collect())
}

fn callers(callers: &[CallerRow]) -> (Vec<TopColumn>, Vec<Vec<TopCell>>) {
    let columns = vec![
        text("Caller", Constraint::Fill(1), 0),
        number("Calls", 8, 0),
        number("Errors", 7, 0),
        text("Last call", Constraint::Length(9), 50),
    ];
    let rows = callers.iter().map(|caller| {
        vec![
            plain(&caller.caller),
            plain(caller.calls.to_string()),
            errors(caller.errors),
            time_of_day(&caller.last),
        ]
    });
    (columns, rows.collect())
}

fn calls(calls: &[CallRecord]) -> (Vec<TopColumn>, Vec<Vec<TopCell>>) {
    let columns = vec![
        text("Time", Constraint::Length(8), 0),
        text("Called", Constraint::Fill(1), 0),
        text("Outcome", Constraint::Length(17), 0),
        number("Duration", 8, 60),
        text("Caller", Constraint::Length(24), 80),
    ];
    let rows = calls.iter().rev().map(|call| {
        vec![
            time_of_day(&call.at),
            plain(call.name.as_deref().unwrap_or(&call.plugin)),
            TopCell { text: print::inline(&call.outcome), is_bad: !call.ok },
            milliseconds(Some(call.duration_ms)),
            plain(&call.caller),
        ]
    });
    (columns, rows.collect())
}

#[cfg(test)]
mod tests;
