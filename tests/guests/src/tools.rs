//! The misbehaving tools, grouped by behaviour. They are implemented in the modules next to this one.

mod burden; // processor, time, memory, handles
mod directories; // files
mod ends; // failures
mod notices; // logs, progress, standard streams, changes
mod requests; // requests over HTTP
mod results; // results that are too big or invalid
mod surroundings; // variables, sockets, standard input, random bytes

pub(crate) use burden::Burden;
pub(crate) use directories::Directories;
pub(crate) use ends::Ends;
pub(crate) use notices::Notices;
pub(crate) use requests::Requests;
pub(crate) use results::Results;
pub(crate) use surroundings::Surroundings;
