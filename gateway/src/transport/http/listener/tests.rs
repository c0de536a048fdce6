//! What the operator is told of an address, and how long connections have at the end.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_silent_for_long_has_time_for_its_result() {
    let seat = Seats::new(1).take().await;
    tokio::time::advance(2 * QUIET).await;
    let stopped = tokio::time::Instant::now();
    said_and_quiet(&seat).await;
    assert!(stopped.elapsed() >= LAST_WORDS, "it was closed at once");
}

#[tokio::test]
async fn the_cure_for_a_port_in_use_names_the_table_that_it_stands_in() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    for (purpose, table) in [(Purpose::Mcp, "`[http]`"), (Purpose::Admin, "`[admin]`")] {
        let error = Listener::bind(address, purpose).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("can't listen on {address}: another program listens there already")
        );
        assert!(error.hint().contains(table), "{}", error.hint());
    }
}
