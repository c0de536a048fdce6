//! Log lines about missing grants and exceeded limits.

use super::*;
use crate::tests::Warnings;

fn audit() -> GrantAudit {
    GrantAudit::new(PluginId::new("greedy").unwrap(), None, Arc::default())
}

fn missing(wanted: String, line: String) -> MissingGrant {
    MissingGrant { wanted, fix: Some(GrantFix::Line(line)) }
}

#[test]
fn many_missing_grants_hide_no_limit() {
    let (warnings, _guard) = Warnings::listen();
    let audit = audit();
    for at in 0..1000 {
        audit.report_missing(&missing(format!("the variable V{at}"), format!("env = [\"V{at}\"]")));
    }
    for _ in 0..2 {
        audit.report_limit("memory", "was denied more memory");
    }
    let warnings = warnings.lines();
    let [first, .., more, limit] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(first.contains("plugin `greedy` was denied the variable V0; to allow it, add"), "{first}");
    assert_eq!(warnings.iter().filter(|line| line.contains("to allow it")).count(), 64);
    assert!(more.contains("`moongate call --explain`"), "{more}");
    assert!(limit.contains("raise `memory` in `[plugins.greedy.limits]`"), "{limit}");
    assert_eq!(warnings.len(), 66);
}

#[test]
fn possibly_missing_grants_are_made_only_for_a_grant_report() {
    audit().note_possibly_missing(|| panic!("without a grant report"));
}

#[test]
fn a_fix_is_shown_whole_or_not_at_all() {
    let (warnings, _guard) = Warnings::listen();
    let grant_report = Arc::new(GrantReport::default());
    let plugin = PluginId::new("notes").unwrap();
    let audit = GrantAudit::new(plugin, Some(Arc::clone(&grant_report)), Arc::default());
    for (wanted, host) in
        [("a", "/n".to_owned()), ("b", format!("/{}", "n".repeat(500))), ("c", "/\u{202e}".to_owned())]
    {
        let fix = Some(GrantFix::ChangeDirectory { host, guest: "/n".to_owned() });
        audit.report_missing(&MissingGrant { wanted: wanted.to_owned(), fix });
    }
    let whole = |entry: &GrantEvent| match entry {
        GrantEvent::Missing { fix, .. } => {
            fix.as_ref().map(|fix| moongate_config::grant_line(fix).ends_with("\"rw\" }]"))
        }
        GrantEvent::Used(_) | GrantEvent::Limited { .. } => None,
    };
    assert_eq!(grant_report.events().iter().map(whole).collect::<Vec<_>>(), [Some(true), None, None]);
    let warnings = warnings.lines();
    assert!(warnings[0].contains("add `dirs = ["), "{warnings:?}");
    let long = |line: &String| line.contains("was denied") && line.contains("too long to show");
    assert!(warnings.len() == 3 && warnings[1..].iter().all(long), "{warnings:?}");
}

#[test]
fn missing_grants_have_a_log_target_of_their_own() {
    let (warnings, _guard) = Warnings::listen();
    let audit = audit();
    for at in 0..100 {
        let fix = (at > 0).then(|| GrantFix::Line(format!("env = [\"V{at}\"]")));
        audit.report_missing(&MissingGrant { wanted: format!("the variable V{at}"), fix });
    }
    audit.report_limit("memory", "was denied more memory");
    let all = warnings.lines().join("\n");
    assert!(all.contains("no line is suggested") && all.contains("is missing more grants"), "{all}");
    let [limit] = &warnings.lines_without(GRANTS_TARGET)[..] else { panic!("{all}") };
    assert!(limit.contains("raise `memory` in `[plugins.greedy.limits]`"), "{limit}");
}
