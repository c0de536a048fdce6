//! Tests of patterns, conditions and combined roles.

use super::*;

fn names(patterns: &[&str]) -> Vec<NamePattern> {
    patterns.iter().map(|text| NamePattern::new(text, 0..0)).collect()
}

fn uris(patterns: &[&str]) -> Vec<UriPattern> {
    patterns.iter().map(|text| UriPattern::new(text, 0..0)).collect()
}

fn role(name: &str, callers: CallerCondition, allow: ItemPatterns, deny: ItemPatterns) -> AccessRole {
    let members = vec![RoleMember { span: 0..0, callers }];
    AccessRole { name: name.into(), span: 0..0, members, allow, deny, limits: CallerLimits::default() }
}

fn subject(facts: TokenFacts) -> Principal {
    let subject = TokenSubject::new("https://a.example".into(), "1".into(), "ann");
    Principal::Subject(Arc::new(subject.with_facts(facts)))
}

#[test]
fn stars_match_any_text() {
    for (pattern, name, expected) in [
        ("*", "", true),
        ("*", "x", true),
        ("", "", true),
        ("", "x", false),
        ("notes_*", "notes_", true),
        ("notes_*", "notes", false),
        ("*_delete", "notes_delete", true),
        ("*_delete", "notes_deleted", false),
        ("*a*b*", "xxaxxbxb", true),
        ("*ab", "aab", true),
        ("a*", "A", false),
        ("**", "x", true),
        ("a?c", "abc", false),
    ] {
        assert_eq!(NamePattern::new(pattern, 0..0).matches(name), expected, "{pattern} and {name}");
    }
}

#[test]
fn long_patterns_take_no_exponential_time() {
    let pattern = NamePattern::new(&"*a".repeat(200), 0..0);
    assert!(!pattern.matches(&format!("{}b", "a".repeat(4_000))));
}

#[test]
fn templates_are_patterns_for_their_uris() {
    let pattern = UriPattern::new("file:///{+path}", 0..0);
    for uri in ["file:///{+path}", "file:///docs/a", "file:///"] {
        assert!(pattern.is_surely(uri) && pattern.may_be(uri), "{uri}");
    }
    assert!(!pattern.may_be("note:///a"));
}

#[test]
fn other_spellings_are_denied_but_not_allowed() {
    let secrets = UriPattern::new("file:///secret/*", 0..0);
    let docs = UriPattern::new("file:///docs/*", 0..0);
    for uri in [
        "file:///secret/a",
        "file:///%73ecret/a",
        "FILE:///Secret/a",
        "file:///docs/../secret/a",
        "file:///docs/%2e%2e/secret/a",
        "file:///docs%2F..%2Fsecret%2Fa",
        "file:////secret//a",
        "file:///secret/",
        "file:///../secret/a",
        "file:///docs/../../../secret/a",
        "file:///docs/#/../../secret/a",
        "file:///docs/a#/../../../secret/a",
    ] {
        assert!(secrets.may_be(uri), "{uri}");
        assert!(!docs.is_surely(uri), "{uri}");
    }
    for uri in ["file:///docs/a", "file:///docs/a#part", "file:///docs/", "file:///docs/a/../b"] {
        assert!(docs.is_surely(uri), "{uri}");
        assert!(!secrets.may_be(uri), "{uri}");
    }
}

#[test]
fn members_match_facts_of_the_token() {
    let condition = |scope: Option<&str>, claim: Option<(&str, &str)>| {
        CallerCondition::Subject(SubjectCondition {
            issuer: "https://a.example".into(),
            subject: None,
            scope: scope.map(Arc::from),
            claim: claim.map(|(name, value)| (name.into(), value.into())),
        })
    };
    let ann = subject(TokenFacts {
        scopes: ["read".to_owned()].into(),
        claims: [("groups".to_owned(), vec!["a".to_owned(), "b".to_owned()])].into(),
    });
    assert!(condition(None, None).matches(&ann));
    assert!(condition(Some("read"), Some(("groups", "b"))).matches(&ann));
    assert!(!condition(Some("write"), Some(("groups", "b"))).matches(&ann));
    assert!(!condition(Some("read"), Some(("groups", "c"))).matches(&ann));
    assert!(!condition(None, Some(("roles", "b"))).matches(&ann));
    assert!(!condition(None, None).matches(&Principal::Named("ann".into())));
    let other = TokenSubject::new("https://b.example".into(), "1".into(), "ann");
    assert!(!condition(None, None).matches(&Principal::Subject(other.into())));
    assert!(!CallerCondition::Token("local".into()).matches(&Principal::Local));
    assert!(!CallerCondition::Anonymous.matches(&Principal::Local));
    assert!(CallerCondition::Any.matches(&Principal::Anonymous));
}

#[test]
fn allowed_items_add_up_and_denied_ones_win() {
    let reader =
        ItemPatterns { tools: names(&["notes_*"]), resources: uris(&["note://*"]), ..Default::default() };
    let writer = ItemPatterns { plugins: names(&["files"]), ..Default::default() };
    let no_deletes = ItemPatterns { tools: names(&["*_delete"]), ..Default::default() };
    let roles = Arc::new(AccessRoles::new(vec![
        role("reader", CallerCondition::Any, reader, ItemPatterns::default()),
        role("writer", CallerCondition::Token("ann".into()), writer, ItemPatterns::default()),
        role("careful", CallerCondition::Token("ann".into()), ItemPatterns::default(), no_deletes),
    ]));
    let visible = |principal: &Principal| VisibleItems::new(Arc::clone(&roles), roles.of(principal));
    let ann = visible(&Principal::Named("ann".into()));
    let bob = visible(&Principal::Named("bob".into()));
    let notes = PluginId::new("notes").unwrap();
    let files = PluginId::new("files").unwrap();
    assert_eq!(ann.role_names().collect::<Vec<_>>(), ["reader", "writer", "careful"]);
    assert!(ann.has_tool(&notes, "notes_add") && bob.has_tool(&notes, "notes_add"));
    assert!(ann.has_tool(&files, "files_read") && !bob.has_tool(&files, "files_read"));
    assert!(!ann.has_tool(&files, "files_delete") && !ann.has_tool(&notes, "notes_delete"));
    assert!(bob.has_tool(&notes, "notes_delete"));
    assert!(bob.has_resource(&notes, "note://1") && !bob.has_prompt(&notes, "notes_add"));
    assert!(ann.has_prompt(&files, "files_find") && ann.has_resource(&files, "file:///x"));
}

#[test]
fn facts_decide_whether_two_tokens_have_the_same_roles() {
    let plain = subject(TokenFacts::default());
    let scoped = subject(TokenFacts { scopes: ["read".to_owned()].into(), ..TokenFacts::default() });
    assert_eq!(plain, scoped, "a session belongs to the subject");
    assert!(!plain.has_same_facts(&scoped));
    assert!(plain.has_same_facts(&subject(TokenFacts::default())));
}
