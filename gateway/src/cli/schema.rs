//! `schema`: the JSON Schema of `gateway.toml`.

use anyhow::Result;
use clap::Args;
use moongate_config::schema;

use crate::cli::{ExitKind, print};

/// Print the JSON Schema of gateway.toml, for editors
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate schema > gateway.schema.json

Editors with Taplo, such as VS Code with Even Better TOML, read the path of the schema from the first line of \
gateway.toml:

  #:schema ./gateway.schema.json")]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn run(&self) -> Result<ExitKind> {
        print::stdout(&schema::render())?;
        Ok(ExitKind::Success)
    }
}
