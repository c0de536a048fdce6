//! What becomes of what a guest prints.

use super::*;

fn output(limit: u64) -> Arc<Output> {
    Output::new(PluginId::new("guest").unwrap(), limit)
}

#[test]
fn beyond_the_limit_everything_is_counted_and_nothing_is_an_error() {
    let output = output(10);
    let mut stdout = Held::new(Arc::clone(&output), Stream::Stdout);
    for _ in 0..3 {
        assert_eq!(stdout.check_write().unwrap(), CHUNK);
        stdout.write(bytes::Bytes::from_static(b"12345678")).unwrap();
        stdout.flush().unwrap();
    }
    output.with(|state| assert_eq!((state.left, state.dropped, state.stdout.len()), (0, 14, 10)));
}

#[test]
fn what_is_held_is_counted_and_another_call_begins_anew() {
    let output = output(10);
    let captured = Captured(Arc::clone(&output), Stream::Stderr);
    let mut held = (captured.p2_stream(), captured.p2_stream());
    assert_eq!(output.held(), 2);
    drop(held.1);
    held.0.write(bytes::Bytes::from_static(b"panicked at here:\nno")).unwrap();
    output.finish();
    output.renew(20);
    assert_eq!((output.held(), output.last_words()), (1, None));
    output.with(|state| assert_eq!((state.left, state.dropped), (20, 0)));
}

#[test]
fn a_line_without_an_end_takes_no_more_room_than_a_line() {
    let output = output(1 << 20);
    for _ in 0..100 {
        output.write(Stream::Stdout, &[b'x'; 1000]);
    }
    output.with(|state| assert!(state.stdout.len() < LINE && state.dropped == 0));
}

#[test]
fn the_reason_of_a_panic_is_the_last_that_stderr_says_even_beyond_the_limit() {
    let output = output(0);
    assert_eq!(output.last_words(), None);
    output.write(Stream::Stderr, &[b'x'; 100_000]);
    output.write(Stream::Stderr, b"\nthread 'main' (1) panicked at src/lib.rs:3:9:\nno such ");
    output.write(Stream::Stderr, b"city\nnote: run with `RUST_BACKTRACE=1`\n");
    assert_eq!(output.last_words().unwrap().to_string(), "panicked at src/lib.rs:3:9: no such city");
    output.with(|state| assert!(state.tail.len() <= 2 * TAIL));
}

#[test]
fn a_flood_of_short_lines_ends_like_one_of_long_lines() {
    let output = output(64 << 10);
    output.write(Stream::Stdout, &[b'\n'; 60_000]);
    output.with(|state| assert_eq!((state.lines, state.dropped), (0, 60_000 - 1024)));
}
