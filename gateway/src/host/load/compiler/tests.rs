//! What becomes of a compiler that was ended.

use super::*;

const ALLOWED: Allowance = Allowance { memory: 1 << 30, seconds: 30 };

fn said(status: i32, stderr: &str) -> String {
    reason(ExitStatus::from_raw(status), stderr, ALLOWED, ALLOWED).to_string()
}

#[test]
fn the_way_it_ended_tells_what_was_too_much() {
    let (xcpu, kill, abort, segv) =
        (Signal::XCPU.as_raw(), Signal::KILL.as_raw(), Signal::ABORT.as_raw(), Signal::SEGV.as_raw());
    assert_eq!(said(xcpu, ""), "compiling the component takes more than 30 seconds");
    for killed in [kill, Signal::TERM.as_raw()] {
        assert_eq!(said(killed, ""), "the process that compiled the component was killed");
    }
    let memory = "compiling the component takes more than 1.0 GiB of memory";
    assert_eq!(said(abort, "memory allocation of 65536 bytes failed"), memory);
    assert_eq!(said(1 << 8, "mmap failed: Cannot allocate memory (os error 12)"), memory);
    assert_eq!(
        said(segv, "\nthread 'main' has overflowed its stack"),
        "compiling the component takes more than the compiler can do"
    );
    assert_eq!(said(1 << 8, "unknown section\n"), "the component is broken: unknown section");
}

#[test]
fn the_engine_that_compiles_makes_code_for_the_one_that_runs() {
    let hash = |engine: &Engine| {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&engine::compiling().unwrap()), hash(&engine::engine(4).unwrap()));
}

#[test]
fn who_gives_up_waiting_ends_the_process() {
    let abort = Abort::default();
    let guard = abort.when_dropped();
    // It ends when its stdin does, or when it is told to.
    let Pipes { stdin, mut stdout, stderr: _ } = abort.start(&mut Command::new("cat")).unwrap();
    drop(guard);
    let mut said = Vec::new();
    stdout.read_to_end(&mut said).unwrap();
    let status = abort.wait().unwrap();
    assert_eq!((said, status.signal()), (Vec::new(), Some(Signal::KILL.as_raw())));
    drop(stdin);
    // Too late, and too early.
    abort.now();
    assert!(abort.start(&mut Command::new("cat")).is_err());
    let message = reason(status, "", ALLOWED, ALLOWED).to_string();
    assert_eq!(message, "the process that compiled the component was killed");
}
