//! Arguments that don't parse.

use clap::CommandFactory as _;

use super::*;
use crate::cli::Cli;

fn error_text(line: &str) -> String {
    improved(Cli::command().try_get_matches_from(line.split(' ')).unwrap_err()).to_string()
}

#[test]
fn tool_arguments_written_as_options_get_a_tip() {
    let tip = "tip: tool arguments have no dashes: write `name=value`";
    for line in ["moongate call greet --name Ada", "moongate call greet --name=Ada b=1"] {
        assert!(error_text(line).contains(tip), "{}", error_text(line));
    }
    for line in ["moongate call greet --formt json", "moongate check --name Ada"] {
        assert!(!error_text(line).contains(tip), "{}", error_text(line));
    }
}

#[test]
fn common_verbs_of_other_programs_are_aliases() {
    for (alias, verb) in [
        ("run", "serve"),
        ("start", "serve"),
        ("validate", "check"),
        ("ls", "list"),
        ("install", "add"),
        ("rm", "remove"),
    ] {
        let mut words = vec!["moongate", alias];
        words.extend(["add", "remove"].contains(&verb).then_some("time"));
        let matches = Cli::command().try_get_matches_from(words).unwrap();
        assert_eq!(matches.subcommand_name(), Some(verb), "{alias}");
    }
}

#[test]
fn redacts_passwords_in_addresses() {
    for line in [
        "moongate call --url http://ci:s/cr@et@127.0.0.1:8931/mcp",
        "moongate list --url=http://ci:s/cr@et@127.0.0.1:8931/mcp",
        "moongate client cursor --url http://ci:s/cr@et@127.0.0.1:8931/mcp",
        "moongate call --endpoint=http://ci:s/cr@et@127.0.0.1:8931/mcp",
        "moongate check http://ci:s/cr@et@127.0.0.1:8931/mcp",
    ] {
        let text = error_text(line);
        assert!(!text.contains("cr@et"), "{line}: {text}");
    }
}

#[test]
fn splits_an_error_into_message_and_hint() {
    let (message, hint) = message_and_hint(&error_text("moongate call greet --formt json"));
    assert_eq!(
        (&*message, &*hint),
        ("unexpected argument '--formt' found", "a similar argument exists: '--format'")
    );
    let (message, hint) = message_and_hint(&error_text("moongate client --format json"));
    let missing = "the following required arguments were not provided: <HOST>";
    assert_eq!((&*message, &*hint), (missing, "see `--help`"));
    let (message, hint) = message_and_hint(&error_text("moongate list tols"));
    assert_eq!(message, "invalid value 'tols' for '[KIND]'");
    assert!(
        hint.starts_with("a similar value exists: 'tools'; possible values: tools, resources, "),
        "{hint}"
    );
}

#[test]
fn recognises_a_request_for_json_in_arguments_that_do_not_parse() {
    let wants = |line: &str| is_json(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), "--format");
    assert!(wants("moongate list tols --format json") && wants("moongate --formt call --format=json"));
    assert!(!wants("moongate list --format text json") && !wants("moongate call x -- --format json"));
}
