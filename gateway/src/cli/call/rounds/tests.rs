//! Rounds of one call with a fake gateway.

use super::*;

fn answers(typed: &[&str]) -> TypedAnswers {
    TypedAnswers::read(&typed.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn asks(keys: &[&str]) -> RoundResult<String> {
    let request = json!({ "method": "sampling/createMessage", "params": {} });
    let requests: Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), request.clone())).collect();
    let state = format!("after {}", keys.join(" "));
    RoundResult::InputRequired(json!({ "inputRequests": requests, "requestState": state }))
}

/// The end of a call with these responses, and the inputs of each request.
async fn run(
    answers: &mut TypedAnswers,
    steps: Vec<RoundResult<String>>,
) -> (CallEnd<String>, Vec<(Option<String>, Vec<String>)>) {
    let mut steps = steps.into_iter();
    let mut brought = Vec::new();
    let end = run_rounds(answers, async |more: &RoundInput| {
        brought.push((more.state.clone(), more.answers.keys().cloned().collect()));
        steps.next().ok_or("there are no more steps")
    });
    let end = end.await.unwrap();
    (end, brought)
}

#[tokio::test]
async fn an_answer_waits_for_the_round_of_its_question() {
    let mut answers = answers(&["second=2", "first=1"]);
    let steps = vec![asks(&["first"]), asks(&[]), asks(&["second"]), RoundResult::Done("done".to_owned())];
    let (end, brought) = run(&mut answers, steps).await;
    assert!(matches!(end, CallEnd::Done(text) if text == "done"));
    let brought: Vec<_> =
        brought.into_iter().map(|(state, keys)| (state.unwrap_or_default(), keys.join(" "))).collect();
    let input = |state: &str, keys: &str| (state.to_owned(), keys.to_owned());
    assert_eq!(
        brought,
        [input("", ""), input("after first", "first"), input("after ", ""), input("after second", "second")]
    );
    assert!(answers.unused().is_empty());
}

#[tokio::test]
async fn a_question_without_an_answer_ends_the_call() {
    let (end, brought) = run(&mut answers(&["other=1"]), vec![asks(&["first"])]).await;
    let CallEnd::Unanswered(open) = end else { panic!() };
    assert_eq!((open.questions.len(), open.errors.len(), brought.len()), (1, 0, 1));
    assert_eq!(Vec::from_iter(open.features()), ["sampling"]);
}

#[tokio::test]
async fn an_answer_that_the_gateway_rejects_is_reported() {
    let mut again = json!({ "inputRequests": { "first": { "method": "sampling/createMessage" } } });
    again["_meta"][UNUSABLE_ANSWERS_KEY] = json!({ "first": "too\nlong" });
    let (end, _) =
        run(&mut answers(&["first=1"]), vec![asks(&["first"]), RoundResult::InputRequired(again)]).await;
    let CallEnd::Unanswered(open) = end else { panic!() };
    assert_eq!(open.errors, ["invalid answer to `first`: too\\nlong"]);
}

#[tokio::test]
async fn repeated_and_endless_questions_are_errors() {
    let (end, _) = run(&mut answers(&["a=1"]), vec![asks(&["a"]), asks(&["a"])]).await;
    assert!(matches!(end, CallEnd::Unanswered(open) if open.errors[0].contains("asks `a` again")));
    let endless = (0..MAX_ROUNDS).map(|_| asks(&[])).collect();
    let (end, _) = run(&mut answers(&[]), endless).await;
    assert!(matches!(end, CallEnd::Unanswered(open) if open.errors[0].contains("too many questions")));
}
