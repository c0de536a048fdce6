//! Reports wake the watch thread.

use super::*;

#[test]
fn reports_before_waiting_are_not_lost() {
    let mailbox: Arc<Mailbox> = Arc::default();
    let sink = mailbox.event_sink();
    sink.overflowed();
    mailbox.wait(Instant::now(), None, ReportWakeUp::AtOnce);
    assert!(mailbox.reports.take().overflowed);
    let other = Arc::clone(&mailbox);
    let waiting = std::thread::spawn(move || {
        other.wait(Instant::now(), None, ReportWakeUp::AtOnce);
        other.reports.take().failed
    });
    sink.failed("first".to_owned());
    let failed = waiting.join().unwrap();
    assert_eq!(failed.as_deref(), Some("first"));
}
