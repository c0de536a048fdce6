//! Limits on captured output, and the end of stderr.

use super::*;

fn output(limit: u64) -> Arc<CapturedOutput> {
    let plugin = PluginId::new("guest").unwrap();
    CapturedOutput::new(plugin.clone(), limit, PluginLog::new(plugin, bytesize::ByteSize::kib(32)))
}

#[test]
fn counts_output_above_the_limit_without_an_error() {
    let output = output(10);
    let mut stdout = OpenOutputStream::new(Arc::clone(&output), StdStream::Stdout);
    for _ in 0..3 {
        assert_eq!(stdout.check_write().unwrap(), MAX_WRITE_BYTES);
        stdout.write(bytes::Bytes::from_static(b"12345678")).unwrap();
        stdout.flush().unwrap();
    }
    output.with(|buffers| {
        assert_eq!((buffers.bytes_left, buffers.dropped_bytes, buffers.stdout.len()), (0, 14, 10));
    });
}

#[test]
fn counts_held_streams_and_resets_for_the_next_call() {
    let output = output(10);
    let captured = CapturedStream(Arc::clone(&output), StdStream::Stderr);
    let mut held = (captured.p2_stream(), captured.p2_stream());
    assert_eq!(output.held_streams(), 2);
    drop(held.1);
    held.0.write(bytes::Bytes::from_static(b"panicked at here:\nno")).unwrap();
    output.finish();
    output.reset(20);
    assert_eq!((output.held_streams(), output.stderr_tail()), (1, None));
    output.with(|buffers| assert_eq!((buffers.bytes_left, buffers.dropped_bytes), (20, 0)));
}

#[test]
fn bounds_the_buffer_of_an_endless_line() {
    let output = output(1 << 20);
    for _ in 0..100 {
        output.write(StdStream::Stdout, &[b'x'; 1000]);
    }
    output.with(|buffers| assert!(buffers.stdout.len() < MAX_LINE_BYTES && buffers.dropped_bytes == 0));
}

#[test]
fn keeps_the_end_of_stderr_above_the_limit() {
    let output = output(0);
    assert_eq!(output.stderr_tail(), None);
    output.write(StdStream::Stderr, &[b'x'; 100_000]);
    output.write(StdStream::Stderr, b"\nthread 'main' (1) panicked at src/lib.rs:3:9:\nno such ");
    output.write(StdStream::Stderr, b"city\nnote: run with `RUST_BACKTRACE=1`\n");
    let tail = output.stderr_tail().unwrap().to_string();
    assert!(tail.ends_with("panicked at src/lib.rs:3:9: | no such city"), "{tail}");
    output.with(|buffers| assert!(buffers.stderr_tail.len() <= 2 * STDERR_TAIL_BYTES));
}

#[test]
fn limits_short_lines_by_their_number() {
    let output = output(64 << 10);
    output.write(StdStream::Stdout, &[b'\n'; 60_000]);
    output.with(|buffers| assert_eq!((buffers.lines_left, buffers.dropped_bytes), (0, 60_000 - 1024)));
}
