//! The `Accept` header (RFC 9110, 12.5.1).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// An entry of the header, such as `text/*;q=0.5`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MediaRange<'h> {
    /// The type, such as `text/*`.
    name: &'h str,
    /// The text of its parameters, with the quality.
    parameters: &'h str,
}

/// The entries of the header.
pub(crate) fn media_ranges(headers: &HeaderMap) -> impl Iterator<Item = MediaRange<'_>> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|range| {
        let (name, parameters) = range.split_once(';').unwrap_or((range, ""));
        MediaRange { name: name.trim(), parameters }
    })
}

impl MediaRange<'_> {
    /// True if it is one of these types or wildcards, and not refused by a quality of zero.
    pub(crate) fn accepts(&self, types: &[&str]) -> bool {
        self.is(types) && self.quality() > 0.0
    }

    /// True if it is one of these types or wildcards.
    pub(crate) fn is(&self, types: &[&str]) -> bool {
        types.iter().any(|it| it.eq_ignore_ascii_case(self.name))
    }

    /// The value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.parameters.split(';').filter_map(|parameter| parameter.split_once('='));
        let mut values = pairs.filter(|(its, _)| its.trim().eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.trim().trim_matches('"'))
    }

    /// From 0 to 1. An invalid quality counts as 1.
    pub(crate) fn quality(&self) -> f32 {
        let quality = self.parameter("q").and_then(|quality| quality.parse::<f32>().ok());
        quality.filter(|quality| (0.0..=1.0).contains(quality)).unwrap_or(1.0)
    }
}
