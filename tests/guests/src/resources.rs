//! Tools that use up processor time, memory, handles and stack.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

use moongate_sdk::Context;
use wasip2::clocks::monotonic_clock;
use wasip2::random::random;

const MEBIBYTE: usize = 1 << 20;

/// The number of calls to this instance, including this one.
pub(crate) fn calls_seen() -> u32 {
    static SEEN: AtomicU32 = AtomicU32::new(0);
    SEEN.fetch_add(1, Ordering::Relaxed) + 1
}

/// Computes forever.
pub(crate) fn spin_forever() {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

/// Computes for some tens of milliseconds.
pub(crate) fn compute() {
    for count in 0..50_000_000_u32 {
        black_box(count);
    }
}

/// Computes and calls the host forever.
pub(crate) fn burn_cpu(ctx: &Context) {
    loop {
        for count in 0..10_000_u32 {
            black_box(count);
        }
        black_box(ctx.cancelled());
    }
}

/// Allocates memory, one mebibyte at a time, until that fails.
pub(crate) fn grow_memory() -> String {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        let mut block: Vec<u8> = Vec::new();
        if block.try_reserve_exact(MEBIBYTE).is_err() || taken.try_reserve(1).is_err() {
            break;
        }
        block.resize(MEBIBYTE, 1); // a page counts once it is used
        taken.push(black_box(block));
    }
    let count = taken.len();
    drop(taken);
    format!("got {count} MiB, then no more")
}

/// Allocates memory without handling failure.
pub(crate) fn exhaust_memory() -> usize {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![1_u8; MEBIBYTE]));
        if taken.len() > 5000 {
            return taken.len(); // more than a 32-bit memory can hold
        }
    }
}

/// Opens `count` pollables and drops them only at the end.
pub(crate) fn many_handles(count: u32) -> String {
    let mut handles = Vec::new();
    for _ in 0..count {
        handles.push(monotonic_clock::subscribe_duration(u64::MAX));
    }
    format!("opened {} handles", handles.len())
}

/// Recurses, with work left after the call.
#[expect(unconditional_recursion, reason = "the purpose of the tool")]
pub(crate) fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 16]);
    recurse(black_box(depth + 1)) + frame[3]
}

/// Requests `bytes` random bytes in one call.
pub(crate) fn random_flood(bytes: u64) -> String {
    format!("got {} random bytes", random::get_random_bytes(bytes).len())
}
