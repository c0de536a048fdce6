//! Callers that don't read their responses.

use std::fmt::Write as _;

use futures_util::FutureExt as _;

use super::*;
use crate::json;
use crate::jsonrpc::Id;

fn named(name: &str) -> Caller {
    Caller::Named(name.into())
}

#[tokio::test]
async fn a_caller_has_an_eighth_and_all_together_the_total() {
    let responses = UnreadResponses::new(800);
    let cancel = CancellationToken::new();
    let busy = Err(CallError::Busy(BusyReason::UnreadResponses));
    let mut unread = vec![responses.charge(&named("first"), 60)];
    assert_eq!(responses.admit(&named("first"), &cancel).await, Ok(()));
    unread.push(responses.charge(&named("first"), 60));
    assert_eq!(responses.admit(&named("first"), &cancel).await, busy);
    assert_eq!(responses.admit(&named("second"), &cancel).await, Ok(()));
    unread.pop();
    assert_eq!(responses.admit(&named("first"), &cancel).await, Ok(()));
    let rest = responses.charge(&named("third"), 740);
    assert_eq!(responses.admit(&named("first"), &cancel).await, busy, "the total is used up");
    assert_eq!(responses.admit(&named("second"), &cancel).await, Ok(()), "it holds nothing");
    unread.push(responses.charge(&named("second"), 12));
    assert_eq!(responses.admit(&named("second"), &cancel).await, Ok(()), "it holds an eighth of its part");
    unread.push(responses.charge(&named("second"), 1));
    assert_eq!(responses.admit(&named("second"), &cancel).await, busy);
    drop(rest);
    assert_eq!(responses.admit(&named("second"), &cancel).await, Ok(()));
}

#[tokio::test]
async fn a_call_over_stdio_waits_until_answers_are_read_or_it_is_cancelled() {
    let responses = UnreadResponses::new(800);
    let unread = responses.charge(&Caller::Local, 100);
    let cancel = CancellationToken::new();
    let mut waiting = Box::pin(responses.admit(&Caller::Local, &cancel));
    assert!(waiting.as_mut().now_or_never().is_none());
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(responses.admit(&Caller::Local, &cancelled).await, Err(CallError::Cancelled));
    assert!(responses.wait_to_read(&Caller::Local).now_or_never().is_some());
    let more = responses.charge(&Caller::Local, 100);
    assert!(responses.wait_to_read(&Caller::Local).now_or_never().is_none());
    drop(more);
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(unread);
    assert_eq!(waiting.await, Ok(()));
}

/// Renders a string of control characters, each of which takes six bytes.
fn render(responses: &Arc<UnreadResponses>, caller: &Caller, characters: usize) -> Option<ResultText> {
    let mut writer = ResultWriter::new(responses, caller);
    json::write_json(&mut writer, "\u{1}".repeat(characters).as_str()).ok()?;
    Some(writer.finish())
}

#[test]
fn a_result_counts_as_rendered_until_its_message_is_dropped() {
    let responses = UnreadResponses::new(8_000_000);
    let caller = named("first");
    let small = render(&responses, &caller, 50).unwrap();
    assert_eq!(responses.used(), 0, "small ones don't count");
    assert_eq!(small.into_response(&Id::from(7)).len(), 302 + 34);
    let result = render(&responses, &caller, 100_000).unwrap();
    let json = serde_json::to_vec(&"\u{1}".repeat(100_000)).unwrap();
    assert_eq!(result.json(), json);
    assert!((600_000..600_500).contains(&responses.used()), "{}", responses.used());
    for (id, head) in [(Id::from(7), 33), (Id::string(&"i".repeat(500)), 534)] {
        let result = render(&responses, &caller, 100_000).unwrap();
        let message = result.into_response(&id);
        let value: serde_json::Value = serde_json::from_slice(&message).unwrap();
        assert_eq!(value["result"].as_str().unwrap().len(), 100_000);
        assert_eq!(message.len(), head + json.len() + 1);
        let part = message.into_bytes().slice(1000..);
        assert!(responses.used() > 1_200_000, "a part of it waits");
        drop(part);
        assert!(responses.used() < 600_500);
    }
    drop(result);
    assert_eq!(responses.used(), 0);
}

#[test]
fn a_result_that_does_not_fit_is_discarded_while_it_grows() {
    let responses = UnreadResponses::new(8_000_000);
    let [first, second] = ["first", "second"].map(named);
    assert!(render(&responses, &first, 1_200_000).is_none(), "7.2 MB");
    let most = render(&responses, &first, 1_100_000).expect("6.6 MB, and all but an eighth is allowed");
    assert!(render(&responses, &first, 100_000).is_none());
    assert!(render(&responses, &second, 100_000).is_some(), "another caller has the rest");
    drop(most);
    let held = render(&responses, &second, 100_000).unwrap();
    assert!(render(&responses, &first, 700_000).is_none(), "4.2 MB are more than half");
    assert!(render(&responses, &first, 600_000).is_some());
    drop(held);
    let mut writer = ResultWriter::new(&responses, &first);
    assert!((0..990).all(|_| writer.write_str(&"x".repeat(7_000)).is_ok()));
    assert!((0..20).any(|_| writer.write_str(&"x".repeat(7_000)).is_err()));
    drop(writer);
    assert_eq!(responses.used(), 0);
}
