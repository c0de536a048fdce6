//! The specification of the file: the key table, and what is generated from it.

pub mod json_schema;
pub mod keys;
mod kind;
mod limit_keys;
pub mod reference;
