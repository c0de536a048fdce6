//! Tests of name similarity and of the limit on comparisons.

use super::*;

#[test]
fn ignores_case_and_separators() {
    for (asked, there) in [
        ("API_TOKN", "API_TOKEN"),
        ("api-token", "API_TOKEN"),
        ("API_TOKEN", "api-token"),
        ("allow.http", "allow_http"),
        ("a__b", "a_b"),
        ("GRÜẞE", "grüße"),
        ("evn", "env"),
    ] {
        assert_eq!(nearest_name(asked, [there].into_iter()), Some(there), "{asked}");
    }
}

#[test]
fn allows_a_third_of_the_letters_to_differ() {
    for (asked, there, found) in [
        ("abcdef", "abcdxy", Some(2)),
        ("abcdef", "abcxyz", None),
        ("abc", "abx", Some(1)),
        ("ab", "ax", Some(1)),
        ("ab", "xy", None),
        ("a", "b", None),
        ("", "", None),
        ("ab", "AB", Some(0)),
        ("swpa", "swap", Some(1)),
    ] {
        assert_eq!(name_distance(asked, there), found, "{asked} {there}");
    }
    let long = "x".repeat(MAX_NAME_BYTES + 1);
    assert_eq!(name_distance(&long, &long), None);
}

#[test]
fn prefers_the_first_of_the_nearest_names() {
    let all = ["hello_world", "helo_greet", "hello_greet"];
    assert_eq!(nearest_name("hello_gret", all.into_iter()), Some("hello_greet"));
    assert_eq!(nearest_name("xun", ["run", "fun"].into_iter()), Some("run"));
}

#[test]
fn matches_suffixes_in_any_spelling() {
    for (whole, part, found) in [
        ("mcp__Hello.greet", "hello_greet", Some(NameSuffix::Words)),
        ("hello--greet", "hello_greet", Some(NameSuffix::Whole)),
        ("hello_greet", "greet", Some(NameSuffix::Words)),
        ("hellogreet", "greet", None),
        ("greet", "hello_greet", None),
    ] {
        assert_eq!(name_suffix(whole, part), found, "{whole} {part}");
    }
}

#[test]
fn charges_the_budget_before_comparing() {
    let mut budget = MatchBudget::default();
    let all = ["abcdefghij", "abcdefghi", "of another length", "abc"];
    assert_eq!(budget.nearest_name("abcdefghix", all.into_iter()), Some("abcdefghij"));
    assert_eq!(budget.char_pairs_left(), MAX_CHAR_PAIRS - 10 * 10 - 10 * 9);
}

#[test]
fn suggests_nothing_above_the_budget() {
    // Each comparison costs a hundred character pairs, so one name too many exceeds the budget.
    let names: Vec<String> = (0..=MAX_CHAR_PAIRS / 100).map(|at| format!("name{at:06}")).collect();
    let all = || names.iter().map(String::as_str);
    assert_eq!(nearest_name("name00001x", all().take(MAX_CHAR_PAIRS / 100)), Some("name000010"));
    assert_eq!(nearest_name("name00001x", all()), None);
    // After that, the budget of the answer is used up.
    let mut budget = MatchBudget::default();
    assert_eq!((budget.nearest_name("name00001x", all()), budget.char_pairs_left()), (None, 0));
    assert_eq!(budget.nearest_name("name00001x", all().take(20)), None);
}
