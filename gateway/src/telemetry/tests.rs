//! Which filter holds, and that a stderr nobody reads stops nobody.

use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter as _;

use super::*;

fn chosen(verbosity: Verbosity, variables: &[(&str, &str)]) -> String {
    let variable =
        |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
    filter(verbosity, variable).unwrap().to_string()
}

#[test]
fn variables_go_before_flags_and_ours_before_the_common_one() {
    assert_eq!(chosen(Verbosity::Quiet, &[]), "error");
    assert_eq!(chosen(Verbosity::Quiet, &[("RUST_LOG", "warn")]), "warn");
    assert_eq!(chosen(Verbosity::Quiet, &[("RUST_LOG", "warn"), ("MOONGATE_LOG", "debug")]), "debug");
    assert_eq!(chosen(Verbosity::Quiet, &[("RUST_LOG", "warn"), ("MOONGATE_LOG", " ")]), "warn");
}

#[test]
fn every_verbosity_has_a_filter_that_reads() {
    use Verbosity::{Debugging, Low, Normal, Quiet, Ungranted, Verbose};
    for verbosity in [Quiet, Ungranted, Low, Normal, Verbose, Debugging] {
        assert!(EnvFilter::try_new(verbosity.filter()).is_ok(), "{verbosity:?}");
    }
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is logged of something at this verbosity.
pub(crate) fn said(verbosity: Verbosity, of: impl FnOnce()) -> String {
    let builder = || -> SubscriberBuilder<DefaultFields, Format> { tracing_subscriber::fmt() };
    // Where there is only one, what the first thread that comes to a line says of it holds for all.
    let _another = tracing::Dispatch::new(builder().with_writer(io::sink).finish());
    let lines = Lines::default();
    let to = lines.clone();
    let builder = builder().with_env_filter(EnvFilter::new(verbosity.filter()));
    let subscriber = builder.with_writer(move || to.clone()).with_ansi(false).finish();
    tracing::subscriber::with_default(subscriber, of);
    String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn ungranted_hides_missing_grants_but_not_limits() {
    let log = || {
        tracing::warn!(target: "moongate::grants", "missing");
        tracing::warn!("limit");
    };
    assert_eq!(said(Verbosity::Low, log).lines().count(), 2);
    let ungranted = said(Verbosity::Ungranted, log);
    assert!(ungranted.contains("limit") && !ungranted.contains("missing"), "{ungranted}");
}

#[test]
fn a_filter_that_does_not_read_is_named_with_its_variable() {
    let error =
        filter(Verbosity::Normal, |name| (name == "MOONGATE_LOG").then(|| "a=b=c".to_owned())).unwrap_err();
    assert!(error.to_string().starts_with("`a=b=c` in MOONGATE_LOG is no filter"), "{error}");
}

/// Passes on what is written.
struct Passed(Sender<Vec<u8>>);

impl Write for Passed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_are_written_whole_and_all_of_them_before_the_end() {
    let (to, written) = channel();
    let outlet = Outlet::new(Passed(to)).unwrap();
    let writer = outlet.writer();
    for line in ["one", "two"] {
        writeln!(writer.make_writer(), "{line}").unwrap();
    }
    drop(outlet);
    let all: Vec<u8> = written.try_iter().flatten().collect();
    assert_eq!(String::from_utf8(all).unwrap(), "one\ntwo\n");
}

/// Can't be written to until it is let go.
struct Stuck(std::sync::mpsc::Receiver<()>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn nobody_waits_for_a_stderr_that_is_not_read() {
    let (let_go, stuck) = channel();
    let outlet = Outlet::new(Stuck(stuck)).unwrap();
    let writer = outlet.writer();
    for _ in 0..100_000 {
        writeln!(writer.make_writer(), "a line").unwrap();
    }
    drop(outlet);
    drop(let_go);
}

/// Can't be written to until it is let go, and passes on what is written then.
struct Held(std::sync::mpsc::Receiver<()>, Passed);

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_flood_of_what_plugins_say_drops_no_line_of_the_gateway() {
    let ((let_go, held), (to, written)) = (channel(), channel());
    let outlet = Outlet::new(Held(held, Passed(to))).unwrap();
    let subscriber =
        tracing_subscriber::fmt().without_time().with_ansi(false).with_writer(outlet.writer()).finish();
    tracing::subscriber::with_default(subscriber, || {
        for number in 0..20 {
            for _ in 0..1_000 {
                tracing::info!(target: "plugin", "a flood");
            }
            tracing::warn!("refused {number}");
        }
    });
    drop(let_go);
    drop(outlet);
    let all: Vec<u8> = written.iter().flatten().collect();
    let all = String::from_utf8(all).unwrap();
    let lines: Vec<_> = all.lines().collect();
    let own: Vec<_> = lines.iter().filter_map(|line| line.split_once("refused ").map(|(_, it)| it)).collect();
    assert_eq!(own, (0..20).map(|number| number.to_string()).collect::<Vec<_>>(), "{lines:?}");
    let last = lines.iter().rposition(|line| line.contains("refused ")).unwrap();
    assert!(last < 30, "they go first where it is crowded: line {last}");
    let kept = lines.iter().filter(|line| line.ends_with("a flood")).count();
    let told: Vec<_> = lines.iter().filter(|line| line.contains("found no room")).collect();
    let dropped = format!("{} log lines of plugins found no room here and were dropped", 20_000 - kept);
    assert_eq!(told, [&dropped]);
}

#[test]
fn lines_are_written_as_they_come_where_it_is_not_crowded() {
    let ((let_go, held), (to, written)) = (channel(), channel());
    let outlet = Outlet::new(Held(held, Passed(to))).unwrap();
    let subscriber =
        tracing_subscriber::fmt().without_time().with_ansi(false).with_writer(outlet.writer()).finish();
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!(target: "plugin", "one");
        tracing::info!("two");
        tracing::info!(target: "plugin", "three");
    });
    drop(let_go);
    drop(outlet);
    let all: Vec<u8> = written.iter().flatten().collect();
    let all = String::from_utf8(all).unwrap();
    let words: Vec<_> = all.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(words, ["one", "two", "three"]);
}
