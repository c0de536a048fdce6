//! What the operator reads of what plugins want.

use super::*;
use crate::host::tests::Warnings;
use crate::telemetry::Verbosity;
use crate::telemetry::tests::said;

#[test]
fn who_wants_a_thousand_things_hides_no_limit_and_it_is_told_that_there_are_more() {
    let (warnings, _guard) = Warnings::listen();
    let uses = Uses::new(PluginId::new("greedy").unwrap(), None, Arc::default());
    for at in 0..1000 {
        let cure = Some(Cure::Line(format!("env = [\"V{at}\"]")));
        uses.lacked(Lack { wanted: format!("the variable V{at}"), cure });
    }
    for _ in 0..2 {
        uses.exceeded("memory", "was refused more memory");
    }
    let warnings = warnings.lines();
    let [first, .., more, limit] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(first.contains("the variable V0, which isn't granted"), "{first}");
    assert_eq!(warnings.iter().filter(|line| line.contains("isn't granted; ")).count(), 64);
    assert!(more.contains("`moongate call --explain`"), "{more}");
    assert!(limit.contains("`memory` in `[plugins.greedy.limits]`"), "{limit}");
    assert_eq!(warnings.len(), 66);
}

#[test]
fn what_a_guest_words_anew_each_time_is_told_once_and_leaves_room_for_other_lacks() {
    let (warnings, _guard) = Warnings::listen();
    let uses = Uses::new(PluginId::new("greedy").unwrap(), None, Arc::default());
    for at in 0..1000 {
        let cure = Some(Cure::ReadDirectory { guest: Some(format!("/{at}")) });
        uses.lacked_some("a file", Lack { wanted: format!("a file (perhaps `/{at}/x`)"), cure });
        uses.may_have_lacked(|| panic!("nobody asks for an explanation"));
    }
    uses.lacked(Lack {
        wanted: "to keep state".to_owned(),
        cure: Some(Cure::Line("state = true".to_owned())),
    });
    let warnings = warnings.lines();
    assert!(warnings.len() == 2 && warnings[0].contains("`/0/x`"), "{warnings:?}");
    assert!(warnings[1].contains("`state = true` in"), "{warnings:?}");
}

#[test]
fn a_cure_is_told_whole_or_not_at_all() {
    let (warnings, _guard) = Warnings::listen();
    let ledger = Arc::new(Ledger::default());
    let told = Arc::default();
    let uses = Uses::new(PluginId::new("notes").unwrap(), Some(Arc::clone(&ledger)), told);
    for (wanted, host) in
        [("a", "/n".to_owned()), ("b", format!("/{}", "n".repeat(500))), ("c", "/\u{202e}".to_owned())]
    {
        let cure = Some(Cure::ChangeDirectory { host, guest: "/n".to_owned() });
        uses.lacked(Lack { wanted: wanted.to_owned(), cure });
    }
    let whole = |entry: &Entry| match entry {
        Entry::Lacked { cure, .. } => cure.as_ref().map(|cure| cure.line().ends_with("\"rw\" }]")),
        Entry::Used(_) | Entry::HeldBack { .. } => None,
    };
    assert_eq!(ledger.entries().iter().map(whole).collect::<Vec<_>>(), [Some(true), None, None]);
    let warnings = warnings.lines();
    assert!(warnings[0].contains("`dirs = [") && warnings[0].contains("grants it"), "{warnings:?}");
    let long = |line: &String| line.contains("isn't granted") && line.contains("too long to be shown");
    assert!(warnings.len() == 3 && warnings[1..].iter().all(long), "{warnings:?}");
}

#[test]
fn of_a_plugin_that_nothing_is_granted_to_its_limits_are_told_and_what_it_lacks_is_not() {
    let tell = || {
        let uses = Uses::new(PluginId::new("greedy").unwrap(), None, Arc::default());
        for at in 0..100 {
            let cure = (at > 0).then(|| Cure::Line(format!("env = [\"V{at}\"]")));
            uses.lacked(Lack { wanted: format!("the variable V{at}"), cure });
        }
        uses.exceeded("memory", "was refused more memory");
    };
    let (low, ungranted) = (said(Verbosity::Low, tell), said(Verbosity::Ungranted, tell));
    assert!(low.contains("which can't be granted") && low.contains("it wants more"), "{low}");
    assert!(!ungranted.contains("granted"), "{ungranted}");
    for said in [low, ungranted] {
        assert!(said.contains("`memory` in `[plugins.greedy.limits]` raises that"), "{said}");
    }
}
