//! The threads that render pages.

use std::sync::mpsc;
use std::thread;

use super::*;

#[tokio::test]
async fn pages_are_rendered_by_threads_of_low_priority() {
    let (sender, rendering) = mpsc::channel();
    let content = move || {
        let _ = sender.send(thread::current().name().map(str::to_owned));
        None
    };
    assert!(SharedPage::default().current(content).await.is_none());
    let thread = rendering.recv().unwrap().unwrap();
    assert!(thread.starts_with("moongate-bg-"), "{thread}");
}
