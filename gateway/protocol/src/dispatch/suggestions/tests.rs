//! Tests of suggestions for unknown names.

use super::*;

const TOOLS: [(&str, &str); 6] = [
    ("hello_greet", "greet"),
    ("time_get_current_time", "get_current_time"),
    ("time_convert_time", "convert_time"),
    ("a_run", "run"),
    ("b_run", "run"),
    ("greet", "greet"),
];

fn tool(asked: &str) -> String {
    let tools = TOOLS.into_iter().filter(|(public, _)| *public != "greet");
    UnknownName::with_name_suggestions(asked, tools).to_string()
}

#[test]
fn suggests_public_names_for_any_spelling() {
    for asked in [
        "greet",
        "Greet",
        "hello.greet",
        "hello-greet",
        "hello/greet",
        "hello:greet",
        "hello__greet",
        "Hello_Greet",
        "mcp__moongate__hello_greet",
        "moongate.hello_greet",
        "moongate/hello/greet",
        "helo_greet",
        "hello_gret",
        "mcp__hello__greet",
        "other_greet",
    ] {
        assert_eq!(tool(asked), format!("`{asked}`; did you mean `hello_greet`?"));
    }
    assert_eq!(tool("getCurrentTime"), "`getCurrentTime`; did you mean `time_get_current_time`?");
    assert_eq!(tool("current_time"), "`current_time`; did you mean `time_get_current_time`?");
    assert_eq!(tool("run"), "`run`; did you mean `a_run` or `b_run`?");
}

#[test]
fn suggests_nothing_for_dissimilar_names() {
    for asked in ["", "_", "weather", "gr", "x".repeat(200).as_str()] {
        assert!(
            UnknownName::with_name_suggestions(asked, TOOLS.into_iter()).suggestions.is_empty(),
            "{asked}"
        );
    }
}

#[test]
fn suggests_the_longest_matching_suffix() {
    let found = UnknownName::with_name_suggestions("mcp__moongate__hello_greet", TOOLS.into_iter());
    assert_eq!(found.suggestions, ["hello_greet"]);
    assert_eq!(
        UnknownName::with_name_suggestions("moongate_greet", TOOLS.into_iter()).suggestions,
        ["greet"]
    );
}

#[test]
fn suggests_at_most_three_names() {
    let all = ["a_x", "b_x", "c_x", "d_x"].map(|public| (public, "x"));
    assert_eq!(
        UnknownName::with_name_suggestions("x", all.into_iter()).to_string(),
        "`x`; did you mean `a_x`, `b_x` or `c_x`?"
    );
}

#[test]
fn suggests_the_most_similar_uri() {
    let all = ["statistics://formulas", "notes://a/b", "notes://a/c"];
    let meant = |asked: &str| UnknownName::with_uri_suggestion(asked, all.into_iter()).to_string();
    for asked in ["formulas", "statistics://formula", "statistic://formulas", "statistics:/formulas"] {
        assert_eq!(meant(asked), format!("`{asked}`; did you mean `statistics://formulas`?"));
    }
    assert_eq!(meant("notes://a/d"), "`notes://a/d`; did you mean `notes://a/b`?");
    for asked in ["", "other://x", "https://example.com/notes"] {
        assert_eq!(meant(asked), format!("`{asked}`"));
    }
}

#[test]
fn suggests_cheap_matches_only_among_many_names() {
    let names: Vec<String> = (0..10_000).map(|at| format!("plugin_of_many_tool_number_{at:05}")).collect();
    let tools = || names.iter().map(|name| (name.as_str(), name.strip_prefix("plugin_of_").unwrap()));
    let meant = |asked: &str, most| UnknownName::with_name_suggestions(asked, tools().take(most)).suggestions;
    assert_eq!(meant("plugin_of_many_tool_numbr_00007", 100), ["plugin_of_many_tool_number_00007"]);
    assert!(meant("plugin_of_many_tool_numbr_00007", 10_000).is_empty());
    for asked in ["mcp__x__Plugin-of-many-tool-number-09999", "many.tool.number.09999"] {
        assert_eq!(meant(asked, 10_000), ["plugin_of_many_tool_number_09999"], "{asked}");
    }
    let uris: Vec<String> = (0..10_000).map(|at| format!("notes://folder/of/many/{at:05}")).collect();
    let meant = |asked: &str, most| {
        UnknownName::with_uri_suggestion(asked, uris.iter().map(String::as_str).take(most)).suggestions
    };
    assert_eq!(meant("notes://foldr/of/many/00007", 100), ["notes://folder/of/many/00007"]);
    assert!(meant("notes://foldr/of/many/00007", 10_000).is_empty());
    assert_eq!(meant("of/many/09999", 10_000), ["notes://folder/of/many/09999"]);
}
