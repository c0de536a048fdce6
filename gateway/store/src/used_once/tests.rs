//! Used states on a real server.

use moongate_config::StoreConfig;

use super::*;
use crate::test_server::TestServer;

const KEEP: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_state_whose_marking_timed_out_can_be_used_again() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let config = StoreConfig { response_timeout: Duration::from_millis(200), ..server.config() };
    let store = SharedStore::open(&config, None).await;
    while store.mark_used(1, 1, KEEP).await.is_err() {
        sleep(Duration::from_millis(10)).await;
    }
    server.signal("STOP");
    // The server executes it when it continues.
    assert_eq!(store.mark_used(1, 2, KEEP).await, Err(SharedStoreDown));
    server.signal("CONT");
    let used = timeout(KEEP, async {
        while store.mark_used(1, 2, KEEP).await != Ok(true) {
            sleep(Duration::from_millis(10)).await;
        }
    });
    used.await.expect("the state isn't released");
    assert_eq!(store.mark_used(1, 1, KEEP).await, Ok(false));
}
