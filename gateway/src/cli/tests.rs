//! The command line as such; what the verbs do is tested on the real binary.

use clap::CommandFactory as _;

use super::*;

fn read(line: &str) -> Cli {
    Cli::try_parse_from(line.split(' ')).unwrap()
}

#[test]
fn the_command_line_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn exit_codes_are_those_that_the_help_names() {
    let help = Cli::command().render_long_help().to_string();
    for exit in [
        ExitKind::Success,
        ExitKind::Failure,
        ExitKind::Usage,
        ExitKind::Unauthorized,
        ExitKind::Unreachable,
        ExitKind::Tool,
        ExitKind::Configuration,
    ] {
        assert!(help.contains(&format!("\n  {:2}  ", exit.code())), "{exit:?}");
    }
    let error = Cli::try_parse_from(["moongate", "sevre"]).unwrap_err();
    assert_eq!(error.exit_code(), i32::from(ExitKind::Usage.code()));
}

#[test]
fn serving_is_told_of_in_the_log_and_looking_is_not() {
    assert_eq!(read("moongate serve").verbosity(), Verbosity::Normal);
    assert_eq!(read("moongate check").verbosity(), Verbosity::Low);
    assert_eq!(read("moongate inspect fetch").verbosity(), Verbosity::Low);
    assert_eq!(read("moongate inspect ./fetch.wasm").verbosity(), Verbosity::Ungranted);
    assert_eq!(read("moongate call a_tool").verbosity(), Verbosity::Low);
    assert_eq!(read("moongate call --plugin ./fetch.wasm fetch").verbosity(), Verbosity::Ungranted);
    assert_eq!(read("moongate check -v").verbosity(), Verbosity::Verbose);
    assert_eq!(read("moongate -vv serve").verbosity(), Verbosity::Debugging);
    assert_eq!(read("moongate serve -q").verbosity(), Verbosity::Quiet);
}

#[test]
fn the_version_names_the_engine_that_is_built_in() {
    let engine = version::long().lines().find_map(|line| line.strip_prefix("wasmtime ")).unwrap();
    let pinned = format!("wasmtime = {{ version = \"={engine}\"");
    assert!(include_str!("../../../Cargo.toml").contains(&pinned), "{engine}");
}

/// The words of a line of help: a part in single quotes is one word, and what follows two spaces is a remark.
fn example(line: &str) -> Vec<String> {
    let line = line.split("  ").next().unwrap_or_default().split(" > ").next().unwrap_or_default();
    let mut words = vec!["moongate".to_owned()];
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn the_help_of_every_verb_has_examples_that_read() {
    let cli = Cli::command();
    for command in cli.get_subcommands().chain([&cli]) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  moongate ")).collect();
        assert!(!examples.is_empty(), "`{}` has no example", command.get_name());
        for line in examples {
            let read = Cli::try_parse_from(example(line));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
    }
}
