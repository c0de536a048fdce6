//! Arguments of tools, and their JSON Schemas.
//!
//! Each **parameter** is an argument, and its doc comment is the argument's description. The types determine the JSON
//! Schema that clients see. The gateway validates every call against it, so a function only gets valid arguments.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Debug, Deserialize, JsonSchema)]
//! #[serde(rename_all = "lowercase")]
//! enum Unit {
//!     Celsius,
//!     Fahrenheit,
//! }
//!
//! #[derive(Default)]
//! struct Weather;
//!
//! /// Weather forecasts.
//! #[plugin]
//! impl Weather {
//!     /// Get the forecast for the next days.
//!     #[tool(read_only)]
//!     fn forecast(
//!         &self,
//!         /// The city, in English.
//!         city: &str,
//!         /// The number of days.
//!         #[serde(default = "one")]
//!         #[schemars(range(min = 1, max = 10))]
//!         days: u8,
//!         /// The unit of temperatures. Default: the unit used in the country.
//!         unit: Option<Unit>,
//!     ) -> String {
//!         format!("{city} {days} {unit:?}")
//!     }
//! }
//!
//! fn one() -> u8 {
//!     1
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::{Value, json};
//! let client = Client::<Weather>::new();
//! let result = client.call("forecast", json!({ "city": "Oslo", "unit": "celsius" })).unwrap();
//! assert_eq!(result.all_text(), "Oslo 1 Some(Celsius)");
//!
//! let schema: Value = serde_json::from_str(&client.tools()[0].input_schema).unwrap();
//! assert_eq!(schema["required"], json!(["city"]));
//! assert_eq!(schema["properties"]["days"]["maximum"], 10);
//! ```
//!
//! - An `Option` is optional, and so is a parameter with `#[serde(default)]`.
//! - `&str` and `&[T]` work: the call owns the value, and the function borrows it. Types that contain references
//!   (`Option<&str>`) don't work.
//! - Your own types derive `serde::Deserialize` and `schemars::JsonSchema`; add both crates to `Cargo.toml`.
//! - `#[serde(…)]` and `#[schemars(…)]` work on a parameter as they do on a field.
//! - Unknown arguments are rejected, so that a model notices a mistyped name. In your own types, add
//!   `#[serde(deny_unknown_fields)]`: without it, unknown members are ignored.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use schemars::JsonSchema;
//! # use serde::Deserialize;
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Guest {
//!     name: String,
//!     /// Dietary restrictions. Default: none.
//!     diet: Option<String>,
//! }
//!
//! # #[derive(Default)]
//! # struct Party;
//! # /// Plans parties.
//! # #[plugin]
//! # impl Party {
//! /// Invite guests.
//! #[tool]
//! fn invite(&self, guests: Vec<Guest>) -> String {
//!     guests.iter().map(|guest| format!("{} {:?}", guest.name, guest.diet)).collect()
//! }
//! # }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::{Value, json};
//! let client = Client::<Party>::new();
//! let mistyped = client.call("invite", json!({ "guests": [{ "name": "Ada", "diett": "vegan" }] })).unwrap();
//! assert!(mistyped.failed() && mistyped.all_text().contains("unknown field `diett`"));
//!
//! // A gateway rejects it earlier, because the schema forbids it too.
//! let schema: Value = serde_json::from_str(&client.tools()[0].input_schema).unwrap();
//! assert_eq!(schema["properties"]["guests"]["items"]["additionalProperties"], false);
//! ```
//!
//! # All of them as a struct
//! A single parameter called `args` is the whole object. A struct can be tested and passed on as a unit, and controls
//! how unknown members are treated.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! /// A rectangle.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Rectangle {
//!     /// Its width, in metres.
//!     width: f64,
//!     /// Its height, in metres.
//!     height: f64,
//! }
//!
//! # #[derive(Default)]
//! # struct Shapes;
//! # /// Shapes.
//! # #[plugin]
//! # impl Shapes {
//! /// Compute the area of a rectangle.
//! #[tool]
//! fn area(&self, args: &Rectangle) -> f64 {
//!     args.width * args.height
//! }
//! # }
//! # let client = moongate_sdk::testing::Client::<Shapes>::new();
//! # let area = client.call("area", serde_json::json!({ "width": 2, "height": 3 })).unwrap();
//! # assert_eq!(area.all_text(), "6");
//! ```
//!
//! # A schema by hand
//! `input_schema = TEXT` uses a JSON Schema as is, for `args` of any type that can be deserialized from such an
//! object, such as `serde_json::Map<String, Value>`. If the schema allows a value but the type doesn't, the model
//! gets an error.
