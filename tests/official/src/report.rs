//! All printing: a line on stdout for each check, which `xtask` counts, and notes on stderr.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the one place that prints")]

/// A check that found nothing.
pub(crate) fn passed(plugin: &str, check: &str) {
    println!("ok official-{plugin} {check}");
}

/// A check that found something.
pub(crate) fn failed(plugin: &str, check: &str, why: &str) {
    println!("FAILED official-{plugin} {check}: {}", why.replace(['\n', '\r'], " "));
}

/// What may help to understand a failure.
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
