//! Answers that wait for their client.

use super::*;

#[test]
fn large_answers_count_until_they_are_sent() {
    let answers = UnsentAnswers::new(8 * 100_000);
    let small = count(&answers, &Caller::LOOPBACK, vec![b'x'; MIN_COUNTED_BYTES - 1]);
    let large = count(&answers, &Caller::LOOPBACK, vec![b'x'; 100_000]);
    assert_eq!((small.len(), large.len()), (MIN_COUNTED_BYTES - 1, 100_000));
    let part = large.slice(99_999..);
    drop(large);
    assert!(answers.is_exceeded(&Caller::LOOPBACK), "a part of it waits");
    drop(part);
    assert!(!answers.is_exceeded(&Caller::LOOPBACK));
}
