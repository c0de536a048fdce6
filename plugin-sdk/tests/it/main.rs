//! What the authors of plugins see.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod blame; // what a failing test says, and where
mod contents; // blocks of content
mod contract; // the two copies of the WIT
mod ends; // errors, panics and broken promises
mod hello; // the smallest plugin
mod kept; // what a plugin keeps between calls
mod mcp; // the contract against MCP
mod offers; // everything that a block can offer
mod parts; // a plugin in several blocks
mod requests; // what a plugin asks of other servers
mod rounds;
mod strict; // calls that ask the client
