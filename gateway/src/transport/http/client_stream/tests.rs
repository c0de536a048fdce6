//! Clients that read slowly or not at all, over in-memory streams.

use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr};

use moongate_system::background::MovableFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;

use super::*;
use crate::transport::http::connections::ConnectionLimiter;

/// The buffer between the gateway and its client.
const BUFFER: usize = 64 * 1024;

/// Writes responses of these sizes, each after a pause. Returns the result and its time.
async fn respond(
    responses: &'static [(Duration, usize)],
) -> (JoinHandle<(io::Result<()>, Instant)>, DuplexStream) {
    let slot = ConnectionLimiter::new(0).acquire(IpAddr::V4(Ipv4Addr::LOCALHOST)).await;
    let (gateway, client) = tokio::io::duplex(BUFFER);
    let mut stream = ClientStream::new(gateway, slot.handle());
    let writer = tokio::spawn(async move {
        for (pause, size) in responses {
            tokio::time::sleep(*pause).await;
            let written = stream.write_all(&vec![0; *size]).await;
            if written.is_err() {
                return (written, Instant::now());
            }
        }
        (Ok(()), Instant::now())
    });
    (writer, client)
}

/// Reads `bytes` every `interval`, until the end.
async fn read_slowly(client: &mut DuplexStream, interval: Duration, bytes: usize) {
    loop {
        tokio::time::sleep(interval).await;
        if client.read_exact(&mut vec![0; bytes]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn clients_below_the_minimum_rate_are_disconnected() {
    for (interval, bytes, ends_within) in [
        (Duration::from_hours(1), 1, MAX_WAIT),
        (Duration::from_secs(29), 1, Duration::from_secs(31)),
        (Duration::from_millis(10), 1, Duration::from_secs(31)),
        (Duration::from_secs(1), 8 * 1024, Duration::from_secs(61)),
        (Duration::from_secs(1), 15 * 1024, Duration::from_secs(8 * 1024)),
    ] {
        let (writer, mut client) = respond(&[(Duration::ZERO, 8 << 20)]).await;
        let started = Instant::now();
        read_slowly(&mut client, interval, bytes).await;
        let (result, ended) = writer.await.unwrap();
        assert_eq!(
            result.map_err(|error| error.kind()),
            Err(io::ErrorKind::TimedOut),
            "{interval:?} {bytes}"
        );
        assert!(ended - started <= ends_within, "{interval:?} {bytes}: {:?}", ended - started);
    }
}

#[tokio::test(start_paused = true)]
async fn slow_clients_above_the_minimum_rate_get_their_response() {
    for (interval, bytes) in [
        (Duration::from_secs(1), MIN_BYTES_PER_SECOND as usize),
        (Duration::from_millis(1), 20),
        // A connection that stops for a while, as a laptop that sleeps.
        (Duration::from_secs(29), 1 << 20),
    ] {
        let (writer, mut client) = respond(&[(Duration::ZERO, 2 << 20)]).await;
        read_slowly(&mut client, interval, bytes).await;
        let (result, _) = writer.await.unwrap();
        assert!(result.is_ok(), "{interval:?} {bytes}: {result:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn streams_with_rare_events_stay_open() {
    const RARE: &[(Duration, usize)] = &[(Duration::from_secs(60), 1000); 100];
    // What doesn't wait doesn't count, however little it is, and what has waited is forgotten after some time.
    const SOME: &[(Duration, usize)] = &[(Duration::from_secs(60), BUFFER + 10_000); 10];
    for responses in [RARE, SOME] {
        let (writer, mut client) = respond(responses).await;
        let reader = async {
            loop {
                tokio::time::sleep(Duration::from_secs(20)).await;
                let mut bytes = vec![0; 2 * BUFFER];
                if client.read(&mut bytes).await.is_ok_and(|count| count == 0) {
                    return;
                }
            }
        };
        reader.await;
        let (result, _) = writer.await.unwrap();
        assert!(result.is_ok(), "{result:?}");
    }
}

#[tokio::test]
async fn large_responses_give_others_a_turn_after_each_part() {
    let slot = ConnectionLimiter::new(0).acquire(IpAddr::V4(Ipv4Addr::LOCALHOST)).await;
    for (size, expected) in [(100, 1), (MAX_WRITE_BYTES, 1), (40 * MAX_PART_BYTES, 40)] {
        for is_vectored in [false, true] {
            let mut stream = ClientStream::new(tokio::io::sink(), slot.handle());
            let bytes = vec![0; size];
            let mut written = 0;
            let mut turns = 1;
            poll_fn(|context| {
                while written < size {
                    let rest = &bytes[written..];
                    let (first, second) = rest.split_at(rest.len() / 3);
                    let stream = Pin::new(&mut stream);
                    let wrote = match is_vectored {
                        true => {
                            let parts = [io::IoSlice::new(first), io::IoSlice::new(second)];
                            stream.poll_write_vectored(context, &parts)
                        }
                        false => stream.poll_write(context, rest),
                    };
                    let Poll::Ready(wrote) = wrote else {
                        turns += 1;
                        return Poll::Pending;
                    };
                    written += wrote.unwrap();
                }
                Poll::Ready(())
            })
            .await;
            assert_eq!(written, size);
            assert!((expected..=2 * expected).contains(&turns), "{size} {is_vectored}: {turns}");
        }
    }
}

#[tokio::test]
async fn clients_that_send_much_give_others_a_turn() {
    let slot = ConnectionLimiter::new(0).acquire(IpAddr::V4(Ipv4Addr::LOCALHOST)).await;
    let mut stream =
        ClientStream::new(tokio::io::join(tokio::io::repeat(0), tokio::io::sink()), slot.handle());
    let mut received = 0;
    let mut turns = 0;
    poll_fn(|context| {
        while received < 10 * MAX_READ_TURN_BYTES {
            let mut bytes = [0; MAX_READ_BYTES];
            let mut buffer = ReadBuf::new(&mut bytes);
            if Pin::new(&mut stream).poll_read(context, &mut buffer)?.is_pending() {
                turns += 1;
                return Poll::Pending;
            }
            received += buffer.filled().len();
        }
        Poll::Ready(io::Result::Ok(()))
    })
    .await
    .unwrap();
    assert!((9..=20).contains(&turns), "{turns}");
}

/// Records the size of each write and whether the background pool made it.
#[derive(Default)]
struct WriteRecorder(Vec<(usize, bool)>);

impl AsyncWrite for WriteRecorder {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let is_background = std::thread::current().name().is_some_and(|name| name.starts_with("moongate-bg"));
        self.0.push((bytes.len(), is_background));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn large_responses_are_written_in_parts_on_the_background_pool() {
    let slot = ConnectionLimiter::new(0).acquire(IpAddr::V4(Ipv4Addr::LOCALHOST)).await;
    let mut stream = ClientStream::new(WriteRecorder::default(), slot.handle());
    let written = MovableFuture::new(async move {
        for size in [MAX_WRITE_BYTES, MAX_WRITE_BYTES + 2 * MAX_PART_BYTES, 100] {
            stream.write_all(&vec![0; size]).await.unwrap();
            tokio::task::yield_now().await;
        }
        stream.stream.0
    });
    let parts = (MAX_WRITE_BYTES + 2 * MAX_PART_BYTES) / MAX_PART_BYTES;
    let in_background = vec![(MAX_PART_BYTES, true); parts - 1];
    let before = [(MAX_WRITE_BYTES, false)];
    let after = [(MAX_PART_BYTES, false), (100, false)];
    assert_eq!(written.await, [&before, &in_background[..], &after].concat());
}
