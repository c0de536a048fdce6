//! `soak`: repeats the tests and the interop tests to find rare failures, with many more reloads and hostile calls than
//! `test` makes.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::project::Project;
use crate::report::{Report, Tally};
use crate::{build_plugins, foreign_plugins, interop, report, test};

/// The default duration.
const DEFAULT_DURATION: Duration = Duration::from_secs(30 * 60);

/// Multiplies the repetitions inside tests: 1,000 reloads instead of 100, 10,000 hostile and other calls instead of
/// 1,000, and each disturbance of several gateways ten times.
const REPETITION_FACTOR: &str = "10";

/// If the repeating tests take longer, one of them hangs.
const STORM_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    let time = duration(rest)?;
    build_plugins::build(project)?;
    foreign_plugins::build(project)?;
    test::build(project)?;
    let start = Instant::now();
    let mut rounds = 0;
    while start.elapsed() < time {
        rounds += 1;
        let mut round = Report::default();
        round.step("storms", || storms(project));
        round.step("tests", || test::workspace(project));
        round.step("interop", || Ok(interop::run_all(project)));
        let Tally { failed, .. } = round.finish();
        if failed > 0 {
            bail!("round {rounds} failed after {} s", start.elapsed().as_secs());
        }
        report::print(&format!("round {rounds} passed after {} s\n", start.elapsed().as_secs()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the tests that repeat their actions.
fn storms(project: &Project) -> Result<Tally> {
    let tests =
        project.cargo(&["test", "--workspace", "--test", "it", "--", "storm::", "hostile::", "chaos::"]);
    test::tally(tests.env("MOONGATE_ROUNDS", REPETITION_FACTOR), STORM_TIMEOUT)
}

/// Reads `--minutes N`.
fn duration(rest: &[String]) -> Result<Duration> {
    match rest {
        [] => Ok(DEFAULT_DURATION),
        [flag, minutes] if flag == "--minutes" => {
            let minutes: u32 =
                minutes.parse().with_context(|| format!("invalid number of minutes `{minutes}`"))?;
            Ok(Duration::from_secs(60 * u64::from(minutes)))
        }
        words => {
            crate::reject_arguments("soak", &words.iter().collect::<Vec<_>>()).map(|()| DEFAULT_DURATION)
        }
    }
}
