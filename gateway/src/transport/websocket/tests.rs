//! Frames as lines and lines as frames, limits, pings, and the end of a connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::time::{Instant, timeout};

use super::encoder::MAX_FRAME_BYTES;
use super::pings::PONG_TIMEOUT;
use super::*;

const KEEP_ALIVE: Duration = Duration::from_secs(15);
const MAX_MESSAGE: usize = 1000;

/// The gateway's side, the other end of its stream, and the reason for closing.
fn server() -> (WebSocketLines<DuplexStream>, DuplexStream, CloseReasonSlot) {
    let (near, far) = duplex(1 << 20);
    let close = CloseReasonSlot::default();
    (WebSocketLines::server(near, MAX_MESSAGE, KEEP_ALIVE, close.clone()), far, close)
}

/// A masked frame with this first byte.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    frame(first, payload, Some([1, 2, 3, 4]))
}

fn frame(first: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let flag = if mask.is_some() { 0x80 } else { 0 };
    let mut bytes = vec![first];
    match payload.len() {
        short @ ..126 => bytes.push(flag | u8::try_from(short).unwrap()),
        length => {
            bytes.push(flag | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&mask.unwrap_or_default()[..if mask.is_some() { 4 } else { 0 }]);
    let mask = mask.unwrap_or_default();
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key));
    bytes
}

/// Everything that the gateway reads from these bytes, or the reason for closing.
async fn read_all(bytes: &[u8]) -> Result<String, CloseReason> {
    let (mut near, mut far, close) = server();
    far.write_all(bytes).await.unwrap();
    far.shutdown().await.unwrap();
    let mut lines = String::new();
    match near.read_to_string(&mut lines).await {
        Ok(_) => Ok(lines),
        Err(_) => Err(close.get()),
    }
}

#[test]
fn hashes_the_key_of_the_handshake() {
    assert_eq!(accept_value(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

#[tokio::test]
async fn each_text_message_is_a_line() {
    let close = masked(0x88, &1000_u16.to_be_bytes());
    let cut = "ä".as_bytes().split_at(1);
    let full = "x".repeat(MAX_MESSAGE) + "\n";
    for (bytes, lines) in [
        (masked(0x81, b"{}"), "{}\n"),
        ([masked(0x81, b"1"), masked(0x81, b"2")].concat(), "1\n2\n"),
        (masked(0x81, b"{\n\"a\":\r\n1}"), "{ \"a\":\r 1}\n"),
        (masked(0x81, b""), "\n"),
        ([masked(0x01, b"1"), masked(0x00, b"2"), masked(0x80, b"3")].concat(), "123\n"),
        ([masked(0x01, b"1"), masked(0x89, b"ping"), masked(0x80, b"")].concat(), "1\n"),
        ([masked(0x01, cut.0), masked(0x80, cut.1)].concat(), "ä\n"),
        ([masked(0x8a, b"pong"), masked(0x81, b"1"), close.clone(), masked(0x81, b"2")].concat(), "1\n"),
        (masked(0x81, full.trim_end().as_bytes()), &*full),
    ] {
        assert_eq!(read_all(&bytes).await.as_deref(), Ok(lines), "{bytes:x?}");
        // The same, a byte at a time.
        let (mut near, mut far, _) = server();
        let feeding = tokio::spawn(async move {
            for byte in bytes {
                far.write_all(&[byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
            far
        });
        let mut all = vec![0; lines.len()];
        near.read_exact(&mut all).await.unwrap();
        assert_eq!(all, lines.as_bytes());
        feeding.await.unwrap();
    }
}

#[tokio::test]
async fn what_is_not_supported_has_a_code() {
    let long = "x".repeat(MAX_MESSAGE + 1);
    let half = "x".repeat(MAX_MESSAGE / 2 + 1);
    for (bytes, code) in [
        (masked(0x82, b"{}"), 1003),
        (masked(0x81, long.as_bytes()), 1009),
        ([masked(0x01, half.as_bytes()), masked(0x80, half.as_bytes())].concat(), 1009),
        (vec![0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 1009),
        (masked(0xc1, b"{}"), 1002),
        (masked(0x83, b"{}"), 1002),
        (masked(0x80, b"{}"), 1002),
        (masked(0x09, b""), 1002),
        (masked(0x89, &[0; 126]), 1002),
        ([masked(0x01, b"{"), masked(0x81, b"}")].concat(), 1002),
        (frame(0x81, b"{}", None), 1002),
        (masked(0x88, &[3]), 1002),
        (masked(0x88, &1005_u16.to_be_bytes()), 1002),
        (masked(0x88, b"\x03\xe8\xff"), 1002),
        (masked(0x81, b"\xff"), 1007),
        (masked(0x81, b"\xc3"), 1007),
        (masked(0x81, b"\xed\xa0\x80"), 1007),
        (masked(0x81, b"\xc0\x80"), 1007),
        (masked(0x81, b"\xf4\x90\x80\x80"), 1007),
    ] {
        let (mut near, mut far, _) = server();
        let with_mask = [bytes.clone(), vec![0; 4]].concat(); // of the last one that is too long
        far.write_all(&with_mask).await.unwrap();
        let mut lines = Vec::new();
        assert!(near.read_to_end(&mut lines).await.is_err(), "{bytes:x?}");
        assert!(!lines.contains(&b'\n'), "{lines:?}");
        assert!(near.read(&mut [0; 8]).await.is_err(), "it stays an error, not an end");
        drop(tokio::spawn(async move { near.shutdown().await }));
        let mut sent = [0; 4];
        far.read_exact(&mut sent).await.unwrap();
        assert_eq!(sent[0], 0x88);
        assert_eq!(u16::from_be_bytes([sent[2], sent[3]]), code, "{bytes:x?}");
    }
    // A connection that ends within a message.
    let cut = masked(0x01, b"{}");
    assert_eq!(read_all(&cut).await, Err(CloseReason::Normal));
    assert_eq!(read_all(&[cut, masked(0x88, b"")].concat()).await, Err(CloseReason::Normal));
}

#[tokio::test]
async fn lines_are_messages_for_the_other_side() {
    let long = "ä".repeat(MAX_FRAME_BYTES);
    for text in ["{}\n".to_owned(), "1\n2\n\n3\n".to_owned(), format!("1\n{long}\n2\n")] {
        let (near, far) = duplex(1 << 10);
        let mut client = WebSocketLines::client(near, CloseReasonSlot::default());
        let mut server = WebSocketLines::server(far, 1 << 20, KEEP_ALIVE, CloseReasonSlot::default());
        let expected = text.replace("\n\n", "\n"); // an empty line is no message
        let sending = tokio::spawn(async move {
            client.write_all(text.as_bytes()).await.unwrap();
            client.shutdown().await.unwrap();
            let mut back = String::new();
            client.read_to_string(&mut back).await.unwrap();
            back
        });
        let mut received = String::new();
        server.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, expected);
        server.write_all(received.as_bytes()).await.unwrap();
        server.shutdown().await.unwrap();
        assert_eq!(sending.await.unwrap(), expected, "a client receives what follows its last frame");
    }
}

#[tokio::test]
async fn pings_are_answered_while_nothing_else_is_sent() {
    let (near, mut far, _) = server();
    let (mut input, output) = split(near);
    drop(tokio::spawn(async move { input.read(&mut [0; 8]).await }));
    far.write_all(&masked(0x89, b"are you there?")).await.unwrap();
    let mut pong = [0; 16];
    far.read_exact(&mut pong).await.unwrap();
    assert_eq!((pong[0], &pong[2..]), (0x8a, &b"are you there?"[..]));
    drop(output);
}

/// A client that pings without reading must not make the gateway keep pongs.
#[tokio::test]
async fn only_the_last_ping_is_answered_later() {
    let (near, mut far) = duplex(64);
    let mut server = WebSocketLines::server(near, 1000, KEEP_ALIVE, CloseReasonSlot::default());
    let pinging = tokio::spawn(async move {
        for _ in 0..150 {
            far.write_all(&masked(0x89, &[b'x'; 100])).await.unwrap();
        }
        far.write_all(&masked(0x81, b"{}")).await.unwrap();
        far
    });
    let mut line = [0; 3];
    server.read_exact(&mut line).await.unwrap();
    assert_eq!(&line, b"{}\n");
    assert!(server.encoder.unsent().len() < 1000, "{}", server.encoder.unsent().len());
    drop(pinging.await.unwrap());
}

/// Both sides of the stream write, and each of them must notice that there is room again.
#[tokio::test]
async fn a_pong_does_not_stop_a_writer() {
    let (near, mut far) = duplex(64);
    let server = WebSocketLines::server(near, 1000, KEEP_ALIVE, CloseReasonSlot::default());
    let (mut input, mut output) = split(server);
    let reading = tokio::spawn(async move { input.read(&mut [0; 8]).await });
    let text = "x".repeat(10_000) + "\n";
    let writing = tokio::spawn(async move {
        output.write_all(text.as_bytes()).await.unwrap();
        output.flush().await.unwrap();
        output
    });
    tokio::task::yield_now().await;
    far.write_all(&masked(0x89, b"ping")).await.unwrap();
    tokio::task::yield_now().await;
    let mut all = Vec::new();
    let reads = async {
        while all.len() < 10_000 + 4 + 6 {
            far.read_buf(&mut all).await.unwrap();
        }
    };
    timeout(Duration::from_secs(60), reads).await.unwrap();
    drop((writing.await.unwrap(), reading));
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_pinged_and_given_up() {
    let (mut near, mut far, close) = server();
    let start = Instant::now();
    let reading = tokio::spawn(async move { near.read(&mut [0; 8]).await.map(|_| Instant::now()) });
    let mut ping = [0; 2];
    for answered in 1..=20 {
        far.read_exact(&mut ping).await.unwrap();
        assert_eq!((ping, Instant::now() - start), ([0x89, 0], KEEP_ALIVE * answered));
        far.write_all(&masked(0x8a, b"")).await.unwrap();
    }
    let last_answer = Instant::now();
    assert!(reading.await.unwrap().is_err());
    assert_eq!(close.get(), CloseReason::Unresponsive);
    assert_eq!(Instant::now() - last_answer, KEEP_ALIVE + PONG_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn the_last_frame_is_not_lost_while_the_peer_still_sends() {
    let (near, far, close) = server();
    let (input, mut output) = split(near);
    let (mut from_gateway, mut to_gateway) = split(far);
    close.set(CloseReason::GatewayStops);
    let closing = tokio::spawn(async move { output.shutdown().await.map(|()| Instant::now()) });
    let start = Instant::now();
    to_gateway.write_all(&masked(0x81, &[b'x'; 500])).await.unwrap();
    let mut last = Vec::new();
    from_gateway.read_to_end(&mut last).await.unwrap();
    assert_eq!(&last[..4], [0x88, 2 + 23, 0x03, 0xe9]);
    assert_eq!(&last[4..], b"the gateway is stopping");
    // The peer never closes its side.
    assert_eq!(closing.await.unwrap().unwrap() - start, LINGER_TIMEOUT);
    drop((input, to_gateway));
}

#[tokio::test(start_paused = true)]
async fn too_many_small_frames_close_a_websocket() {
    let start = masked(0x01, b"");
    for small in [masked(0x89, b""), masked(0x8a, b"pong"), masked(0x00, b""), masked(0x00, b" ")] {
        let bytes = |count: usize| [start.clone(), small.repeat(count), masked(0x80, b"1")].concat();
        assert!(read_all(&bytes(100)).await.is_ok(), "{small:x?}");
        assert_eq!(read_all(&bytes(300)).await, Err(CloseReason::TooManyFrames), "{small:x?}");
    }
    let message = masked(0x81, b"1");
    assert_eq!(
        read_all(&message.repeat(300)).await.as_deref(),
        Ok(&*"1\n".repeat(300)),
        "messages aren't small"
    );
}
