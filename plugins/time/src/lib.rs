//! The plugin `time`: the current time in any IANA time zone, and conversions between zones.
//!
//! Its tools take the same arguments and give the same answers as those of the Python package `mcp-server-time`, so it
//! can stand in for that one. The zones are built in; nothing is read from the machine but its clock. The times
//! themselves are worked out in `clock`, which never asks what time it is.
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

/// What `gateway.toml` can say in `[plugins.time.config]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Settings {
    /// The IANA time zone that models should use when the person names none. Default: `UTC`.
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
    /// The IANA name of the time zone that `time` is in, such as 'America/New_York' or 'Europe/London'.
    #[schemars(transform = name_local_zone)]
    source_timezone: String,
    /// The time to convert, today, on a 24-hour clock (HH:MM).
    time: String,
    /// The IANA name of the time zone to convert to, such as 'Asia/Tokyo' or 'America/Los_Angeles'.
    #[schemars(transform = name_local_zone)]
    target_timezone: String,
}

/// The current time in any time zone, and conversions between time zones.
#[plugin(name = "time", title = "Time", config = Settings)]
impl Time {
    /// Get the current time in a time zone.
    #[tool(title = "Current time", read_only, destructive = false, idempotent, open_world = false)]
    fn get_current_time(&self, args: &CurrentTime) -> Result<Pretty<Moment>, ToolError> {
        let zone = zone("get_current_time", "timezone", &args.timezone)?;
        Ok(Pretty(clock::current(&zone, Timestamp::now())))
    }

    /// Convert a time of today from one time zone to another.
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

/// The zone of this name.
fn zone(tool: &str, argument: &str, name: &str) -> Result<Zone, ToolError> {
    if name.is_empty() {
        return Err(failed(tool, format_args!("Missing required argument: {argument}")));
    }
    Zone::named(name).map_err(|error| failed(tool, format_args!("Invalid timezone: {error}")))
}

/// A failure in the words of `mcp-server-time`, whose framework puts the tool's name before each.
fn failed(tool: &str, message: impl std::fmt::Display) -> ToolError {
    ToolError::failed(format_args!("Error executing tool {tool}: {message}"))
}

/// Says in a zone's description which one to take when the person names none.
fn name_local_zone(schema: &mut Schema) {
    let zone = local_zone();
    if let Some(serde_json::Value::String(description)) = schema.get_mut("description") {
        description.push_str(&format!(" Use '{zone}' as the local time zone if the user names none."));
    }
}

/// The operator's zone.
fn local_zone() -> String {
    let settings: Settings = config::typed().unwrap_or_else(|error| {
        log::warning(error);
        Settings::default()
    });
    let name = settings.local_timezone.unwrap_or_else(|| "UTC".to_owned());
    match Zone::named(&name) {
        Ok(_) => name,
        Err(error) => {
            log::warning(format_args!(
                "`local_timezone` below `[plugins.<name>.config]` is no time zone, such as Europe/Zurich, so it is UTC: {error}"
            ));
            "UTC".to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
