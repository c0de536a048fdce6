//! The likeliest mistakes of authors, and what the compiler says of them: what is wrong, where, and what to write instead.
//!
//! Each file of `mistakes` is a plugin with one kind of mistake; the file beside it holds the compiler's words. After a
//! change that is meant, `TRYBUILD=overwrite cargo test -p moongate-authors` writes them anew: read what changed.

#[test]
fn the_compiler_says_what_to_write_instead() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/mistakes/*.rs");
}
