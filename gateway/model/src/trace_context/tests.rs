//! Tests of positions in traces.

use super::*;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn trace_parents_are_read_and_written() {
    let parent = SpanContext::parse(PARENT).unwrap();
    assert_eq!(parent.trace_id.to_string(), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(parent.span_id.to_string(), "b7ad6b7169203331");
    assert_eq!((parent.sampling, parent.to_string()), (Sampling::Sampled, PARENT.to_owned()));
    let unsampled = SpanContext::parse(&PARENT.replace("-01", "-02")).unwrap();
    assert_eq!(unsampled.sampling, Sampling::NotSampled);
    let later = SpanContext::parse(&format!("cc{}-more", &PARENT[2..]));
    assert_eq!(later, Some(parent));
}

#[test]
fn malformed_trace_parents_are_ignored() {
    for text in [
        "",
        "not a trace",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "00-0af7651916cd43dd8448eb211c8031éa-b7ad6b7169203331-01",
    ] {
        assert_eq!(SpanContext::parse(text), None, "{text}");
    }
}

#[test]
fn spans_have_ids_of_their_own() {
    let parent = SpanContext::parse(PARENT).unwrap();
    let span = Span::below(Some(parent), Sampling::NotSampled);
    assert_eq!((span.context.trace_id, span.parent), (parent.trace_id, Some(parent.span_id)));
    let child = span.child();
    assert_eq!((child.context.trace_id, child.parent), (parent.trace_id, Some(span.context.span_id)));
    assert_ne!(child.context.span_id, span.context.span_id);
    assert!(!child.is_sampled());
    let [first, second] = [(); 2].map(|()| Span::below(None, Sampling::Sampled));
    assert_ne!(first.context.trace_id, second.context.trace_id);
    assert_eq!(first.parent, None);
}
