//! Arguments that don't read.

use clap::CommandFactory as _;

use super::*;
use crate::cli::Cli;

/// What is said of a line that doesn't read.
fn cure(line: &str) -> Option<(String, String)> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    argument_of_a_tool(&Cli::command().try_get_matches_from(&words).unwrap_err(), &words)
}

#[test]
fn a_tools_argument_that_was_written_as_an_option_is_shown_as_it_should_be() {
    let said = |name: &str, cure: &str| Some((name.to_owned(), cure.to_owned()));
    assert_eq!(cure("moongate call greet --name Ada"), said("--name", "name=Ada"));
    assert_eq!(cure("moongate call greet --name=Ada b=1"), said("--name", "name=Ada"));
    assert_eq!(cure("moongate call greet --name"), said("--name", "name=VALUE"));
    assert_eq!(cure("moongate call greet --name b=1"), said("--name", "name=VALUE"));
    assert_eq!(cure("moongate call now --timezone UTC"), said("--timezone", "timezone=UTC"));
}

#[test]
fn a_misspelt_option_and_one_of_another_verb_are_left_to_the_reader_of_options() {
    assert_eq!(cure("moongate call greet --formt json"), None);
    assert_eq!(cure("moongate check --name Ada"), None);
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
