//! Arguments: what a tool takes, and what clients are told of it.
//!
//! Each **parameter** is an argument, and its doc comment the argument's description. The types give the JSON Schema that
//! clients see; the gateway checks every call against it, so a function only sees arguments that fit.
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
//! /// The weather.
//! #[plugin]
//! impl Weather {
//!     /// Tell the weather of the next days.
//!     #[tool(read_only)]
//!     fn forecast(
//!         &self,
//!         /// The city, in English.
//!         city: &str,
//!         /// How many days.
//!         #[serde(default = "one")]
//!         #[schemars(range(min = 1, max = 10))]
//!         days: u8,
//!         /// The unit of temperatures. Without it, that of the country.
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
//! let said = client.call("forecast", json!({ "city": "Oslo", "unit": "celsius" })).unwrap();
//! assert_eq!(said.all_text(), "Oslo 1 Some(Celsius)");
//!
//! let schema: Value = serde_json::from_str(&client.tools()[0].input_schema).unwrap();
//! assert_eq!(schema["required"], json!(["city"]));
//! assert_eq!(schema["properties"]["days"]["maximum"], 10);
//! ```
//!
//! - An `Option` may be left out, and so may what has a `#[serde(default)]`.
//! - `&str` and `&[T]` work: the call owns the value, the function borrows it. Types that hold references (`Option<&str>`)
//!   don't.
//! - A type of your own derives `serde::Deserialize` and `schemars::JsonSchema`; add both crates to `Cargo.toml`.
//! - `#[serde(…)]` and `#[schemars(…)]` can stand at a parameter as they can at a field.
//! - A member that no parameter has is refused, so that a model which mistypes a name is told. Inside of your own types
//!   `#[serde(deny_unknown_fields)]` does that: without it, what a model mistypes there is left out.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use schemars::JsonSchema;
//! # use serde::Deserialize;
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Guest {
//!     name: String,
//!     /// What they eat. Without it, everything.
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
//! // In a gateway it doesn't come so far: the schema says it, too.
//! let schema: Value = serde_json::from_str(&client.tools()[0].input_schema).unwrap();
//! assert_eq!(schema["properties"]["guests"]["items"]["additionalProperties"], false);
//! ```
//!
//! # All of them as a struct
//! A single parameter called `args` is the whole object. A struct can be tested and passed on as one thing, and decides
//! itself what becomes of unknown members.
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
//! `input_schema = TEXT` takes the text of a JSON Schema as it is, for `args` of any type that reads such objects, such as
//! `serde_json::Map<String, Value>`. What the schema lets through and the type doesn't becomes an error that the model
//! reads.
