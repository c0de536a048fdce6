//! The definition of the command line; the commands are tested with the real binary.

use clap::CommandFactory as _;

use super::*;

fn read(line: &str) -> Cli {
    Cli::try_parse_from(line.split(' ')).unwrap()
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn the_help_names_all_exit_codes() {
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
fn serve_logs_more_than_other_commands() {
    assert_eq!(read("moongate serve").verbosity(), Verbosity::Normal);
    assert_eq!(read("moongate check").verbosity(), Verbosity::Silent);
    assert_eq!(read("moongate inspect fetch").verbosity(), Verbosity::Low);
    assert_eq!(read("moongate inspect ./fetch.wasm").verbosity(), Verbosity::Ungranted);
    assert_eq!(read("moongate call a_tool").verbosity(), Verbosity::Low);
    assert_eq!(read("moongate call --plugin ./fetch.wasm fetch").verbosity(), Verbosity::Ungranted);
    assert_eq!(read("moongate check -v").verbosity(), Verbosity::Verbose);
    assert_eq!(read("moongate -vv serve").verbosity(), Verbosity::Debugging);
    assert_eq!(read("moongate serve -q").verbosity(), Verbosity::Quiet);
}

#[test]
fn the_version_names_the_built_in_engine() {
    let engine = version::long().lines().find_map(|line| line.strip_prefix("wasmtime ")).unwrap();
    let pinned = format!("wasmtime = {{ version = \"={engine}\"");
    assert!(include_str!("../../../Cargo.toml").contains(&pinned), "{engine}");
}

/// The words of an example in the help: quoted text is one word, and two spaces start a remark.
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
fn the_help_of_every_command_has_valid_examples() {
    let cli = Cli::command();
    for command in cli.get_subcommands().chain([&cli]) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().filter_map(|line| line.strip_prefix("  moongate "));
        let examples: Vec<_> = lines.flat_map(|line| line.split(" | moongate ")).collect();
        assert!(!examples.is_empty(), "`{}` has no example", command.get_name());
        for line in examples {
            let read = Cli::try_parse_from(example(line));
            assert!(read.is_ok(), "{line}: {read:?}");
        }
    }
}

/// The texts between backquotes that are commands of this program. Values that are filled in are replaced by a word.
fn suggested_commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = joined.split('`');
    let commands = parts.filter(|part| part.starts_with("moongate ") && part.len() < 200);
    commands
        .map(|command| {
            let words = command.split(' ').map(|word| match (word.find('{'), word.ends_with('}')) {
                (Some(0), true) => "x".to_owned(),
                (Some(start), true) => word[..start].to_owned(),
                _ => word.to_owned(),
            });
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

#[test]
fn commands_in_messages_and_documents_exist() {
    use clap::error::ErrorKind;

    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = vec![root.join("README.md")];
    let mut directories = vec![root.join("docs"), root.join("gateway"), root.join("plugins")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !["tests", "target", "dist", "node_modules"].contains(&&*name) {
                directories.push(path);
            } else if (name.ends_with(".rs") && name != "tests.rs") || name.ends_with(".md") {
                files.push(path);
            }
        }
    }
    let mut found = 0;
    for file in files {
        for command in suggested_commands(&std::fs::read_to_string(&file).unwrap()) {
            let error = Cli::try_parse_from(example(command.trim_start_matches("moongate "))).err();
            found += 1;
            // Placeholders aren't valid values, and the name of a command alone can lack arguments.
            let is_wrong = error.as_ref().is_some_and(|error| {
                matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument)
            });
            assert!(!is_wrong, "{}: `{command}`: {}", file.display(), error.unwrap());
        }
    }
    assert!(found > 50, "{found}");
}
