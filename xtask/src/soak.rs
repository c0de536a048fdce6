//! `soak`: the tests and the judges over and over for a time, to find what fails once in a hundred runs; and what the
//! tests repeat, such as reloads and hostile calls, many times more often.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::project::Project;
use crate::report::{Report, Tally};
use crate::{build_plugins, foreign_plugins, judges, report, test};

/// How long it goes on where nothing else is asked for.
const DEFAULT: Duration = Duration::from_secs(30 * 60);

/// So many times more often than in other runs is done what tests repeat: 1,000 reloads instead of 100, 10,000 calls with
/// hostile ones among them instead of 1,000.
const ROUNDS: &str = "10";

/// All of that ends within this, or it hangs.
const LIMIT: Duration = Duration::from_secs(60 * 60);

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
        round.step("judges", || Ok(judges::all(project)));
        let Tally { failed, .. } = round.close();
        if failed > 0 {
            bail!("round {rounds} failed after {} s", start.elapsed().as_secs());
        }
        report::say(&format!("round {rounds} held after {} s\n", start.elapsed().as_secs()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The tests that repeat what they do.
fn storms(project: &Project) -> Result<Tally> {
    let tests = project.cargo(&["test", "--workspace", "--test", "it", "--", "storm::", "hostile::"]);
    test::tally(tests.env("MOONGATE_ROUNDS", ROUNDS), LIMIT)
}

/// Reads `--minutes N`.
fn duration(rest: &[String]) -> Result<Duration> {
    match rest {
        [] => Ok(DEFAULT),
        [flag, minutes] if flag == "--minutes" => {
            let minutes: u32 =
                minutes.parse().with_context(|| format!("`{minutes}` is no number of minutes"))?;
            Ok(Duration::from_secs(60 * u64::from(minutes)))
        }
        words => crate::no_more("soak", &words.iter().collect::<Vec<_>>()).map(|()| DEFAULT),
    }
}
