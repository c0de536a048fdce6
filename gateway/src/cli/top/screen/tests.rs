//! The screen at several sizes, and hostile names.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

fn state() -> TopState {
    let items = (0..40).map(|number| ItemRow {
        plugin: "web".to_owned(),
        kind: "tool".to_owned(),
        name: Some(format!("web_tool_{number}")),
        calls: 40 - number,
        errors: u64::from(number == 1),
        p50_ms: Some(12.0),
        p95_ms: None,
        in_flight: 2,
    });
    let tables = ActivityTables {
        items: items.collect(),
        plugins: vec![PluginRow { id: "web".to_owned(), state: "failed".to_owned(), ..PluginRow::default() }],
        callers: vec![CallerRow { caller: "\x1b[31mci\nroot".to_owned(), ..CallerRow::default() }],
        minutes: vec![3; 60],
        gateways: vec![ReplicaRow {
            name: "b 10.0.0.2:1".to_owned(),
            differs: vec!["configuration".to_owned()],
            ..ReplicaRow::default()
        }],
        ..ActivityTables::default()
    };
    let activity = Activity {
        version: "0.1.0".to_owned(),
        state: "ready".to_owned(),
        uptime_seconds: 3_700,
        tables: Some(tables),
        ..Activity::default()
    };
    TopState { activity, rate: Some(2.5), problem: None }
}

fn drawn(screen: &mut TopScreen, state: &TopState, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |row: u16| (0..width).map(|column| buffer[(column, row)].symbol()).collect::<String>();
    (0..height).map(|row| line(row).trim_end().to_owned()).collect()
}

#[test]
fn wide_terminals_show_everything() {
    let lines = drawn(&mut TopScreen::default(), &state(), 100, 30);
    assert_eq!(
        lines[0],
        "Moongate 0.1.0  ready  2.5 calls/s  0 running  0 sessions  0 streams  up 1 h 1 min"
    );
    assert_eq!(lines[1], "180 calls in the last hour, at most 3 a minute");
    assert!(lines[2].starts_with('█'), "{lines:#?}");
    assert!(lines[5].starts_with(" Tools  Plugins  Callers  Latest calls  Refused"), "{lines:#?}");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&lines[6]), "Tool Calls Errors p50 p95 Running Plugin");
    assert_eq!(words(&lines[8]), "web_tool_1 39 1 12 ms – 2 web");
    assert_eq!(lines[29], HELP);
}

#[test]
fn narrow_and_low_terminals_keep_the_names() {
    let lines = drawn(&mut TopScreen::default(), &state(), 30, 8);
    assert!(lines[1].starts_with(" Tools"), "{lines:#?}");
    assert!(lines[2].starts_with("Tool ") && lines[2].ends_with("Errors"), "{lines:#?}");
    assert!(lines[3].starts_with("web_tool_"), "{lines:#?}");
    assert!(lines[7].starts_with("q quit"), "{lines:#?}");
    for (width, height) in [(1, 1), (5, 3), (300, 100)] {
        drawn(&mut TopScreen::default(), &state(), width, height);
    }
}

#[test]
fn keys_select_tables_and_scroll_to_the_last_row() {
    let mut screen = TopScreen::default();
    screen.scroll(isize::MAX);
    let lines = drawn(&mut screen, &state(), 80, 10);
    assert!(lines[8].starts_with("web_tool_39"), "{lines:#?}");
    screen.scroll(-1);
    let lines = drawn(&mut screen, &state(), 80, 10);
    assert!(lines[8].starts_with("web_tool_38"), "{lines:#?}");
    screen.select_next_table();
    let lines = drawn(&mut screen, &state(), 80, 10);
    assert!(lines[3].starts_with("web ") && lines[3].contains("failed"), "{lines:#?}");
    screen.select_previous_table();
    screen.select_previous_table();
    let lines = drawn(&mut screen, &state(), 80, 10);
    assert!(lines[2].starts_with("Gateway "), "{lines:#?}");
    assert!(lines[3].starts_with("b 10.0.0.2:1 ") && lines[3].contains("other configuration"), "{lines:#?}");
}

#[test]
fn refusals_show_the_change_that_allows_them() {
    let mut state = state();
    let fix = "add `{ host = \"…\", mode = \"ro\" }` to `dirs` in `[plugins.fs.allow]`".to_owned();
    state.activity.refused = vec![RefusalRow {
        plugin: Some("fs".to_owned()),
        access: "access to a file".to_owned(),
        fix: Some(fix.clone()),
        count: 3,
        last: "2026-11-30T11:44:51Z".to_owned(),
    }];
    let mut screen = TopScreen { table: TopTable::Refused, ..TopScreen::default() };
    let lines = drawn(&mut screen, &state, 100, 10);
    assert_eq!(lines[3], "11:44:51  fs                3  access to a file");
    assert_eq!(lines[4].trim_start(), fix);
}

#[test]
fn names_from_callers_cant_control_the_terminal() {
    let mut screen = TopScreen { table: TopTable::Callers, ..TopScreen::default() };
    let lines = drawn(&mut screen, &state(), 80, 10).concat();
    assert!(lines.contains("ci") && lines.contains("root"), "{lines}");
    assert!(!lines.contains('\x1b'), "{lines}");
}

#[test]
fn a_silent_gateway_is_reported_above_its_last_state() {
    let state = TopState { problem: Some("nothing listens there".to_owned()), ..state() };
    let lines = drawn(&mut TopScreen::default(), &state, 80, 10);
    assert_eq!(lines[0], "Moongate doesn't respond: nothing listens there");
    assert!(lines[3].starts_with("web_tool_0"), "{lines:#?}");
}
