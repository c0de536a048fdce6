//! Limits on memory and tables.

use bytesize::ByteSize;

use super::*;

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
