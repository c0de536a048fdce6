//! The places of callers, and the choice of the connection to evict.

use std::net::Ipv4Addr;
use std::pin::pin;

use futures_util::FutureExt as _;

use super::*;

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const OTHER_PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

/// With 16 connections, 4 can be unauthenticated, and callers share 12: one that is alone can have 11.
fn limiter() -> Arc<ConnectionLimiter> {
    ConnectionLimiter::new(MIN_CONNECTIONS)
}

fn caller(name: &str) -> Caller {
    Caller::Named(name.into())
}

async fn unauthenticated(
    limiter: &Arc<ConnectionLimiter>,
    peer: IpAddr,
    count: usize,
) -> Vec<ConnectionSlot> {
    let mut slots = Vec::new();
    for _ in 0..count {
        slots.push(limiter.acquire(peer).await);
    }
    slots
}

/// Connections whose first request was authenticated, as far as the caller may have them.
async fn authenticated(limiter: &Arc<ConnectionLimiter>, name: &str, count: usize) -> Vec<ConnectionSlot> {
    let mut slots = Vec::new();
    for _ in 0..count {
        tokio::time::advance(Duration::from_millis(10)).await;
        let slot = limiter.acquire(PEER).await;
        if slot.handle().authenticate(&caller(name)).is_ok() {
            slots.push(slot);
        }
    }
    slots
}

/// The indexes of the connections that are being closed.
fn evicted(slots: &[ConnectionSlot]) -> Vec<usize> {
    let is_evicted = |slot: &ConnectionSlot| slot.handle.connection.evicted.is_cancelled();
    (0..).zip(slots).filter(|(_, slot)| is_evicted(slot)).map(|(index, _)| index).collect()
}

fn busy(slots: &[ConnectionSlot]) -> Vec<ActiveRequest> {
    slots.iter().map(|slot| slot.handle().begin_request()).collect()
}

#[tokio::test(start_paused = true)]
async fn silent_peers_evict_only_each_other() {
    let limiter = limiter();
    let honest = authenticated(&limiter, "honest", 3).await;
    let newcomer = unauthenticated(&limiter, OTHER_PEER, 1).await;
    let mut silent = unauthenticated(&limiter, PEER, 3).await;
    for _ in 0..50 {
        let started = Instant::now();
        let mut next = pin!(limiter.acquire(PEER));
        let (_, slot) = tokio::join!(
            async {
                silent[0].evicted().await;
                drop(silent.remove(0));
            },
            &mut next
        );
        assert!(started.elapsed() <= 2 * MIN_UNAUTHENTICATED_TIME, "{:?}", started.elapsed());
        assert_eq!((evicted(&silent), evicted(&newcomer), evicted(&honest)), (vec![], vec![], vec![]));
        silent.push(slot);
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_connections_evicts_none_that_sends_its_request() {
    let limiter = limiter();
    let mut slots = Vec::new();
    for _ in 0..11 {
        let slot = limiter.acquire(PEER).await;
        let handle = slot.handle();
        tokio::spawn(async move {
            tokio::time::sleep(MIN_UNAUTHENTICATED_TIME / 2).await;
            handle.authenticate(&caller("caller"))
        });
        slots.push(slot);
    }
    assert_eq!(evicted(&slots), [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_an_authenticated_request_is_closed_after_ten_seconds() {
    let limiter = limiter();
    let slots = authenticated(&limiter, "caller", 1).await;
    let silent = limiter.acquire(PEER).await;
    let started = Instant::now();
    silent.evicted().await;
    assert_eq!(started.elapsed(), UNAUTHENTICATED_TIMEOUT);
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert!(slots[0].evicted().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_caller_at_its_limit_loses_its_own_quietest_connection() {
    let limiter = limiter();
    let honest = authenticated(&limiter, "honest", 1).await;
    let mut greedy = authenticated(&limiter, "greedy", 6).await;
    assert_eq!(evicted(&greedy), [0; 0]);
    let _running = busy(&greedy[..1]);
    greedy[1].handle().touch();
    greedy.extend(authenticated(&limiter, "greedy", 1).await);
    assert_eq!((greedy.len(), evicted(&greedy), evicted(&honest)), (7, vec![2], vec![]));
    drop(greedy.remove(2));
    let _all_running = busy(&greedy);
    assert_eq!(authenticated(&limiter, "greedy", 1).await.len(), 0, "all of its connections are busy");
    assert_eq!((evicted(&greedy), evicted(&honest)), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_alone_leaves_places_to_the_next_one() {
    let limiter = limiter();
    let greedy = authenticated(&limiter, "greedy", 11).await;
    let _running = busy(&greedy);
    assert_eq!(authenticated(&limiter, "greedy", 1).await.len(), 0);
    let first = authenticated(&limiter, "first", 1).await;
    assert_eq!((first.len(), evicted(&greedy)), (1, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_new_caller_takes_the_quietest_place_of_the_one_with_most() {
    let limiter = limiter();
    let honest = authenticated(&limiter, "honest", 4).await;
    let greedy = authenticated(&limiter, "greedy", 6).await;
    let _full = authenticated(&limiter, "third", 2).await;
    let _running = busy(&greedy[..2]);
    assert_eq!(authenticated(&limiter, "new", 1).await.len(), 1);
    assert_eq!((evicted(&greedy), evicted(&honest)), (vec![2], vec![]));
}

#[tokio::test(start_paused = true)]
async fn incomplete_heads_close_the_largest_of_the_owner_with_most() {
    const LARGE: usize = MAX_INCOMPLETE_HEAD_BYTES / 8;
    let limiter = ConnectionLimiter::new(64);
    let honest = authenticated(&limiter, "honest", 2).await;
    let newcomer = unauthenticated(&limiter, OTHER_PEER, 1).await;
    honest[0].handle().received(LARGE + 1);
    newcomer[0].handle().received(LARGE + 1);
    let greedy = authenticated(&limiter, "greedy", 9).await;
    for (slot, bytes) in greedy.iter().zip(0..) {
        slot.handle().received(LARGE + bytes);
    }
    let closed = evicted(&greedy);
    assert!((3..=4).contains(&closed.len()) && closed[0] == 5, "{closed:?}");
    assert_eq!((evicted(&honest), evicted(&newcomer)), (vec![], vec![]));
    drop((greedy, newcomer));
    assert_eq!(limiter.incomplete_heads.load(Ordering::Relaxed), LARGE + 1);
    // A complete head doesn't count, and neither does a body.
    honest[0].handle().head_completed();
    honest[0].handle().received(2 * MAX_INCOMPLETE_HEAD_BYTES);
    assert_eq!(limiter.incomplete_heads.load(Ordering::Relaxed), 0);
    honest[0].handle().await_head();
    honest[0].handle().received(MAX_INCOMPLETE_HEAD_BYTES + 1);
    assert_eq!((evicted(&honest), limiter.incomplete_heads.load(Ordering::Relaxed)), (vec![0], 0));
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_idle_from_the_end_of_its_last_request() {
    let slot = limiter().acquire(PEER).await;
    let active = slot.handle().begin_request();
    let wait = slot.idle_for(Duration::from_secs(5));
    assert!(tokio::time::timeout(Duration::from_secs(60), wait).await.is_err());
    drop(active);
    let answered = Instant::now();
    slot.idle_for(Duration::from_secs(5)).await;
    assert_eq!(answered.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn pings_do_not_keep_a_websocket_busy() {
    const IDLE: Duration = Duration::from_secs(3_600);
    let limiter = limiter();
    let slots = authenticated(&limiter, "ann", 1).await;
    let handle = slots[0].handle();
    handle.begin_streams();
    handle.head_completed(); // a message
    let start = Instant::now();
    let request = handle.begin_request();
    let mut idle = pin!(handle.idle_for(IDLE));
    for _ in 0..3 {
        tokio::time::advance(IDLE).await;
        handle.wrote();
        assert!(idle.as_mut().now_or_never().is_none(), "a request is running");
    }
    drop(request);
    let ended = Instant::now();
    for _ in 0..4 {
        tokio::time::sleep(IDLE / 8).await;
        handle.wrote();
    }
    idle.await;
    assert_eq!((ended - start, Instant::now() - ended), (3 * IDLE, IDLE));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_being_closed_gets_no_place() {
    let limiter = limiter();
    let slots = unauthenticated(&limiter, PEER, 4).await;
    tokio::time::advance(MIN_UNAUTHENTICATED_TIME).await;
    assert!(limiter.acquire(PEER).now_or_never().is_none());
    assert_eq!(evicted(&slots), [0]);
    let authenticate = |slot: &ConnectionSlot| slot.handle().authenticate(&caller("caller"));
    assert_eq!(authenticate(&slots[0]), Err(TooManyConnections));
    assert_eq!(authenticate(&slots[1]), Ok(()));
    assert_eq!(limiter.callers.held_by(&caller("caller")), 1);
}

#[tokio::test(start_paused = true)]
async fn bytes_over_http_2_have_a_limit_before_authentication() {
    let limiter = limiter();
    let [unknown, known] = [limiter.acquire(PEER).await, limiter.acquire(PEER).await];
    known.handle().authenticate(&caller("ann")).unwrap();
    for slot in [&unknown, &known] {
        slot.handle().begin_streams();
        slot.handle().received(MAX_UNAUTHENTICATED_BYTES);
        assert!(!slot.handle().connection.evicted.is_cancelled());
        slot.handle().received(1);
    }
    assert!(unknown.handle().connection.evicted.is_cancelled());
    assert!(!known.handle().connection.evicted.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn heads_of_streams_have_a_limit_before_authentication() {
    let limiter = limiter();
    let slot = limiter.acquire(PEER).await;
    let handle = slot.handle();
    handle.begin_streams();
    let half = MAX_UNAUTHENTICATED_HEAD_BYTES / 2;
    let first = handle.open_stream(half).unwrap();
    let second = handle.open_stream(half).unwrap();
    assert!(handle.open_stream(1).is_err());
    drop(second);
    let third = handle.open_stream(half).unwrap();
    first.authenticate(&caller("ann")).unwrap();
    let more: Vec<_> = (0..10).map(|_| handle.open_stream(half).unwrap()).collect();
    drop((first, third, more));
    let streams = slot.handle.connection.state().streams.take().unwrap();
    assert_eq!((streams.count, streams.head_bytes), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn streams_of_a_caller_count_like_its_connections() {
    let limiter = limiter();
    let others = authenticated(&limiter, "bob", 1).await;
    let slot = limiter.acquire(PEER).await;
    let handle = slot.handle();
    handle.begin_streams();
    let streams = (0..20).map(|_| handle.open_stream(100).unwrap());
    let accepted: Vec<_> = streams.filter(|stream| stream.authenticate(&caller("ann")).is_ok()).collect();
    // Half of the twelve, like connections next to those of another caller.
    assert_eq!((accepted.len(), limiter.callers.held_by(&caller("ann"))), (6, 6));
    assert_eq!(evicted(&others), [0; 0]);
    drop(accepted);
    let stream = handle.open_stream(100).unwrap();
    assert!(stream.authenticate(&caller("ann")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn unauthenticated_connections_are_counted_by_peer() {
    let limiter = limiter();
    let slots = unauthenticated(&limiter, PEER, 3).await;
    let other = limiter.acquire(OTHER_PEER).await;
    assert_eq!([&slots[0], &other].map(|slot| slot.handle().unauthenticated_of_peer()), [3, 1]);
    slots[0].handle().authenticate(&caller("honest")).unwrap();
    assert_eq!(slots[1].handle().unauthenticated_of_peer(), 2, "the others are few again");
}
