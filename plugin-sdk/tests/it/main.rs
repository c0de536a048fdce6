//! The SDK as plugin authors see it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod blame; // errors of failing tests, and their locations
mod c_bindings; // generated code for C
mod compression; // compressed bodies
mod contents; // blocks of content
mod contract; // the two copies of the WIT
mod ends; // errors, panics and invalid results
mod guide; // the guide's pages and their copies
mod hello; // the smallest plugin
mod kept; // stored values
mod mcp; // the contract against MCP
mod offers; // all kinds of items
mod parts; // a plugin in several blocks
mod requests; // HTTP requests
mod rounds;
mod strict; // calls that ask the client
