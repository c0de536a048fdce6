//! Exit statuses of the compiling process, and cancellation.

use super::*;

const LIMITS: CompileLimits = CompileLimits { memory: 1 << 30, seconds: 30 };

fn message(status: i32, stderr: &str) -> String {
    exit_error(ExitStatus::from_raw(status), stderr, LIMITS, LIMITS).to_string()
}

#[test]
fn derives_the_error_from_the_exit_status() {
    let xcpu = Signal::XCPU.as_raw();
    let kill = Signal::KILL.as_raw();
    let abort = Signal::ABORT.as_raw();
    let segv = Signal::SEGV.as_raw();
    assert_eq!(message(xcpu, ""), "compiling the component takes more than 30 seconds");
    for killed in [kill, Signal::TERM.as_raw()] {
        assert_eq!(message(killed, ""), "the process that compiled the component was killed");
    }
    let memory = "compiling the component takes more than 1.0 GiB of memory";
    assert_eq!(message(abort, "memory allocation of 65536 bytes failed"), memory);
    assert_eq!(message(1 << 8, "mmap failed: Cannot allocate memory (os error 12)"), memory);
    assert_eq!(message(segv, ""), memory);
    assert_eq!(
        message(segv, "\nthread 'main' has overflowed its stack"),
        "compiling the component takes more than the compiler can handle"
    );
    assert_eq!(message(1 << 8, "unknown section\n"), "the component is broken: unknown section");
}

#[test]
fn the_compiling_engine_is_compatible_with_the_running_one() {
    let hash = |engine: &Engine| {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(
        [false, true].map(|uses_all_cores| hash(&engine::compile_only(uses_all_cores).unwrap())),
        [hash(&engine::engine(4, engine::KeptMemory::new(64 << 20, 4)).unwrap()); 2]
    );
}

#[test]
fn reads_the_arguments_that_it_writes() {
    for (priority, cache) in
        [(CompilePriority::Normal, None), (CompilePriority::Low, Some(PathBuf::from("/a cache")))]
    {
        let job = CompileJob { limits: LIMITS, priority, cache };
        assert_eq!(CompileJob::parse(job.arguments().into_iter()), Some(job));
    }
    assert_eq!(CompileJob::parse(["1", "2", "high"].into_iter().map(OsString::from)), None);
}

#[test]
fn cancellation_kills_the_process() {
    let abort = CompileCancellation::default();
    let guard = abort.when_dropped();
    // It exits when its stdin is closed, or when it is killed.
    let Pipes { stdin, mut stdout, stderr: _ } = abort.start(&mut Command::new("cat")).unwrap();
    drop(guard);
    let mut output = Vec::new();
    stdout.read_to_end(&mut output).unwrap();
    let status = abort.wait().unwrap();
    assert_eq!((output, status.signal()), (Vec::new(), Some(Signal::KILL.as_raw())));
    drop(stdin);
    // Cancelling after the exit, and starting after cancelling.
    abort.cancel();
    assert!(abort.start(&mut Command::new("cat")).is_err());
    let message = exit_error(status, "", LIMITS, LIMITS).to_string();
    assert_eq!(message, "the process that compiled the component was killed");
}
