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
}

#[test]
fn a_misspelt_option_and_one_of_another_verb_are_left_to_the_reader_of_options() {
    assert_eq!(cure("moongate call greet --formt json"), None);
    assert_eq!(cure("moongate check --name Ada"), None);
}
