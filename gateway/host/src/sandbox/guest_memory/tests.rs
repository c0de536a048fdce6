//! Tests of admission, growth and eviction.

use std::time::Duration;

use moongate_model::names::{PluginId, Principal};

use super::*;
use crate::sandbox::instance_pool::IdlePolicy;

const MIB: u64 = 1 << 20;

/// An idle instance with its memory.
type Idle = Option<InstanceMemory<Wrapped>>;

/// Breaks the cycle of types.
struct Wrapped(#[expect(dead_code, reason = "held until the instance is dropped")] Box<Idle>);

fn memory(bytes: u64) -> (GuestMemory<Wrapped>, Arc<InstancePool<Wrapped>>) {
    let pool = InstancePool::new(100);
    (GuestMemory::new(bytes, Arc::clone(&pool)), pool)
}

fn named(name: &str) -> Caller {
    Caller::Named(name.into())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(1)
}

#[tokio::test(start_paused = true)]
async fn instances_together_stay_below_the_total() {
    let (memory, _pool) = memory(40 * MIB);
    let typical = Arc::<TypicalMemory>::default();
    let ann = named("ann");
    let mut first = memory.admit(&ann, &typical, soon()).await.unwrap();
    let mut second = memory.admit(&ann, &typical, soon()).await.unwrap();
    assert!(first.grow(20 * MIB));
    assert!(!second.grow(20 * MIB), "an eighth stays free for others");
    assert!(second.grow(13 * MIB) && !second.grow(1));
    assert!(!second.grow_tables(1));
    let mut other = memory.admit(&named("ben"), &typical, soon()).await.unwrap();
    assert!(other.grow(4 * MIB) && !other.grow(1));
    assert!(!first.grow(1), "the other caller has a part now");
    drop(first);
    assert!(other.grow(15 * MIB) && !other.grow(MIB), "at most half");
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_the_memory_that_they_usually_need() {
    let (memory, _pool) = memory(40 * MIB);
    let typical = Arc::<TypicalMemory>::default();
    let ann = named("ann");
    let mut first = memory.admit(&ann, &typical, soon()).await.unwrap();
    assert!(first.grow(15 * MIB));
    first.end_call();
    let second = memory.admit(&ann, &typical, soon()).await.unwrap();
    assert!(memory.admit(&ann, &typical, soon()).await.is_none(), "the deadline passes");
    let (third, ()) = tokio::join!(memory.admit(&ann, &typical, soon()), async {
        assert!(memory.is_short());
        drop(first);
    });
    assert!(third.is_some() && !memory.is_short());
    drop((second, third));
    // Small calls in a row need less again.
    for _ in 0..100 {
        memory.admit(&ann, &typical, soon()).await.unwrap().end_call();
    }
    assert!(typical.bytes() < MIB);
}

#[tokio::test(start_paused = true)]
async fn idle_instances_are_evicted_first() {
    let (memory, pool) = memory(40 * MIB);
    let typical = Arc::<TypicalMemory>::default();
    let plugin = pool.for_plugin(PluginId::new("a").unwrap());
    let put = async || {
        let mut idle = memory.admit(&Caller::Local, &typical, soon()).await.unwrap();
        assert!(idle.grow(9 * MIB));
        idle.end_call();
        let policy = IdlePolicy { expires_at: Instant::now() + Duration::from_secs(60), max_idle: 100 };
        plugin.put(Principal::Local, Wrapped(Box::new(Some(idle))), policy, || 0);
    };
    put().await;
    put().await;
    put().await;
    let mut running = memory.admit(&Caller::Local, &typical, soon()).await.unwrap();
    assert_eq!(pool.total(), 3);
    assert!(running.grow(20 * MIB), "two idle instances make room");
    assert_eq!(pool.total(), 1);
    let another = memory.admit(&named("ann"), &typical, soon()).await;
    assert!(another.is_some());
    assert_eq!(pool.total(), 0);
}
