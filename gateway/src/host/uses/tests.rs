//! What the operator reads of what plugins want.

use super::*;
use crate::host::tests::Warnings;

#[test]
fn who_wants_a_thousand_things_hides_no_limit_and_it_is_told_that_there_are_more() {
    let (warnings, _guard) = Warnings::listen();
    let uses = Uses::new(PluginId::new("greedy").unwrap(), None, Arc::default());
    for at in 0..1000 {
        let cure = Some(format!("env = [\"V{at}\"]"));
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
