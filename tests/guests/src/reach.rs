//! Tools that try to reach things outside of the sandbox, and return the result.

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};

use schemars::JsonSchema;
use serde::Serialize;
use wasip2::filesystem::preopens;

/// The environment of the program.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Surroundings {
    variables: BTreeMap<String, String>,
    arguments: Vec<String>,
    directory: Option<String>,
}

/// Returns the environment of the program.
pub(crate) fn surroundings() -> Surroundings {
    Surroundings {
        variables: std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect(),
        arguments: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        directory: std::env::current_dir().ok().map(|directory| directory.display().to_string()),
    }
}

/// The preopened directories.
pub(crate) fn granted() -> Vec<String> {
    preopens::get_directories().into_iter().map(|(_, path)| path).collect()
}

/// The names in a directory, one per line.
pub(crate) fn list(path: &str) -> String {
    let names = || -> io::Result<String> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names.join("\n"))
    };
    outcome_text(names())
}

/// Connects and closes the connection.
pub(crate) fn connect(address: &str) -> String {
    outcome_text(TcpStream::connect(address).map(|_| "connected".to_owned()))
}

/// The addresses of a host, one per line.
pub(crate) fn resolve(name: &str) -> String {
    let addresses = (name, 80).to_socket_addrs();
    outcome_text(
        addresses.map(|found| found.map(|address| address.ip().to_string()).collect::<Vec<_>>().join("\n")),
    )
}

/// The result of an attempt: its value, or `refused: ` and the reason.
pub(crate) fn outcome_text(result: io::Result<String>) -> String {
    result.unwrap_or_else(|error| format!("refused: {error}"))
}
