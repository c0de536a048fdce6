//! Likely mistakes of plugin authors, and the compiler's errors for them: the problem, its location and the fix.
//!
//! Each file in `mistakes` is a plugin with one kind of mistake; its `.stderr` file contains the compiler's output.
//! To update these after an intended change, run `TRYBUILD=overwrite cargo test -p moongate-authors` and review the
//! diff.

#[test]
fn compiler_errors_explain_the_fix() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/mistakes/*.rs");
}
