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
//! For a template it is `#[complete(resource = "notes://days/{year}/{day}", argument = "day")]`, with the template exactly
//! as `#[resource]` has it. The best suggestion goes first; clients are given 100. A
//! [`Completion`](crate::Completion) in place of the list says how many there are in all.
//!
//! It is called at every keystroke, so it should be quick, and it can't ask anything or fail: an argument without
//! suggestions has none.
