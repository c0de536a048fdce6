//! HTTP requests to the origins that the operator grants. [`guide::http`](crate::guide::http) has examples.
//!
//! [`get`] and [`Request`] send requests. [`Response::error_for_status`] converts an error status to an error,
//! [`Request::redirects`] follows redirects, and [`Request::max_body`] limits the body.

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
