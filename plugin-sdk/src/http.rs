//! HTTP requests to the origins that the operator grants.
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
//! /// Weather forecasts.
//! #[plugin]
//! impl Weather {
//!     /// Get tomorrow's temperature in a city.
//!     #[tool(read_only)]
//!     fn forecast(&self, city: &str) -> Result<String, ToolError> {
//!         let request = http::Request::get("https://weather.example/v1/forecast").query("city", city);
//!         let forecast: Forecast = request.send()?.error_for_status()?.json()?;
//!         Ok(format!("{} °C", forecast.degrees))
//!     }
//! }
//!
//! // In a test, no request leaves the machine: a function replaces the servers.
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
//! // Without a grant:
//! let refused = Client::<Weather>::new().call("forecast", json!({ "city": "Oslo" })).unwrap();
//! assert!(refused.all_text().contains("GET https://weather.example isn't granted"));
//! ```
//!
//! # Grants
//! The operator grants origins in `gateway.toml`, in `[plugins.<name>.allow]`:
//!
//! ```toml
//! http = ["https://weather.example", "https://*.example.org"]
//! credentials = [{ origin = "https://weather.example", headers = { authorization = { env = "TOKEN", prefix = "Bearer " } } }]
//! ```
//!
//! The gateway adds the `credentials` to outgoing requests; the plugin never sees them. The gateway also resolves
//! names, rejects non-public addresses, handles TLS, and counts requests and bytes against the limits of the call.
//!
//! # Responses
//! Requests are synchronous: a call does nothing else while it waits. A response with an error status is still a
//! response; [`Response::error_for_status`] converts it to an error. Redirects aren't followed unless you set
//! [`Request::redirects`], and there are no cookies and no cache.
//!
//! With the cargo feature `decompression`, requests accept the encodings gzip, deflate and br, and bodies are
//! decompressed; [`Request::max_body`] limits their size after that. Without it, requests have no `accept-encoding`
//! header, and a body is returned as it arrives, even if the server compresses it anyway.
//!
//! Bodies are read as they arrive, up to [`Request::max_body`]:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # use std::io::{BufRead, BufReader};
//! # fn first_line(url: &str) -> Result<String, ToolError> {
//! let response = http::Request::get(url).max_body(u64::MAX).send()?;
//! let mut line = String::new();
//! BufReader::new(response).read_line(&mut line)?; // reads no more than a buffer
//! # Ok(line)
//! # }
//! ```
//!
//! # Errors
//! [`HttpError`] has variants for the errors that a plugin can handle. Its messages name the settings that the
//! operator can change.
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

mod body; // bodies
#[cfg(feature = "decompression")]
mod decompression; // compressed bodies
mod error; // request errors
mod headers; // names and values
mod prepared; // validated requests
mod redirect; // redirects
mod request; // requests
mod response; // responses

pub use error::HttpError;
pub use headers::Headers;
pub use request::Request;
pub use response::Response;

pub(crate) use error::RequestTarget;
pub(crate) use prepared::PreparedRequest;

/// Sends a `GET` request to `url`, like [`Request::get`] and [`Request::send`].
///
/// # Errors
/// There is no response; see [`HttpError`]. A response with an error status isn't an error.
pub fn get(url: impl Into<String>) -> Result<Response, HttpError> {
    Request::get(url).send()
}
