//! Clients that don't read, over in-memory streams.

use std::net::{IpAddr, Ipv4Addr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;

use super::*;
use crate::transport::http::connections::ConnectionLimiter;

#[tokio::test(start_paused = true)]
async fn writing_fails_only_after_30_seconds_without_progress() {
    let slot = ConnectionLimiter::new(0).acquire(IpAddr::V4(Ipv4Addr::LOCALHOST)).await;
    let (gateway, mut client) = tokio::io::duplex(1024);
    let mut writes = TimedWrites::new(gateway, slot.handle());
    let writer = tokio::spawn(async move {
        let result = writes.write_all(&[0; 4096]).await;
        (result, Instant::now())
    });
    let mut last_read = Instant::now();
    for _ in 0..3 {
        tokio::time::sleep(WRITE_TIMEOUT - Duration::from_secs(1)).await;
        client.read_exact(&mut [0; 512]).await.unwrap();
        last_read = Instant::now();
    }
    let (result, ended) = writer.await.unwrap();
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert_eq!(ended - last_read, WRITE_TIMEOUT);
}
