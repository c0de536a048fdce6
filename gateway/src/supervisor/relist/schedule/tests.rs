//! Turns, without plugins.

use super::*;

fn id(name: &str) -> PluginId {
    PluginId::new(name).unwrap()
}

#[test]
fn a_plugin_that_reports_all_the_time_is_asked_once_a_second_and_after_its_last_report() {
    let (mut schedule, begin) = (Schedule::default(), Instant::now());
    let mut asked = Vec::new();
    for millisecond in 0..5_000 {
        let now = begin + Duration::from_millis(millisecond);
        if millisecond < 2_500 {
            schedule.want(id("a"));
        }
        if schedule.start(now).is_some() {
            assert!(schedule.start(now).is_none(), "it is asked already");
            asked.push(millisecond);
            schedule.ended(&id("a"));
        }
    }
    assert_eq!(asked, [0, 1_000, 2_000, 3_000]);
    assert_eq!(schedule.next(), None);
}

#[test]
fn what_is_reported_while_it_answers_makes_one_more_round() {
    let (mut schedule, begin) = (Schedule::default(), Instant::now());
    schedule.want(id("a"));
    assert_eq!(schedule.start(begin), Some(id("a")));
    assert!(schedule.awaits(&id("a")));
    schedule.want(id("a"));
    assert_eq!(schedule.start(begin + 5 * EVERY), None, "never twice at once");
    schedule.ended(&id("a"));
    assert!(schedule.awaits(&id("a")));
    assert_eq!(schedule.start(begin), None, "not so soon");
    assert_eq!(schedule.next(), Some(begin + EVERY));
    assert_eq!(schedule.start(begin + EVERY), Some(id("a")));
    schedule.ended(&id("a"));
    assert!(!schedule.awaits(&id("a")));
}

#[test]
fn whoever_waited_longest_is_next_when_many_are_to_be_asked() {
    let (mut schedule, begin) = (Schedule::default(), Instant::now());
    for name in ["a", "b", "c"] {
        schedule.want(id(name));
    }
    assert_eq!((schedule.start(begin), schedule.start(begin)), (Some(id("a")), Some(id("b"))));
    assert_eq!((schedule.start(begin), schedule.next()), (None, None), "an answer has to come first");
    schedule.want(id("a"));
    schedule.ended(&id("a"));
    assert_eq!(schedule.start(begin + EVERY), Some(id("c")), "it was never asked");
    schedule.ended(&id("b"));
    assert_eq!(schedule.start(begin + EVERY), Some(id("a")));
}
