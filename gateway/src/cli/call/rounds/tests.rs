//! Rounds of one call, with a gateway of few lines.

use super::*;

fn answers(typed: &[&str]) -> Answers {
    Answers::read(&typed.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn asks(keys: &[&str]) -> Step<String> {
    let request = json!({ "method": "sampling/createMessage", "params": {} });
    let requests: Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), request.clone())).collect();
    let state = format!("after {}", keys.join(" "));
    Step::Asks(json!({ "inputRequests": requests, "requestState": state }))
}

/// What comes of a call, of which these are the steps; and what each request brought.
async fn run(
    answers: &mut Answers,
    steps: Vec<Step<String>>,
) -> (Came<String>, Vec<(Option<String>, Vec<String>)>) {
    let (mut steps, mut brought) = (steps.into_iter(), Vec::new());
    let came = converse(answers, async |more: &More| {
        brought.push((more.state.clone(), more.answers.keys().cloned().collect()));
        steps.next().ok_or("there are no more steps")
    });
    let came = came.await.unwrap();
    (came, brought)
}

#[tokio::test]
async fn an_answer_of_a_later_round_is_kept_for_it() {
    let mut answers = answers(&["second=2", "first=1"]);
    let steps = vec![asks(&["first"]), asks(&[]), asks(&["second"]), Step::Done("done".to_owned())];
    let (came, brought) = run(&mut answers, steps).await;
    assert!(matches!(came, Came::Done(text) if text == "done"));
    let brought: Vec<_> =
        brought.into_iter().map(|(state, keys)| (state.unwrap_or_default(), keys.join(" "))).collect();
    let said = |state: &str, keys: &str| (state.to_owned(), keys.to_owned());
    assert_eq!(
        brought,
        [said("", ""), said("after first", "first"), said("after ", ""), said("after second", "second")]
    );
    assert!(answers.unused().is_empty());
}

#[tokio::test]
async fn a_question_without_an_answer_ends_it_and_nothing_is_sent_for_it() {
    let (came, brought) = run(&mut answers(&["other=1"]), vec![asks(&["first"])]).await;
    let Came::Open(open) = came else { panic!() };
    assert_eq!((open.questions.len(), open.wrong.len(), brought.len()), (1, 0, 1));
    assert_eq!(Vec::from_iter(open.features()), ["sampling"]);
}

#[tokio::test]
async fn an_answer_that_the_gateway_refuses_is_told_with_its_reason() {
    let mut again = json!({ "inputRequests": { "first": { "method": "sampling/createMessage" } } });
    again["_meta"][UNUSABLE] = json!({ "first": "too\nlong" });
    let (came, _) = run(&mut answers(&["first=1"]), vec![asks(&["first"]), Step::Asks(again)]).await;
    let Came::Open(open) = came else { panic!() };
    assert_eq!(open.wrong, ["the answer to `first` doesn't fit: too\\nlong"]);
}

#[tokio::test]
async fn who_asks_the_same_again_or_without_end_is_told() {
    let (came, _) = run(&mut answers(&["a=1"]), vec![asks(&["a"]), asks(&["a"])]).await;
    assert!(matches!(came, Came::Open(open) if open.wrong[0].contains("asks `a` once more")));
    let endless = (0..MOST).map(|_| asks(&[])).collect();
    let (came, _) = run(&mut answers(&[]), endless).await;
    assert!(matches!(came, Came::Open(open) if open.wrong[0].contains("without end")));
}
