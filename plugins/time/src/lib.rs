//! The plugin `time`: the current time in any IANA time zone, and conversions between zones.
//!
//! The tools have the same arguments and results as those of the Python package `mcp-server-time`, so the plugin can
//! replace it. The time zones are built in; only the clock is read from the machine. `clock` computes times from a
//! given moment and never reads the clock.
#![forbid(unsafe_code)]

use jiff::Timestamp;
use moongate_sdk::prelude::*;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

mod clock;
mod zone;

use clock::{Conversion, Moment};
use zone::Zone;

/// The plugin.
#[derive(Debug, Default)]
pub struct Time;

/// The settings in `[plugins.time.config]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Settings {
    /// The IANA time zone that the tools' descriptions name as the local one, such as Europe/Zurich. `${TZ}` is the
    /// machine's. By default, the descriptions advise asking the user.
    local_timezone: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct CurrentTime {
    /// The IANA name of the time zone, such as 'America/New_York' or 'Europe/London'.
    #[schemars(transform = name_local_zone)]
    timezone: String,
}

#[derive(Deserialize, JsonSchema)]
struct ConvertTime {
    /// The IANA name of the source time zone, such as 'America/New_York' or 'Europe/London'.
    #[schemars(transform = name_local_zone)]
    source_timezone: String,
    /// The time to convert, on the current date, in 24-hour format (HH:MM).
    time: String,
    /// The IANA name of the target time zone, such as 'Asia/Tokyo' or 'America/Los_Angeles'.
    #[schemars(transform = name_local_zone)]
    target_timezone: String,
}

/// Get the current time in any time zone and convert times between time zones.
#[plugin(name = "time", title = "Time", config = Settings)]
impl Time {
    /// Get the current time in a time zone.
    #[tool(title = "Current time", read_only, destructive = false, idempotent, open_world = false)]
    fn get_current_time(&self, args: &CurrentTime) -> Result<Pretty<Moment>, ToolError> {
        let zone = zone("get_current_time", "timezone", &args.timezone)?;
        Ok(Pretty(clock::current(&zone, Timestamp::now())))
    }

    /// Convert a time between two time zones, on the current date.
    #[tool(title = "Convert time", read_only, destructive = false, idempotent, open_world = false)]
    fn convert_time(&self, args: &ConvertTime) -> Result<Pretty<Conversion>, ToolError> {
        let [source, target] =
            [("source_timezone", &args.source_timezone), ("target_timezone", &args.target_timezone)];
        for (name, value) in [source, target] {
            if value.is_empty() {
                return Err(failed("convert_time", format_args!("Missing required argument: {name}")));
            }
        }
        let source = zone("convert_time", source.0, source.1)?;
        let target = zone("convert_time", target.0, target.1)?;
        clock::convert(&source, &args.time, &target, Timestamp::now())
            .map(Pretty)
            .map_err(|error| failed("convert_time", error))
    }
}

/// The zone with this name.
fn zone(tool: &str, argument: &str, name: &str) -> Result<Zone, ToolError> {
    if name.is_empty() {
        return Err(failed(tool, format_args!("Missing required argument: {argument}")));
    }
    Zone::named(name).map_err(|error| failed(tool, format_args!("Invalid timezone: {error}")))
}

/// An error in the format of `mcp-server-time`, whose framework adds the tool's name.
fn failed(tool: &str, message: impl std::fmt::Display) -> ToolError {
    ToolError::failed(format_args!("Error executing tool {tool}: {message}"))
}

/// Adds the local time zone to the description of an argument.
fn name_local_zone(schema: &mut Schema) {
    if let Some(serde_json::Value::String(description)) = schema.get_mut("description") {
        description.push_str(&match local_zone() {
            Some(zone) => format!(" Use '{zone}' as the local time zone if the user names none."),
            None => " If the user names none, ask for it; don't assume UTC.".to_owned(),
        });
    }
}

/// The operator's time zone. A sandbox doesn't have the machine's.
fn local_zone() -> Option<String> {
    let settings: Settings = config::typed().unwrap_or_else(|error| {
        log::warning(error);
        Settings::default()
    });
    let name = settings.local_timezone?;
    match Zone::named(&name) {
        Ok(_) => Some(name),
        Err(error) => {
            log::warning(format_args!(
                "ignoring `local_timezone` in `config`, which isn't an IANA time zone such as Europe/Zurich: {error}"
            ));
            None
        }
    }
}

#[cfg(test)]
mod tests;
