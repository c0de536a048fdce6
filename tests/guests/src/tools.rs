//! The tools that misbehave, by what they do. Each is a few lines here; what they do is written in the modules beside
//! this one.

mod burden; // processor, time, memory, handles
mod directories; // files
mod ends; // ends that aren't results
mod notices; // logs, progress, standard streams, changes
mod requests; // requests over HTTP
mod results; // results that are too big or not what they should be
mod surroundings; // variables, sockets, standard input, random bytes

pub(crate) use burden::Burden;
pub(crate) use directories::Directories;
pub(crate) use ends::Ends;
pub(crate) use notices::Notices;
pub(crate) use requests::Requests;
pub(crate) use results::Results;
pub(crate) use surroundings::Surroundings;
