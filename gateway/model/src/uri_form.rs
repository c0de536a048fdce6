//! URIs in a form in which equivalent spellings are equal.
//!
//! All spellings of RFC 3986, section 6.2.2, are equal in it, and also paths with doubled or trailing slashes, because a
//! file system doesn't distinguish these. It is only for comparing.

use percent_encoding::percent_decode_str;

/// The form of a URI without its fragment, which names a part of a resource.
#[must_use]
pub fn comparable_uri(uri: &str) -> Vec<u8> {
    normalized(uri.split('#').next().unwrap_or_default())
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

/// A URI without escapes, in lower case, and without dot segments and empty segments.
fn normalized(uri: &str) -> Vec<u8> {
    let decoded = decoded_lowercase(uri);
    let mut segments = Vec::new();
    for segment in decoded.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    segments.join(&b'/')
}

/// The text without escapes and in lower case, as the bytes that it means.
fn decoded_lowercase(text: &str) -> Vec<u8> {
    percent_decode_str(text).map(|byte| byte.to_ascii_lowercase()).collect()
}
