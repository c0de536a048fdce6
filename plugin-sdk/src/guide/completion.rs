//! Completion: suggestions while a person types an argument of a prompt or of a resource's template.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use moongate_sdk::CompletionTarget;
//!
//! const CITIES: &[(&str, &str)] = &[("Norway", "Oslo"), ("Norway", "Bergen"), ("Peru", "Lima")];
//!
//! #[derive(Default)]
//! struct Travel;
//!
//! /// Plans journeys.
//! #[plugin]
//! impl Travel {
//!     /// Plan a journey.
//!     #[prompt]
//!     fn plan(&self, country: &str, city: &str) -> String {
//!         format!("Plan a journey to {city} in {country}.")
//!     }
//!
//!     #[complete(prompt = "plan", argument = "city")]
//!     fn cities(&self, typed: &str, others: &[(String, String)]) -> Vec<String> {
//!         let country = others.iter().find(|(name, _)| name == "country").map(|(_, value)| value.as_str());
//!         let fits = |(of, city): &&(&str, &str)| country.is_none_or(|c| c == *of) && city.starts_with(typed);
//!         CITIES.iter().filter(fits).map(|(_, city)| (*city).to_owned()).collect()
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! let client = Client::<Travel>::new();
//! let target = CompletionTarget::Prompt("plan".to_owned());
//! let suggested = client.complete(&target, "city", "", &[("country", "Norway")]).unwrap();
//! assert_eq!(suggested.values, ["Oslo", "Bergen"]);
//! ```
//!
//! For a template, name it exactly as `#[resource]` has it:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use moongate_sdk::CompletionTarget;
//! # #[derive(Default)]
//! # struct Notes;
//! # /// Notes.
//! # #[plugin]
//! # impl Notes {
//! /// The note of one day.
//! #[resource(uri = "notes://days/{year}/{day}")]
//! fn day(&self, year: u16, day: u16) -> Result<String, ToolError> {
//!     # Ok(format!("{year}-{day}"))
//!     // …
//! }
//!
//! #[complete(resource = "notes://days/{year}/{day}", argument = "year")]
//! fn years(&self, typed: &str) -> Result<Vec<String>, ToolError> {
//!     let mut years: Vec<String> = kv::get("years")?.unwrap_or_default();
//!     years.retain(|year| year.starts_with(typed));
//!     Ok(years)
//! }
//! # }
//!
//! # use moongate_sdk::testing::Client;
//! let client = Client::<Notes>::new().kept("years", ["1999", "2026"]);
//! let target = CompletionTarget::ResourceTemplate("notes://days/{year}/{day}".to_owned());
//! assert_eq!(client.complete(&target, "year", "2", &[]).unwrap().values, ["2026"]);
//! ```
//!
//! The best suggestion goes first; clients are given 100. A
//! [`Completion`](crate::Completion) in place of the list says how many there are in all.
//!
//! It is called at every keystroke, so it should be quick, and it can't ask anything. It may return a `Result`, for what
//! broke; an argument without suggestions is no error, and has none.
