//! URIs in a form in which equivalent spellings are equal.
//!
//! All spellings of RFC 3986, section 6.2.2, are equal in it, and also paths with doubled or trailing slashes and Unicode
//! normalizations, because file systems and plugins don't distinguish these. It is only for comparing.

use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

/// The form of a URI.
#[must_use]
pub fn comparable_uri(uri: &str) -> Vec<u8> {
    normalized(uri)
}

/// The form of the start of a URI: a slash at its end separates it from what follows.
#[must_use]
pub fn comparable_prefix(prefix: &str) -> Vec<u8> {
    let mut bytes = normalized(prefix);
    if prefix.ends_with('/') {
        bytes.push(b'/');
    }
    bytes
}

/// The URI without its fragment, as RFC 3986 compares it, and with the fragment as a part of the path, because the plugin
/// gets all of it.
#[must_use]
pub fn possible_readings(uri: &str) -> [&str; 2] {
    [uri.split('#').next().unwrap_or_default(), uri]
}

/// A URI without escapes, in lower case, and without dot segments and empty segments.
fn normalized(uri: &str) -> Vec<u8> {
    let decoded = decoded_lowercase(uri);
    let (scheme, rest) = decoded.split_at(scheme_length(&decoded));
    let has_authority = rest.starts_with(b"//");
    let mut segments = Vec::new();
    // A dot segment removes neither the scheme nor the authority (section 5.2.4).
    let mut kept = 0;
    for (number, segment) in rest.split(|byte| *byte == b'/').enumerate() {
        match segment {
            b"" | b"." => {}
            b".." if segments.len() > kept => drop(segments.pop()),
            b".." => {}
            _ => segments.push(segment),
        }
        if has_authority && number == 2 {
            kept = segments.len();
        }
    }
    let mut form = scheme.to_vec();
    if rest.starts_with(b"/") && !scheme.is_empty() {
        form.push(b'/');
    }
    form.extend_from_slice(&segments.join(&b'/'));
    form
}

/// The length of the scheme and its colon; 0 if there is none.
fn scheme_length(uri: &[u8]) -> usize {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let length = uri.iter().take_while(|byte| is_scheme(byte)).count();
    if uri.get(length) == Some(&b':') { length + 1 } else { 0 }
}

/// The text without escapes, in lower case and in normalization form C, as the bytes that it means.
fn decoded_lowercase(text: &str) -> Vec<u8> {
    let decoded: Vec<u8> = percent_decode_str(text).map(|byte| byte.to_ascii_lowercase()).collect();
    if decoded.is_ascii() {
        return decoded;
    }
    let mut form = Vec::with_capacity(decoded.len());
    for chunk in decoded.utf8_chunks() {
        form.extend(chunk.valid().nfc().collect::<String>().into_bytes());
        form.extend_from_slice(chunk.invalid());
    }
    form
}

#[cfg(test)]
mod tests;
