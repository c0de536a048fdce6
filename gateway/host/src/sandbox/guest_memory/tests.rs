//! Tests of admission, growth and eviction.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use moongate_model::names::{PluginId, Principal};

use super::*;
use crate::sandbox::instance_pool::{IdlePolicy, PluginPool};

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
        assert!(memory.is_awaited(&ann));
        drop(first);
    });
    assert!(third.is_some() && !memory.is_awaited(&ann));
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
        let policy =
            IdlePolicy { expires_at: Instant::now() + Duration::from_secs(60), clearings: 0, max_idle: 100 };
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

/// A call of `ann` has 20 MiB, the most that it may have, and an idle instance of `ben` has 6 MiB.
async fn ann_at_her_allowance(
    memory: &GuestMemory<Wrapped>,
    plugin: &PluginPool<Wrapped>,
) -> InstanceMemory<Wrapped> {
    put_idle(memory, plugin, "ben", 5 * MIB).await;
    let mut running = memory.admit(&named("ann"), &Arc::default(), soon()).await.unwrap();
    assert!(running.grow(19 * MIB));
    running
}

async fn put_idle(memory: &GuestMemory<Wrapped>, plugin: &PluginPool<Wrapped>, name: &str, bytes: u64) {
    let mut idle = memory.admit(&named(name), &Arc::default(), soon()).await.unwrap();
    assert!(idle.grow(bytes));
    put(plugin, name, idle);
}

fn put(plugin: &PluginPool<Wrapped>, name: &str, mut ended: InstanceMemory<Wrapped>) {
    ended.end_call();
    let policy =
        IdlePolicy { expires_at: Instant::now() + Duration::from_secs(60), clearings: 0, max_idle: 100 };
    plugin.put(Principal::Named(name.into()), Wrapped(Box::new(Some(ended))), policy, || 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_at_its_allowance_evicts_no_idle_instance_of_others() {
    let (memory, pool) = memory(40 * MIB);
    let plugin = pool.for_plugin(PluginId::new("a").unwrap());
    let mut running = ann_at_her_allowance(&memory, &plugin).await;
    assert!(!running.grow(1));
    let (ann, typical) = (named("ann"), Arc::default());
    let mut waiting = pin!(memory.admit(&ann, &typical, soon()));
    assert!(waiting.as_mut().now_or_never().is_none());
    assert!(memory.is_awaited(&named("ann")) && !memory.is_awaited(&named("ben")));
    put_idle(&memory, &plugin, "ben", MIB).await;
    memory.evict_for_waiting(&named("ben"));
    assert_eq!(pool.total(), 2, "nobody waits for this memory");
    drop(running);
    assert!(waiting.await.is_some());
    assert_eq!(pool.total(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_caller_at_its_allowance_evicts_its_own_idle_instances() {
    let (memory, pool) = memory(40 * MIB);
    let plugin = pool.for_plugin(PluginId::new("a").unwrap());
    put_idle(&memory, &plugin, "ben", 5 * MIB).await;
    put_idle(&memory, &plugin, "ann", 5 * MIB).await;
    let mut running = memory.admit(&named("ann"), &Arc::default(), soon()).await.unwrap();
    assert!(running.grow(19 * MIB));
    assert_eq!(pool.total(), 1, "the memory of `ann` was enough");
}

#[tokio::test(start_paused = true)]
async fn idle_instances_are_evicted_once_their_memory_is_what_a_waiting_call_lacks() {
    let (memory, pool) = memory(40 * MIB);
    let plugin = pool.for_plugin(PluginId::new("a").unwrap());
    let (ann, large) = (named("ann"), Arc::new(TypicalMemory::default()));
    large.add(15 * MIB);
    let mut running = memory.admit(&ann, &Arc::default(), soon()).await.unwrap();
    assert!(running.grow(11 * MIB));
    put_idle(&memory, &plugin, "ben", 14 * MIB).await;
    put_idle(&memory, &plugin, "cid", 9 * MIB).await;
    let mut waiting = pin!(memory.admit(&ann, &large, soon()));
    assert!(waiting.as_mut().now_or_never().is_none());
    assert_eq!(pool.total(), 2, "`ann` has as much as she may");
    drop(running);
    assert!(waiting.await.is_some());
    assert_eq!(pool.total(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_kept_while_a_call_starts_to_wait_is_evicted() {
    let (memory, pool) = memory(40 * MIB);
    let plugin = pool.for_plugin(PluginId::new("a").unwrap());
    let (ann, ben, large) = (named("ann"), named("ben"), Arc::new(TypicalMemory::default()));
    large.add(15 * MIB);
    let mut ended = memory.admit(&ben, &Arc::default(), soon()).await.unwrap();
    let mut running = memory.admit(&named("cid"), &Arc::default(), soon()).await.unwrap();
    assert!(ended.grow(19 * MIB) && running.grow(16 * MIB));
    assert!(!memory.is_awaited(&ben), "so the instance is kept");
    let mut waiting = pin!(memory.admit(&ann, &large, soon()));
    assert!(waiting.as_mut().now_or_never().is_none());
    put(&plugin, "ben", ended);
    memory.evict_for_waiting(&ben);
    assert!(waiting.await.is_some());
}

/// Otherwise all other callers would wait behind it.
#[tokio::test(start_paused = true)]
async fn a_caller_without_memory_does_not_wait_for_a_typical_amount() {
    let (memory, _) = memory(80 * MIB);
    let typical = Arc::new(TypicalMemory(AtomicU64::new(30 * MIB)));
    let ann = named("ann");
    let mut of_ann = vec![memory.admit(&ann, &typical, soon()).await.unwrap()];
    of_ann.push(memory.admit(&ann, &typical, soon()).await.unwrap());
    assert!(memory.admit(&ann, &typical, soon()).await.is_none(), "she has used up her share");
    let mut of_ben = memory.admit(&named("ben"), &typical, soon()).now_or_never().flatten().unwrap();
    assert!(of_ben.grow(9 * MIB));
}
