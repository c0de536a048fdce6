//! Callers that don't read their answers.

use futures_util::FutureExt as _;

use super::*;

fn named(name: &str) -> Caller {
    Caller::Named(name.into())
}

#[tokio::test]
async fn a_caller_has_an_eighth_and_all_together_the_total() {
    let answers = UnsentAnswers::new(800);
    let cancel = CancellationToken::new();
    let busy = Err(CallError::Busy(BusyReason::UnsentAnswers));
    let mut unsent = vec![answers.charge(&named("first"), 60)];
    assert_eq!(answers.admit(&named("first"), &cancel).await, Ok(()));
    unsent.push(answers.charge(&named("first"), 60));
    assert_eq!(answers.admit(&named("first"), &cancel).await, busy);
    assert_eq!(answers.admit(&named("second"), &cancel).await, Ok(()));
    unsent.pop();
    assert_eq!(answers.admit(&named("first"), &cancel).await, Ok(()));
    let rest = answers.charge(&named("third"), 740);
    assert_eq!(answers.admit(&named("first"), &cancel).await, busy, "the total is used up");
    assert_eq!(answers.admit(&named("second"), &cancel).await, Ok(()), "it holds nothing");
    unsent.push(answers.charge(&named("second"), 12));
    assert_eq!(answers.admit(&named("second"), &cancel).await, Ok(()), "it holds an eighth of its part");
    unsent.push(answers.charge(&named("second"), 1));
    assert_eq!(answers.admit(&named("second"), &cancel).await, busy);
    drop(rest);
    assert_eq!(answers.admit(&named("second"), &cancel).await, Ok(()));
}

#[tokio::test]
async fn a_call_over_stdio_waits_until_answers_are_read_or_it_is_cancelled() {
    let answers = UnsentAnswers::new(800);
    let unsent = answers.charge(&Caller::Local, 100);
    let cancel = CancellationToken::new();
    let mut waiting = Box::pin(answers.admit(&Caller::Local, &cancel));
    assert!(waiting.as_mut().now_or_never().is_none());
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(answers.admit(&Caller::Local, &cancelled).await, Err(CallError::Cancelled));
    assert!(answers.wait_to_read(&Caller::Local).now_or_never().is_some());
    let more = answers.charge(&Caller::Local, 100);
    assert!(answers.wait_to_read(&Caller::Local).now_or_never().is_none());
    drop(more);
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(unsent);
    assert_eq!(waiting.await, Ok(()));
}
