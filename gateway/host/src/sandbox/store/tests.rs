//! Limits on memory and tables.

use bytesize::ByteSize;

use super::*;
use crate::sandbox::guest_memory::{GuestMemory, TypicalMemory};
use crate::sandbox::instance_pool::InstancePool;

#[test]
fn sums_memories_and_tables_of_the_store() {
    let limits = Limits { memory: ByteSize::b(300), table_elements: 10, ..Limits::default() };
    let peak = Arc::<AtomicU64>::default();
    let mut limiter = MemoryLimiter::new(&limits, Arc::clone(&peak), None);
    assert!(limiter.memory_growing(0, 100, None).unwrap());
    assert!(limiter.memory_growing(0, 100, None).unwrap());
    assert!(limiter.memory_growing(100, 200, None).unwrap());
    assert_eq!(limiter.refused(), None);
    assert!(!limiter.memory_growing(100, 101, None).unwrap());
    assert_eq!(limiter.refused(), Some(RefusedGrowth::Memory));
    assert_eq!(peak.load(Ordering::Relaxed), 300, "refused memory isn't counted");
    assert!(MemoryLimiter::new(&limits, Arc::clone(&peak), None).memory_growing(0, 200, None).unwrap());
    assert_eq!(peak.load(Ordering::Relaxed), 300, "the peak of all calls is kept");
    assert!(limiter.table_growing(0, 6, None).unwrap());
    assert!(!limiter.table_growing(0, 5, None).unwrap());
    assert_eq!(limiter.refused(), Some(RefusedGrowth::Tables));
}

#[tokio::test]
async fn growth_that_the_gateway_refuses_isnt_counted() {
    let memory = GuestMemory::new(2 << 20, InstancePool::new(1));
    let soon = tokio::time::Instant::now() + std::time::Duration::from_secs(1);
    let instance = memory.admit(&Caller::Local, &Arc::<TypicalMemory>::default(), soon).await;
    let limits = Limits { memory: ByteSize::mib(2), table_elements: 100_000, ..Limits::default() };
    let mut limiter = MemoryLimiter::new(&limits, Arc::default(), instance);
    assert!(!limiter.memory_growing(0, 3 << 20, None).unwrap());
    assert_eq!((limiter.refused(), limiter.wanted()), (Some(RefusedGrowth::Memory), Some(3 << 20)));
    for _ in 0..10 {
        assert!(!limiter.table_growing(0, 90_000, None).unwrap());
        assert_eq!((limiter.refused(), limiter.wanted()), (Some(RefusedGrowth::Gateway), None));
        assert!(!limiter.memory_growing(0, 2 << 20, None).unwrap());
        assert_eq!((limiter.refused(), limiter.wanted()), (Some(RefusedGrowth::Gateway), None));
    }
    assert!(limiter.table_growing(0, 1000, None).unwrap());
}
