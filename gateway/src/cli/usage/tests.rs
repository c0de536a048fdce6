//! Arguments that don't read.

use clap::CommandFactory as _;

use super::*;
use crate::cli::Cli;

fn error(line: &str) -> (clap::Error, Vec<String>) {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    (Cli::command().try_get_matches_from(&words).unwrap_err(), words)
}

/// What is said of a tool's argument.
fn argument(line: &str) -> Option<(String, String)> {
    let (error, words) = error(line);
    argument_of_a_tool(&error, &words).map(|Cure { message, hint }| (message, hint))
}

#[test]
fn a_tools_argument_that_was_written_as_an_option_is_shown_as_it_should_be() {
    let said = |name: &str, cure: &str| {
        let hint = format!("an argument of the tool is written without dashes: {cure}");
        Some((format!("`call` has no option `{name}`"), hint))
    };
    assert_eq!(argument("moongate call greet --name Ada"), said("--name", "name=Ada"));
    assert_eq!(argument("moongate call greet --name=Ada b=1"), said("--name", "name=Ada"));
    assert_eq!(argument("moongate call greet --name"), said("--name", "name=VALUE"));
    assert_eq!(argument("moongate call greet --name b=1"), said("--name", "name=VALUE"));
    assert_eq!(argument("moongate call now --timezone UTC"), said("--timezone", "timezone=UTC"));
}

#[test]
fn a_misspelt_option_and_one_of_another_verb_are_left_to_the_reader_of_options() {
    assert_eq!(argument("moongate call greet --formt json"), None);
    assert_eq!(argument("moongate check --name Ada"), None);
}

#[test]
fn what_other_programs_call_it_is_shown_as_a_line_that_reads() {
    for (line, cure) in [
        ("moongate list --json", "moongate list --format json"),
        ("moongate check --json -q", "moongate check --format json -q"),
        ("moongate health -o json", "moongate health --format json"),
        ("moongate check gateway.toml", "moongate check -c gateway.toml"),
        ("moongate serve ./my.toml --stdio", "moongate serve -c ./my.toml --stdio"),
        ("moongate list gateway.toml", "moongate list -c gateway.toml"),
        ("moongate check -f", "moongate check -c gateway.toml"),
        ("moongate check -f my.toml", "moongate check -c my.toml"),
        ("moongate check --file=my.toml", "moongate check -c my.toml"),
        ("moongate serve --port 9000", "moongate serve --http 9000"),
        ("moongate serve --port=9000 --stdio", "moongate serve --http 9000 --stdio"),
        ("moongate reload --port 8932", "moongate reload --admin 8932"),
        ("moongate client claude-code --stdio", "moongate client claude-code"),
        ("moongate start", "moongate serve"),
        ("moongate -q run --stdio", "moongate -q serve --stdio"),
        ("moongate validate", "moongate check"),
        ("moongate tools", "moongate list tools"),
        ("moongate call greet --args name=Ada", "moongate call greet name=Ada"),
        ("moongate call greet --args={\"name\":1}", "moongate call greet --json '{\"name\":1}'"),
    ] {
        let (error, words) = error(line);
        let cured = habits::cure(&error, &words).unwrap_or_else(|| panic!("{line}: {error}"));
        assert_eq!(cured.hint, format!("write `{cure}`"), "{line}");
        let read = Cli::command().try_get_matches_from(cure.replace('\'', "").split(' '));
        assert!(read.is_ok(), "{cure}: {}", read.unwrap_err());
    }
}

#[test]
fn no_advice_is_given_that_fails_again() {
    for line in ["moongate list --nothing", "moongate check --nothing", "moongate call --plugin a --answre"] {
        let said = harmless(error(line).0).to_string();
        assert!(!said.contains("as a value"), "{said}");
    }
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    for line in [
        "moongate call --url http://ci:s/cr@et@127.0.0.1:8931/mcp",
        "moongate list --url=http://ci:s/cr@et@127.0.0.1:8931/mcp",
        "moongate client cursor --url http://ci:s/cr@et@127.0.0.1:8931/mcp",
        "moongate call --endpoint=http://ci:s/cr@et@127.0.0.1:8931/mcp",
        "moongate check http://ci:s/cr@et@127.0.0.1:8931/mcp",
    ] {
        let (error, words) = error(line);
        let cure = habits::cure(&error, &words).or_else(|| argument_of_a_tool(&error, &words));
        let said = cure.map_or_else(|| harmless(error).to_string(), |cure| without_password(&cure.hint));
        assert!(!said.contains("cr@et") && said.contains("…@127.0.0.1"), "{line}: {said}");
    }
}

#[test]
fn what_does_not_read_becomes_a_sentence_and_a_hint() {
    let said = |line: &str| {
        sentences(&Cli::command().try_get_matches_from(line.split(' ')).unwrap_err().to_string())
    };
    let (message, hint) = said("moongate call greet --formt json");
    assert_eq!(
        (&*message, &*hint),
        ("unexpected argument '--formt' found", "a similar argument exists: '--format'")
    );
    let (message, hint) = said("moongate client --format json");
    let missing = "the following required arguments were not provided: <HOST>";
    assert_eq!((&*message, &*hint), (missing, "`--help` shows how it is written"));
    let (message, hint) = said("moongate list tols");
    assert_eq!(message, "invalid value 'tols' for '[KIND]'");
    assert!(
        hint.starts_with("a similar value exists: 'tools'; it may be one of tools, resources, "),
        "{hint}"
    );
}

#[test]
fn a_document_is_wanted_where_the_words_say_so() {
    let wants = |line: &str| wants_document(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    assert!(wants("moongate list tols --format json") && wants("moongate --formt call --format=json"));
    assert!(!wants("moongate list --format text json") && !wants("moongate call x -- --format json"));
}
