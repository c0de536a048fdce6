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
        Exit::Success,
        Exit::Failure,
        Exit::Usage,
        Exit::Unauthorized,
        Exit::Unreachable,
        Exit::Tool,
        Exit::Configuration,
    ] {
        assert!(help.contains(&format!("\n  {:2}  ", exit.code())), "{exit:?}");
    }
    let error = Cli::try_parse_from(["moongate", "sevre"]).unwrap_err();
    assert_eq!(error.exit_code(), i32::from(Exit::Usage.code()));
}

#[test]
fn serving_is_told_of_in_the_log_and_looking_is_not() {
    assert_eq!(read("moongate serve").verbosity(), Verbosity::Normal);
    assert_eq!(read("moongate check").verbosity(), Verbosity::Low);
    assert_eq!(read("moongate inspect fetch").verbosity(), Verbosity::Low);
    assert_eq!(read("moongate inspect ./fetch.wasm").verbosity(), Verbosity::Ungranted);
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
