//! Completion: suggestions while a user types an argument of a prompt or of a resource template.
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
//! For a template, name it exactly as in `#[resource]`:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use moongate_sdk::CompletionTarget;
//! # #[derive(Default)]
//! # struct Notes;
//! # /// Notes.
//! # #[plugin]
//! # impl Notes {
//! /// The note of a day.
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
//! Return the best suggestion first; clients get at most 100. Return a [`Completion`](crate::Completion) instead of a
//! list to include the total number.
//!
//! A completion runs at every keystroke, so it should be fast, and it can't ask questions. It can return a `Result`
//! for internal errors. If there are no suggestions, return an empty list, not an error.
