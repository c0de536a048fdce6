//! Lines that arrive in pieces of any size.

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
    let mut lines = LineReader::new(Pieces { bytes, size }, most);
    let mut out = Vec::new();
    loop {
        while let Some(frame) = lines.take() {
            out.push(match frame {
                LineFrame::Line(line) => String::from_utf8(line.to_vec()).unwrap(),
                LineFrame::TooLong => "<too long>".to_owned(),
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
async fn discards_a_long_line_while_skipping_it() {
    let mut lines = LineReader::new(tokio::io::repeat(b'x'), 1000);
    let mut reports = 0;
    for _ in 0..200 {
        assert!(lines.fill().await.unwrap());
        while let Some(frame) = lines.take() {
            assert_eq!(frame, LineFrame::TooLong);
            reports += 1;
        }
    }
    assert_eq!(reports, 1);
    assert!(lines.buffer.capacity() < 4 * READ_BYTES, "{}", lines.buffer.capacity());
}

#[tokio::test]
async fn sees_the_end_ahead_without_losing_lines() {
    for (bytes, most, expected) in [
        (&b"one\ntwo\nthree"[..], 5, &["one", "two", "three"][..]),
        (b"much too long\none\ntwo\n", 5, &["<too long>", "one", "two"]),
        (b"much too long", 5, &["<too long>"]),
    ] {
        let mut lines = LineReader::new(Pieces { bytes, size: 8 }, most);
        let mut taken = Vec::new();
        loop {
            while let Some(frame) = lines.take() {
                taken.push(match frame {
                    LineFrame::Line(line) => String::from_utf8(line.to_vec()).unwrap(),
                    LineFrame::TooLong => "<too long>".to_owned(),
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
