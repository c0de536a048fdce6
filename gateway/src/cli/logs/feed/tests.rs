//! Each event is shown once, also across a restart of the gateway.

use super::*;

fn call(number: u64) -> CallRecord {
    let at = format!("2026-11-30T12:00:{number:02}.000Z");
    CallRecord {
        number,
        at,
        name: Some("echo".to_owned()),
        outcome: "ok".to_owned(),
        ..CallRecord::default()
    }
}

fn activity(started: &str, calls: std::ops::RangeInclusive<u64>) -> Activity {
    Activity { started: started.to_owned(), calls: calls.map(call).collect(), ..Activity::default() }
}

fn numbers(events: &[ActivityEvent]) -> Vec<u64> {
    let number = |event: &ActivityEvent| match event {
        ActivityEvent::Call(call) => Some(call.number),
        ActivityEvent::Missed { .. } | ActivityEvent::Reload(_) | ActivityEvent::Refused(_) => None,
    };
    events.iter().filter_map(number).collect()
}

#[test]
fn calls_are_followed_by_their_numbers() {
    let mut feed = ActivityFeed::default();
    assert_eq!(numbers(&feed.new_events(activity("a", 1..=2))), [1, 2]);
    assert_eq!(feed.query(), "?after=2");
    assert!(feed.new_events(Activity { started: "a".to_owned(), ..Activity::default() }).is_empty());
    let later = feed.new_events(activity("a", 5..=6));
    assert_eq!(later[0], ActivityEvent::Missed { at: call(5).at, calls: 2 });
    assert_eq!(numbers(&later), [5, 6]);
    // A restarted gateway counts from the start again.
    assert!(feed.new_events(activity("b", 7..=7)).is_empty());
    assert_eq!(feed.query(), "?after=0");
    assert_eq!(numbers(&feed.new_events(activity("b", 1..=7))), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn reloads_and_refusals_are_events_when_they_are_new() {
    let mut feed = ActivityFeed::default();
    let reload = |at: &str| ReloadRow { at: at.to_owned(), ok: true, ..ReloadRow::default() };
    let refusal = |count| RefusalRow {
        plugin: Some("fetch".to_owned()),
        access: "GET https://example.com".to_owned(),
        fix: Some("add it".to_owned()),
        count,
        last: format!("2026-11-30T12:00:0{count}.000Z"),
    };
    let mut events = |reloads: &[&str], count| {
        let activity = Activity {
            started: "a".to_owned(),
            reloads: reloads.iter().map(|at| reload(at)).collect(),
            refused: vec![refusal(count)],
            ..Activity::default()
        };
        let events = feed.new_events(activity);
        events.iter().map(|event| event.line(LineStyle::Plain)).collect::<Vec<_>>()
    };
    let (first, second) = ("2026-11-30T12:00:00.000Z", "2026-11-30T12:00:05.000Z");
    let shown = events(&[first], 1);
    assert_eq!(shown[0], "12:00:00 reloaded            configuration  \n");
    let refused = "12:00:01 refused             fetch  GET https://example.com; to allow it, add it\n";
    assert_eq!(shown[1..], [refused]);
    assert!(events(&[first], 1).is_empty());
    assert_eq!(events(&[second, first], 2).len(), 2);
}

#[test]
fn json_lines_name_their_event() {
    let event = ActivityEvent::Call(call(3)).document();
    assert_eq!(
        (&event["event"], &event["number"], &event["name"]),
        (&"call".into(), &3.into(), &"echo".into())
    );
}
