//! The precedence of filters, and a stderr that isn't read.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter as _;

use moongate_model::log_field::ACCESS_TARGET;
use serde_json::{Value, json};

use super::log_writer::MAX_BATCH_BYTES;
use super::*;

fn chosen(verbosity: Verbosity, variables: &[(&str, &str)]) -> String {
    let variable =
        |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
    filter(verbosity, variable).unwrap().to_string()
}

#[test]
fn moongate_log_overrides_rust_log_and_flags() {
    assert_eq!(chosen(Verbosity::Quiet, &[]), "error");
    assert_eq!(chosen(Verbosity::Quiet, &[("RUST_LOG", "warn")]), "warn");
    assert_eq!(chosen(Verbosity::Quiet, &[("RUST_LOG", "warn"), ("MOONGATE_LOG", "debug")]), "debug");
    assert_eq!(chosen(Verbosity::Quiet, &[("RUST_LOG", "warn"), ("MOONGATE_LOG", " ")]), "warn");
}

#[test]
fn every_verbosity_has_a_valid_filter() {
    use Verbosity::{Author, Debugging, Low, Normal, Quiet, Ungranted, Verbose};
    for verbosity in [Quiet, Ungranted, Low, Author, Normal, Verbose, Debugging] {
        assert!(EnvFilter::try_new(verbosity.log_filter()).is_ok(), "{verbosity:?}");
    }
}

/// Collects the output.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs `action` and returns the log lines at this verbosity.
pub(crate) fn captured_log(verbosity: Verbosity, action: impl FnOnce()) -> String {
    let builder = || -> SubscriberBuilder<DefaultFields, Format> { tracing_subscriber::fmt() };
    // With a single dispatcher, tracing caches the interest of the first thread that reaches a callsite for all.
    let _another = tracing::Dispatch::new(builder().with_writer(io::sink).finish());
    let output = Output::default();
    let writer = output.clone();
    let builder = builder().with_env_filter(EnvFilter::new(verbosity.log_filter()));
    let subscriber = builder.with_writer(move || writer.clone()).with_ansi(false).finish();
    tracing::subscriber::with_default(subscriber, action);
    String::from_utf8(output.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn ungranted_hides_missing_grants_but_not_limits() {
    let log = || {
        tracing::warn!(target: "moongate::grants", "missing");
        tracing::warn!("limit");
    };
    assert_eq!(captured_log(Verbosity::Low, log).lines().count(), 2);
    let ungranted = captured_log(Verbosity::Ungranted, log);
    assert!(ungranted.contains("limit") && !ungranted.contains("missing"), "{ungranted}");
}

#[test]
fn an_invalid_filter_is_reported_with_its_variable() {
    let error =
        filter(Verbosity::Normal, |name| (name == "MOONGATE_LOG").then(|| "a=b=c".to_owned())).unwrap_err();
    assert!(error.to_string().starts_with("invalid log filter `a=b=c` in MOONGATE_LOG"), "{error}");
}

/// A stderr that blocks every write until the test releases it by dropping the sender.
struct BlockedOutput(Receiver<()>, Output);

impl Write for BlockedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

#[test]
fn dropping_the_writer_writes_all_queued_lines() {
    let output = Output::default();
    let log_writer = LogWriter::new(output.clone(), LogFormat::Text).unwrap();
    let handle = log_writer.handle();
    for line in ["one", "two"] {
        handle.make_writer().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    drop(log_writer);
    assert_eq!(output.text(), "one\ntwo\n");
}

#[test]
fn logging_never_waits_for_a_blocked_stderr() {
    let (release, blocked) = channel();
    let output = Output::default();
    let log_writer = LogWriter::new(BlockedOutput(blocked, output.clone()), LogFormat::Text).unwrap();
    let handle = log_writer.handle();
    for _ in 0..100_000 {
        handle.make_writer().write_all(b"a line\n").unwrap();
    }
    drop(log_writer);
    assert_eq!(output.text(), "");
    drop(release);
}

/// Logs with `log` while the output is blocked, then releases the output and returns all lines.
fn logged_while_blocked(log: impl FnOnce()) -> String {
    let (release, blocked) = channel();
    let output = Output::default();
    let log_writer = LogWriter::new(BlockedOutput(blocked, output.clone()), LogFormat::Text).unwrap();
    let builder = tracing_subscriber::fmt().without_time().with_ansi(false);
    let subscriber = builder.with_writer(log_writer.handle()).finish();
    tracing::subscriber::with_default(subscriber, log);
    drop(release);
    drop(log_writer);
    output.text()
}

#[test]
fn a_flood_of_plugin_lines_drops_no_gateway_line() {
    a_flood_drops_no_gateway_line("plugin", || tracing::info!(target: "plugin", "a flood"));
}

#[test]
fn a_flood_of_calls_drops_no_gateway_line() {
    a_flood_drops_no_gateway_line("access", || tracing::info!(target: ACCESS_TARGET, "a flood"));
}

fn a_flood_drops_no_gateway_line(owner: &str, log: fn()) {
    let all = logged_while_blocked(|| {
        for number in 0..20 {
            (0..1_000).for_each(|_| log());
            tracing::warn!("refused {number}");
        }
    });
    let lines: Vec<_> = all.lines().collect();
    let own: Vec<_> = lines.iter().filter_map(|line| line.split_once("refused ").map(|(_, it)| it)).collect();
    assert_eq!(own, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    let last = lines.iter().rposition(|line| line.contains("refused ")).unwrap();
    let bytes_before: usize = lines[..last].iter().map(|line| line.len() + 1).sum();
    assert!(bytes_before < 3 * MAX_BATCH_BYTES, "the gateway's lines go first: line {last}");
    let kept = lines.iter().filter(|line| line.ends_with("a flood")).count();
    let report = format!(" {owner} log lines: stderr is not being read fast enough");
    let dropped = lines.iter().filter_map(|line| line.strip_prefix("dropped ")?.strip_suffix(&report));
    let dropped: usize = dropped.map(|number| number.parse::<usize>().unwrap()).sum();
    assert_eq!(dropped, 20_000 - kept);
    assert!(dropped > 0);
}

#[test]
fn lines_of_one_source_keep_their_order() {
    let all = logged_while_blocked(|| {
        tracing::info!(target: "plugin", "plugin one");
        tracing::info!("gateway one");
        tracing::info!(target: "plugin", "plugin two");
        tracing::info!("gateway two");
    });
    for source in ["plugin", "gateway"] {
        let found = all.lines().filter_map(|line| line.split_once(&format!("{source} "))).map(|(_, it)| it);
        assert_eq!(found.collect::<Vec<_>>(), ["one", "two"], "{all}");
    }
}

#[test]
fn json_reports_dropped_lines_and_panics_as_objects() {
    let (release, blocked) = channel();
    let output = Output::default();
    let log_writer = LogWriter::new(BlockedOutput(blocked, output.clone()), LogFormat::Json).unwrap();
    for _ in 0..10_000 {
        log_writer.handle().make_writer().write_all(b"{}\n").unwrap();
    }
    drop(release);
    drop(log_writer);
    let text = output.text();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let report = lines.find(|line| line["level"] == "WARN").unwrap();
    assert!(report["dropped"].is_u64(), "{report}");

    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| seen.lock().unwrap().push(stderr::panic_line(panic))));
    let _ = std::panic::catch_unwind(|| panic!("a \"quoted\"\nmessage"));
    std::panic::set_hook(before);
    let lines = lines.lock().unwrap();
    let line = lines.iter().find(|line| line.contains("quoted")).unwrap();
    let object: Value = serde_json::from_str(line).unwrap();
    assert!(object["message"].as_str().unwrap().ends_with("a \"quoted\"\nmessage"), "{line}");
    assert_eq!((line.lines().count(), &object["target"]), (1, &json!("panic")));
}

#[test]
fn access_lines_have_the_text_of_all_other_lines() {
    let log = || {
        for text in ["ann", "a \"quoted\" name\\", "\u{1b}[31m\n\u{202e}", "Gr\u{fc}n", ""] {
            let (caller, waited, refused, tool) = (text, 0.003_f64, Some(7_u64), None::<&str>);
            tracing::info!(
                target: ACCESS_TARGET, caller, plugin = %"time", tool, ok = true, refused, waited, bytes = -1_i64,
                "plugin call ended"
            );
            tracing::warn!(target: ACCESS_TARGET, caller, "unknown name");
        }
    };
    let lines = |direct: bool| {
        let output = Output::default();
        let writer = output.clone();
        let builder = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone());
        if direct {
            let subscriber = builder.event_format(TextLines::default()).finish();
            tracing::subscriber::with_default(subscriber, log);
        } else {
            tracing::subscriber::with_default(builder.finish(), log);
        }
        let text = output.text();
        let without_time = |line: &str| line.split_once('Z').map(|(_, rest)| rest.to_owned());
        text.lines().map(without_time).collect::<Option<Vec<_>>>().unwrap()
    };
    assert_eq!(lines(true).len(), 10);
    assert_eq!(lines(true), lines(false));
}
