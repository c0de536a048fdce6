//! `schema`: the JSON Schema of `gateway.toml`, as this gateway reads it.

use anyhow::Result;
use clap::Args;
use moongate_core::config::schema;

use crate::cli::{Exit, print};

/// Print the JSON Schema of gateway.toml, for editors
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate schema > gateway.schema.json

Editors that know Taplo, such as VS Code with Even Better TOML, take it from the first line of \
gateway.toml:

  #:schema ./gateway.schema.json")]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn run(&self) -> Result<Exit> {
        print::data(&schema::render())?;
        Ok(Exit::Success)
    }
}
