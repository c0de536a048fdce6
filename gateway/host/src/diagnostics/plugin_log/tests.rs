//! The rate of a plugin's log lines, with a paused clock.

use super::*;

fn log(rate: u64) -> Arc<PluginLog> {
    PluginLog::new(PluginId::new("guest").unwrap(), ByteSize::b(rate))
}

fn admitted(log: &Arc<PluginLog>, lines: usize, bytes: usize) -> usize {
    (0..lines).filter(|_| log.admits(bytes)).count()
}

#[tokio::test(start_paused = true)]
async fn averages_over_ten_seconds() {
    let log = log(1000);
    assert_eq!(admitted(&log, 500, 100), 100);
    for _ in 0..5 {
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(admitted(&log, 500, 100), 10);
    }
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(admitted(&log, 500, 100), 100, "a quiet hour allows no more than ten seconds");
}

#[tokio::test(start_paused = true)]
async fn each_line_has_a_minimum_cost_and_a_long_one_is_possible() {
    assert_eq!(admitted(&log(64), 100, 0), 10);
    assert_eq!(admitted(&log(1), 100, 4096), 1);
    assert_eq!(admitted(&log(0), 100, 0), 0);
    assert_eq!(admitted(&log(u64::MAX), 100, 4096), 100);
}

#[tokio::test(start_paused = true)]
async fn reports_dropped_lines_once_a_second() {
    let log = log(64);
    assert_eq!(admitted(&log, 100, 0), 10);
    let dropped = || log.state.lock().unwrap().dropped;
    assert_eq!(dropped(), 90);
    tokio::time::sleep(SUMMARY_INTERVAL - Duration::from_millis(1)).await;
    assert_eq!((admitted(&log, 2, 0), dropped()), (0, 92));
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(dropped(), 0, "they are reported together");
}
