//! Writes a generated plugin to a file, for programs that don't link to the library.

use std::fs;

use anyhow::{Context as _, Result, bail};
use moongate_generated::Plugin;

const USAGE: &str = "Usage: moongate-generated <file> [--version N] [--functions N] [--filled-pages N] [--schema JSON] \
                     [--tool NAME]…";

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let file = words.next().filter(|word| !word.starts_with('-')).context(USAGE)?;
    let mut version = 1;
    let mut functions = 0;
    let mut filled_pages = 0;
    let mut schema = None;
    let mut tools = Vec::new();
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("`{word}` needs a value\n{USAGE}"))?;
        let number = || value.parse().with_context(|| format!("invalid number in `{word} {value}`"));
        match word.as_str() {
            "--version" => version = number()?,
            "--functions" => functions = number()?,
            "--filled-pages" => filled_pages = number()?,
            "--schema" => schema = Some(value),
            "--tool" => tools.push(value),
            other => bail!("unknown option `{other}`\n{USAGE}"),
        }
    }
    let plugin = Plugin::version(version).functions(functions).filled_pages(filled_pages);
    let plugin = match schema {
        Some(schema) => plugin.schema(schema),
        None => plugin,
    };
    let plugin = tools.into_iter().fold(plugin, Plugin::tool);
    fs::write(&file, plugin.build()).with_context(|| format!("cannot write `{file}`"))
}
