//! What a path begins with, as a grant says it; and what a server could read in another way.

use std::borrow::Cow;

use url::Url;

use crate::config::model::http_pattern::Fault;
use crate::config::model::diagnostic::{quoted, visible};

/// Reads what stands from the byte `start` on: a path, without a `/` at its end.
pub(in crate::config) fn read(text: &str, start: usize) -> Result<String, Fault> {
    let written = &text[start..];
    let at = |found: usize, length: usize| start + found..start + found + length;
    if let Some(found) = written.find(['?', '#']) {
        let what = if written[found..].starts_with('?') { "a query" } else { "a fragment" };
        let hint = "leave it away: a path is the most that is compared";
        let part = at(found, written.len() - found);
        let fault = Fault::new(part, format!("{what} can't stand in a grant"), hint);
        return Err(Fault { is_secret: true, ..fault }); // keys often are
    }
    if let Some(found) = written.find('*') {
        let before = written[..found].trim_end_matches('/');
        let hint = if before.is_empty() {
            "leave the path away: without one every path is granted".to_owned()
        } else if written.ends_with("/*") || written.ends_with("/**") {
            format!("write `{}`: what lies below it is granted with it", visible(before))
        } else {
            "grant what the path begins with, up to a `/`".to_owned()
        };
        let stars = written[found..].bytes().take_while(|byte| *byte == b'*').count();
        return Err(Fault::new(at(found, stars), "a `*` can't stand in a path", hint));
    }
    let mut found = 0;
    for segment in written.split('/') {
        if let Err((message, hint)) = segment_of(segment) {
            return Err(Fault::new(at(found, segment.len()), message, hint));
        }
        found += segment.len() + 1;
    }
    if let Some(found) = written.find("//") {
        return Err(Fault::new(at(found, 2), "a path can't have two `/` in a row", "write one"));
    }
    // The same changes that are made to what is asked for: other letters than ASCII's become `%…`.
    let url =
        Url::parse("http://host").and_then(|base| base.join(if written.is_empty() { "/" } else { written }));
    match url {
        Ok(url) => Ok(url.path().trim_end_matches('/').to_owned()),
        Err(error) => {
            let message = format!("{} is no path: {error}", quoted(written));
            Err(Fault::new(start..text.len(), message, "write it as a URL has it"))
        }
    }
}

/// Judges what stands between two `/`: what is wrong with it, and the cure.
fn segment_of(segment: &str) -> Result<(), (String, &'static str)> {
    if is_step(segment) {
        let message = format!("{} can't stand in a path", quoted(segment));
        return Err((message, "write the path that it comes to"));
    }
    if hides_something(segment) {
        let message = format!(
            "{} hides a `.`, a `/`, a `\\`, a `;` or a zero, which servers read in different ways",
            quoted(segment)
        );
        return Err((message, "grant the path before it"));
    }
    let mut rest = segment;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if !rest.get(..2).is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            let message = format!("a `%` in {} has no two digits after it", quoted(segment));
            return Err((message, "write `%25` for a plain `%`"));
        }
    }
    Ok(())
}

/// Does a server go up, or stay, where it reads this? Some ignore what follows a `;`.
fn is_step(segment: &str) -> bool {
    matches!(segment.split(';').next(), Some("." | ".."))
}

/// Is there an encoded `.`, `/` or `\`, also an encoded `%` before it, or bytes that are no text? Servers decode once,
/// twice or loosely. Some end a path at a zero, or a step of it at a `;`, also where these are encoded.
fn hides_something(segment: &str) -> bool {
    let mut plain = Cow::Borrowed(segment);
    for _ in 0..3 {
        if plain.contains("%25") {
            plain = plain.replace("%25", "%").into();
        }
    }
    let plain = plain.to_ascii_lowercase();
    // What is encoded more often than that is made to hide something.
    ["%2e", "%2f", "%5c", "%3b", "%00", "\\", "%25"].iter().any(|hidden| plain.contains(hidden))
        || is_no_text(&plain)
}

/// Do the bytes that are encoded here spell no text? Some decoders take a `/` that is written in too many bytes.
fn is_no_text(plain: &str) -> bool {
    let mut bytes = Vec::with_capacity(plain.len());
    let mut rest = plain.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = if *first == b'%' { tail.get(..2) } else { None };
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    std::str::from_utf8(&bytes).is_err()
}

/// Can every server read this path in one way only? Else no prefix is compared with it.
pub(in crate::config) fn is_plain(path: &str) -> bool {
    !path.split('/').any(|segment| is_step(segment) || hides_something(segment))
}
