//! Lines that arrive in pieces of any size.

use moongate_protocol::jsonrpc::{ErrorObject, Id};

use super::*;

/// An input that returns its bytes in pieces of this size.
struct Pieces {
    bytes: &'static [u8],
    size: usize,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        out: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        let size = self.size.min(self.bytes.len()).min(out.remaining());
        let (now, later) = self.bytes.split_at(size);
        out.put_slice(now);
        self.bytes = later;
        std::task::Poll::Ready(Ok(()))
    }
}

async fn frames(bytes: &'static [u8], size: usize, most: usize) -> Vec<String> {
    let mut lines = LineReader::new(Pieces { bytes, size }, most, HOST_READ_AHEAD_BYTES);
    let mut out = Vec::new();
    loop {
        while let Some(frame) = lines.take() {
            out.push(match frame {
                LineFrame::Line(line) => String::from_utf8(line.to_vec()).unwrap(),
                LineFrame::Blank => continue,
                LineFrame::Discarded(..) => "<too long>".to_owned(),
            });
        }
        if !lines.fill().await.unwrap() {
            return out;
        }
    }
}

#[tokio::test]
async fn splits_lines_independent_of_chunks() {
    let text = b"one\ntwo\r\n\n  \r\n\xf0\x9f\x8c\x99 moon\nlast";
    for size in 1..text.len() {
        assert_eq!(frames(text, size, 100).await, ["one", "two", "🌙 moon", "last"], "in pieces of {size}");
    }
}

#[tokio::test]
async fn reports_a_line_over_the_limit_once() {
    let text = b"12345\n123456\n12345\r\n1234567890123\nok\n123456789";
    let all = ["12345", "<too long>", "12345", "<too long>", "ok", "<too long>"];
    for size in 1..text.len() {
        assert_eq!(frames(text, size, 5).await, all, "in pieces of {size}");
    }
}

#[tokio::test]
async fn keeps_only_the_id_of_a_long_line() {
    let head = br#"{"jsonrpc":"2.0","params":""#.chain(tokio::io::repeat(b'x').take(20 << 20));
    let mut lines = LineReader::new(head.chain(&b"\",\"id\":7}\nnext\n"[..]), 1000, HOST_READ_AHEAD_BYTES);
    let mut frames = Vec::new();
    while lines.fill().await.unwrap() {
        frames.extend(std::iter::from_fn(|| lines.take()));
        assert!(lines.buffer.capacity() < 4 * READ_BYTES, "{}", lines.buffer.capacity());
    }
    let next = LineFrame::Line(BytesMut::from("next"));
    let [LineFrame::Discarded(outline, _), second] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(*second, next);
    let refused = outline.clone().refuse(&ErrorObject::invalid_request("too long")).unwrap_err();
    assert_eq!(refused.id, Some(Id::from(7)));
}

#[tokio::test]
async fn sees_the_end_ahead_without_losing_lines() {
    for (bytes, most, expected) in [
        (&b"one\ntwo\nthree"[..], 5, &["one", "two", "three"][..]),
        (b"much too long\none\ntwo\n", 5, &["<too long>", "one", "two"]),
        (b"much too long", 5, &["<too long>"]),
    ] {
        let mut lines = LineReader::new(Pieces { bytes, size: 8 }, most, HOST_READ_AHEAD_BYTES);
        let mut taken = Vec::new();
        loop {
            while let Some(frame) = lines.take() {
                taken.push(match frame {
                    LineFrame::Line(line) => String::from_utf8(line.to_vec()).unwrap(),
                    LineFrame::Blank => continue,
                    LineFrame::Discarded(..) => "<too long>".to_owned(),
                });
                lines.ended().await;
            }
            if !lines.fill().await.unwrap() {
                break;
            }
        }
        assert_eq!(taken, expected);
    }
}

#[tokio::test]
async fn keeps_no_large_buffer_after_a_long_line() {
    const LINE_BYTES: usize = 4 << 20;
    let long = tokio::io::repeat(b'x').take(LINE_BYTES as u64);
    let mut lines = LineReader::new(long.chain(&b"\nnext\npart"[..]), LINE_BYTES, CLIENT_READ_AHEAD_BYTES);
    let mut lengths = Vec::new();
    while lines.fill().await.unwrap() {
        while let Some(frame) = lines.take() {
            let LineFrame::Line(line) = frame else { panic!("{frame:?}") };
            lengths.push(line.len());
            assert!(lines.buffer.capacity() <= 2 * CLIENT_READ_AHEAD_BYTES, "{}", lines.buffer.capacity());
        }
    }
    assert_eq!(lengths, [LINE_BYTES, 4, 4]);
}
