//! Which filter holds, and that a stderr nobody reads stops nobody.

use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};

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
