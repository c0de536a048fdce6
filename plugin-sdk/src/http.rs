//! Requests to other servers, as far as the operator grants them.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Forecast {
//!     degrees: f32,
//! }
//!
//! #[derive(Default)]
//! struct Weather;
//!
//! /// The weather.
//! #[plugin]
//! impl Weather {
//!     /// How warm it will be tomorrow.
//!     #[tool(read_only)]
//!     fn forecast(&self, city: &str) -> Result<String, ToolError> {
//!         let request = http::Request::get("https://weather.example/v1/forecast").query("city", city);
//!         let forecast: Forecast = request.send()?.error_for_status()?.json()?;
//!         Ok(format!("{} °C", forecast.degrees))
//!     }
//! }
//!
//! // In a test nothing leaves the machine: a function stands in for the servers.
//! use moongate_sdk::testing::{Client, HttpAnswer};
//! use serde_json::json;
//!
//! let client = Client::<Weather>::new().http(|request| {
//!     assert_eq!(request.url, "https://weather.example/v1/forecast?city=Oslo");
//!     Ok(HttpAnswer::json(json!({ "degrees": 20.5 })))
//! });
//! assert_eq!(client.call("forecast", json!({ "city": "Oslo" })).unwrap().all_text(), "20.5 °C");
//! assert_eq!(client.requests().len(), 1);
//!
//! // And without a grant:
//! let refused = Client::<Weather>::new().call("forecast", json!({ "city": "Oslo" })).unwrap();
//! assert!(refused.all_text().contains(r#"`http = ["https://weather.example"]`"#));
//! ```
//!
//! # Grants
//! The operator says in `gateway.toml`, below `[plugins.<name>.allow]`, where requests may go:
//!
//! ```toml
//! http = ["https://weather.example", "https://*.example.org"]
//! credentials = [{ origin = "https://weather.example", headers = { authorization = { env = "TOKEN", prefix = "Bearer " } } }]
//! ```
//!
//! What `credentials` say is added by the gateway on the way out; the plugin never holds it. The gateway also finds the
//! addresses of a name, refuses those that aren't public, speaks TLS, and counts requests and bytes against the limits of
//! the call.
//!
//! # Answers
//! A call waits where it sends; nothing else of it goes on meanwhile. An answer with the status of an error is an answer:
//! [`Response::error_for_status`] makes it an error. Nothing is followed ([`Request::redirects`] does), nothing is kept
//! (no cookies, no cache), and nothing is unpacked: without a header `accept-encoding` servers send bodies as they are.
//!
//! Bodies are read as they come, up to [`Request::max_body`]:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use std::io::{BufRead, BufReader};
//! # fn first_line(url: &str) -> Result<String, ToolError> {
//! let response = http::Request::get(url).max_body(u64::MAX).send()?;
//! let mut line = String::new();
//! BufReader::new(response).read_line(&mut line)?; // and no more than a buffer is held
//! # Ok(line)
//! # }
//! ```
//!
//! # Errors
//! [`HttpError`] tells apart what an author may want to handle; its messages name what the operator can change.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! use moongate_sdk::http::HttpError;
//! use std::time::Duration;
//!
//! # fn order(url: &str) -> Result<String, ToolError> {
//! let request = http::Request::post(url).json(&["tea"])?.timeout(Duration::from_secs(5)).redirects(3);
//! let receipt = match request.send() {
//!     Ok(response) => response.error_for_status()?.text()?,
//!     Err(HttpError::Timeout { .. }) => "ordered, perhaps".to_owned(),
//!     Err(error) => return Err(error.into()),
//! };
//! # Ok(receipt)
//! # }
//! ```

mod error; // why there is no answer
mod headers; // names and values
mod redirect; // what an answer of 3xx leads to
mod request; // what is asked
mod response; // what is answered

pub use error::HttpError;
pub use headers::Headers;
pub use request::Request;
pub use response::Response;

pub(crate) use error::Place;
pub(crate) use request::Outgoing;

/// Gets what is at `url`: [`Request::get`], sent.
///
/// # Errors
/// There is no answer: [`HttpError`] says why. An answer with the status of an error is none of them.
pub fn get(url: impl Into<String>) -> Result<Response, HttpError> {
    Request::get(url).send()
}
