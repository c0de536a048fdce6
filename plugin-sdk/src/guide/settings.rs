//! Settings, secrets and the environment: what the operator tells a plugin.
//!
//! Settings stand in the plugin's table of `gateway.toml`:
//!
//! ```toml
//! [plugins.weather.config]
//! unit = "celsius"
//! days = 5
//! cities = ["Oslo", "Lima"]
//! ```
//!
//! A struct reads them all. Named in `#[plugin(config = …)]` its schema is told to the gateway, which checks the table
//! when it loads the plugin.
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
//!     /// How many days a forecast has. Default: 3.
//!     #[serde(default = "three")]
//!     days: u8,
//!     /// Cities that may be asked for. Default: all.
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
//! /// The weather.
//! #[plugin(config = Settings)]
//! impl Weather {
//!     /// Tell how a forecast is made.
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
//! let said = wrong.call("about", json!({})).unwrap().all_text();
//! assert_eq!(
//!     said,
//!     "`days` below `[plugins.<name>.config]` in `gateway.toml`: it must be a whole number from 0 to 255"
//! );
//! ```
//!
//! [`config::get`](crate::config::get), [`config::parsed`](crate::config::parsed) and
//! [`config::required`](crate::config::required) read a single one. A plugin must
//! describe itself without any settings, so give what lists depend on a default.
//!
//! # Secrets
//! For a key or a token of a server, let the operator set `credentials` in the plugin's grants ([`http`](crate::http)): the
//! gateway adds it to requests, and the plugin never holds it. A secret that the plugin itself needs is a setting that the
//! operator takes from elsewhere; the plugin sees a text like any other:
//!
//! ```toml
//! [plugins.weather.config]
//! salt = { file = "salt.txt" }        # or { env = "WEATHER_SALT" }
//! ```
//!
//! # The environment
//! [`env`](crate::env) reads variables that the operator grants by name. Prefer settings: they have a schema, a
//! description, and a place that people look at.
