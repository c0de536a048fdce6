//! Output: one line on stdout for each check, which `xtask` counts, and notes on stderr.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the one place that prints")]

/// Reports a check that passed.
pub(crate) fn passed(plugin: &str, check: &str) {
    println!("ok official-{plugin} {check}");
}

/// Reports a check that failed.
pub(crate) fn failed(plugin: &str, check: &str, why: &str) {
    println!("FAILED official-{plugin} {check}: {}", why.replace(['\n', '\r'], " "));
}

/// Prints details of a failure.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
