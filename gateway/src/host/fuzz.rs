//! What must hold for anything that a plugin says: plain functions, for the seeded loop in the tests and for fuzzers.
//!
//! The bytes choose the values of the contract's types (`wild`). These go the whole way that a real plugin's go: through
//! `conv`, the catalog and the protocol of each revision (`served`). Nothing panics, each message is one line of JSON
//! that names no key twice, and no text of it but data holds characters that nobody sees. Whether it fits the official
//! schemas is for the caller to judge, who hears each message.

use moongate_core::config::Limits;
use moongate_core::json::parse_strict;
use moongate_core::manifest::Manifest;
use moongate_core::mcp::Revision;
use moongate_core::names::is_hidden;
use serde_json::Value;

use crate::host::convert;

mod served;
mod wild;

use served::Served;
use wild::Wild;

/// Who hears what a client sent and what came back: the revision that is spoken, and one message for each.
pub type Hear<'a> = dyn FnMut(Revision, &[u8], Option<&[u8]>) + 'a;

/// Reads `bytes` as what a plugin says of itself; where that can be used, asks for all lists.
///
/// # Panics
/// A promise doesn't hold.
pub fn fuzz_manifest(bytes: &[u8], hear: &mut Hear<'_>) {
    let mut wild = Wild::new(bytes);
    let Ok(manifest) = manifest(&mut wild) else { return };
    let Some(served) = Served::new(manifest, bytes) else { return };
    for revision in Revision::ALL {
        served.ask(revision, served::LISTS, hear);
    }
}

/// Reads `bytes` as the answer to each kind of call.
///
/// # Panics
/// A promise doesn't hold.
pub fn fuzz_answer(bytes: &[u8], hear: &mut Hear<'_>) {
    // Without bytes everything is as it should be.
    let manifest = manifest(&mut Wild::new(&[])).expect("a plain plugin can be used");
    let served = Served::new(manifest, bytes).expect("a plain plugin conflicts with nobody");
    for revision in Revision::ALL {
        served.ask(revision, served::CALLS, hear);
    }
}

fn manifest(wild: &mut Wild<'_>) -> Result<Manifest, convert::Bad> {
    let limits = Limits::default();
    let manifest = Manifest {
        info: convert::info(wild.info(), &limits)?,
        tools: convert::tools(wild.list(Wild::tool), &limits)?,
        resources: convert::resources(wild.list(Wild::resource), &limits)?,
        templates: convert::templates(wild.list(Wild::template), &limits)?,
        prompts: convert::prompts(wild.list(Wild::prompt), &limits)?,
        completes: true,
    };
    Ok(manifest)
}

/// Judges what came back.
fn judge(received: &[u8]) {
    let text = std::str::from_utf8(received).expect("a message is text");
    assert!(!text.contains(['\n', '\r']), "a message has one line: {text:?}");
    let message = parse_strict(text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    clean(&message, &mut Vec::new());
}

/// No text but data holds characters that nobody sees; breaks of lines and tabs are seen.
fn clean(value: &Value, path: &mut Vec<String>) {
    let hides =
        |text: &str| text.contains(|c| is_hidden(c) && !matches!(c, '\n' | '\t' | '\u{2028}' | '\u{2029}'));
    match value {
        Value::String(text) => {
            assert!(!hides(text) || is_data(path), "/{}: {text:?}", path.join("/"));
        }
        Value::Array(items) => {
            for item in items {
                clean(item, path);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                path.push(key.clone());
                assert!(!hides(key) || is_data(path), "key of /{}: {key:?}", path.join("/"));
                clean(member, path);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether what stands there is data that a call returned, for a program or a model to work on.
fn is_data(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["result", "structuredContent", ..] => true,
        ["result", "content" | "contents", rest @ ..] | ["result", "messages", "content", rest @ ..] => {
            matches!(rest, ["text" | "data" | "blob"] | ["resource", "text" | "blob"] | ["other", ..])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
