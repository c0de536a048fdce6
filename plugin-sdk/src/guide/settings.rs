//! Settings, secrets and environment variables from the operator.
//!
//! Settings are in the plugin's section of `gateway.toml`:
//!
//! ```toml
//! [plugins.weather.config]
//! unit = "celsius"
//! days = 5
//! cities = ["Oslo", "Lima"]
//! ```
//!
//! Read them into a struct. If you name it in `#[plugin(config = …)]`, the gateway knows its schema and checks the
//! settings when it loads the plugin.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Settings {
//!     /// The unit of temperatures: `celsius` or `fahrenheit`.
//!     unit: String,
//!     /// The length of a forecast in days. Default: 3.
//!     #[serde(default = "three")]
//!     days: u8,
//!     /// The allowed cities. Default: all.
//!     #[serde(default)]
//!     cities: Vec<String>,
//! }
//!
//! fn three() -> u8 {
//!     3
//! }
//!
//! #[derive(Default)]
//! struct Weather;
//!
//! /// Weather forecasts.
//! #[plugin(config = Settings)]
//! impl Weather {
//!     /// Describe how forecasts are made.
//!     #[tool]
//!     fn about(&self) -> Result<String, ToolError> {
//!         let Settings { unit, days, cities } = config::typed()?;
//!         Ok(format!("{days} days in {unit} for {} cities", cities.len()))
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! let client = Client::<Weather>::new().config("unit", "celsius").config("cities", json!(["Oslo"]));
//! assert_eq!(client.call("about", json!({})).unwrap().all_text(), "3 days in celsius for 1 cities");
//!
//! let wrong = Client::<Weather>::new().config("unit", "celsius").config("days", "many");
//! let message = wrong.call("about", json!({})).unwrap().all_text();
//! assert_eq!(
//!     message,
//!     "invalid `days` in `[plugins.<name>.config]` of `gateway.toml`: expected an integer from 0 to 255"
//! );
//! ```
//!
//! [`config::get`](crate::config::get), [`config::parsed`](crate::config::parsed) and
//! [`config::required`](crate::config::required) read a single setting. A plugin must be able to describe itself
//! without settings, so use a default for settings that its lists depend on.
//!
//! # Secrets
//! For the API key or token of a server, let the operator set `credentials` in the plugin's grants
//! ([`http`](crate::http)): the gateway adds them to requests, and the plugin never sees them. If the plugin needs a
//! secret itself, use a setting whose value the operator reads from elsewhere; for the plugin it is an ordinary
//! string:
//!
//! ```toml
//! [plugins.weather.config]
//! salt = { file = "salt.txt" }        # or { env = "WEATHER_SALT" }
//! ```
//!
//! # The environment
//! [`env`](crate::env) reads environment variables that the operator grants by name. Prefer settings, because they
//! have a schema and a description and are in one place.
