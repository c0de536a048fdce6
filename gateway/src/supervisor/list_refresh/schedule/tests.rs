//! The schedule, without plugins.

use super::*;

fn id(name: &str) -> PluginId {
    PluginId::new(name).unwrap()
}

#[test]
fn asks_once_a_second_and_after_the_last_report() {
    let mut schedule = Schedule::default();
    let begin = Instant::now();
    let mut asked = Vec::new();
    for millisecond in 0..5_000 {
        let now = begin + Duration::from_millis(millisecond);
        if millisecond < 2_500 {
            schedule.request(id("a"));
        }
        if schedule.start(now).is_some() {
            assert!(schedule.start(now).is_none(), "it is being asked");
            asked.push(millisecond);
            schedule.finish(&id("a"));
        }
    }
    assert_eq!(asked, [0, 1_000, 2_000, 3_000]);
    assert_eq!(schedule.due(), None);
}

#[test]
fn report_during_an_answer_causes_another_round() {
    let mut schedule = Schedule::default();
    let begin = Instant::now();
    schedule.request(id("a"));
    assert_eq!(schedule.start(begin), Some(id("a")));
    assert!(schedule.is_pending(&id("a")));
    schedule.request(id("a"));
    assert_eq!(schedule.start(begin + 5 * MIN_INTERVAL), None, "never twice at once");
    schedule.finish(&id("a"));
    assert!(schedule.is_pending(&id("a")));
    assert_eq!(schedule.start(begin), None, "not so soon");
    assert_eq!(schedule.due(), Some(begin + MIN_INTERVAL));
    assert_eq!(schedule.start(begin + MIN_INTERVAL), Some(id("a")));
    schedule.finish(&id("a"));
    assert!(!schedule.is_pending(&id("a")));
}

#[test]
fn asks_the_plugin_that_waited_longest() {
    let mut schedule = Schedule::default();
    let begin = Instant::now();
    for name in ["a", "b", "c"] {
        schedule.request(id(name));
    }
    assert_eq!((schedule.start(begin), schedule.start(begin)), (Some(id("a")), Some(id("b"))));
    assert_eq!((schedule.start(begin), schedule.due()), (None, None), "an answer has to come first");
    schedule.request(id("a"));
    schedule.finish(&id("a"));
    assert_eq!(schedule.start(begin + MIN_INTERVAL), Some(id("c")), "it was never asked");
    schedule.finish(&id("b"));
    assert_eq!(schedule.start(begin + MIN_INTERVAL), Some(id("a")));
}
