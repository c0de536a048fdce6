//! What is like what, and how much is done to find it.

use super::*;

#[test]
fn case_and_what_stands_between_words_count_for_nothing() {
    for (asked, there) in [
        ("API_TOKN", "API_TOKEN"),
        ("api-token", "API_TOKEN"),
        ("API_TOKEN", "api-token"),
        ("allow.http", "allow_http"),
        ("a__b", "a_b"),
        ("GRÜẞE", "grüße"),
        ("evn", "env"),
    ] {
        assert_eq!(alike(asked, [there].into_iter()), Some(there), "{asked}");
    }
}

#[test]
fn a_third_of_the_letters_may_be_wrong_and_at_least_one() {
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
        let slips = Some(cells(asked, there)).filter(|cells| *cells > 0);
        let slips = slips.and_then(|_| slips_of_folded(&folded(asked), &folded(there)));
        assert_eq!(slips, found, "{asked} {there}");
    }
    let long = "x".repeat(LONGEST + 1);
    assert_eq!(alike(&long, [long.as_str()].into_iter()), None);
}

#[test]
fn the_first_of_those_with_the_fewest_slips_is_meant() {
    let all = ["hello_world", "helo_greet", "hello_greet"];
    assert_eq!(alike("hello_gret", all.into_iter()), Some("hello_greet"));
    assert_eq!(alike("xun", ["run", "fun"].into_iter()), Some("run"));
}

#[test]
fn a_name_ends_with_the_words_of_another_in_any_spelling() {
    for (whole, part, found) in [
        ("mcp__Hello.greet", "hello_greet", Some(Ending::Part)),
        ("hello--greet", "hello_greet", Some(Ending::Whole)),
        ("hello_greet", "greet", Some(Ending::Part)),
        ("hellogreet", "greet", None),
        ("greet", "hello_greet", None),
    ] {
        assert_eq!(ending(whole, part), found, "{whole} {part}");
    }
}

#[test]
fn what_comparing_costs_is_counted_beforehand_and_only_for_what_may_be_alike() {
    let mut effort = Effort::default();
    let all = ["abcdefghij", "abcdefghi", "of another length", "abc"];
    assert_eq!(effort.alike("abcdefghix", all.into_iter()), Some("abcdefghij"));
    assert_eq!(effort.left(), CELLS - 10 * 10 - 10 * 9);
}

#[test]
fn beyond_the_effort_nothing_is_suggested_however_alike_it_is() {
    // Each costs a hundred pairs of letters, so many fit and no more.
    let names: Vec<String> = (0..=CELLS / 100).map(|at| format!("name{at:06}")).collect();
    let all = || names.iter().map(String::as_str);
    assert_eq!(alike("name00001x", all().take(CELLS / 100)), Some("name000010"));
    assert_eq!(alike("name00001x", all()), None);
    // And nothing more in the same answer.
    let mut effort = Effort::default();
    assert_eq!((effort.alike("name00001x", all()), effort.left()), (None, 0));
    assert_eq!(effort.alike("name00001x", all().take(20)), None);
}
