//! The filter of a notification stream: the member `notifications` of `subscriptions/listen` and of its acknowledgement
//! (2026-07-28, basic/patterns/subscriptions).

use std::collections::HashSet;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::catalog::ListKind;
use crate::json;

use super::super::errors::ProtocolError;
use super::super::params::Params;

const RESOURCES_MEMBER: &str = "resourceSubscriptions";

/// The maximum number of different URIs in a filter, of which only a part can be subscribed to.
const MAX_LISTED_URIS: usize = 4_096;

/// The changes that a client wants to be notified of.
#[derive(Debug)]
pub(super) struct ChangeFilter {
    pub(super) kinds: Vec<ListKind>,
    /// Each once, in the client's order.
    pub(super) uris: Vec<String>,
}

impl ChangeFilter {
    /// Reads a filter. Members that this revision doesn't have are left out of it, and so of the acknowledgement.
    ///
    /// # Errors
    /// -32602: the filter is missing, or a member has the wrong type.
    pub(super) fn read(params: &Params) -> Result<Self, ProtocolError> {
        let wanted = match params.get("notifications") {
            Some(wanted) if json::type_of_text(wanted) == "object" => wanted,
            Some(_) => return Err(wrong("", "`notifications` must be an object")),
            None => {
                return Err(wrong(
                    "",
                    "`notifications` is missing: it selects the changes to be notified of",
                ));
            }
        };
        let mut kinds = Vec::new();
        for kind in ListKind::ALL {
            match json::member(wanted, member(kind)) {
                Some("true") => kinds.push(kind),
                None | Some("null" | "false") => {}
                Some(_) => return Err(wrong(member(kind), "it must be true or false")),
            }
        }
        Ok(Self { kinds, uris: uris(wanted)? })
    }
}

/// The listed URIs, each once.
fn uris(wanted: &str) -> Result<Vec<String>, ProtocolError> {
    let not_uris = || wrong(RESOURCES_MEMBER, "it must be a list of URIs");
    let Some(listed) = json::member(wanted, RESOURCES_MEMBER).filter(|it| *it != "null") else {
        return Ok(Vec::new());
    };
    if json::type_of_text(listed) != "array" {
        return Err(not_uris());
    }
    let mut seen = HashSet::new();
    let mut uris = Vec::new();
    json::visit_elements(listed, |uri| {
        let uri = json::string_value(uri).ok_or_else(not_uris)?;
        if seen.insert(uri.clone()) {
            uris.push(uri.into_owned());
        }
        if uris.len() > MAX_LISTED_URIS {
            return Err(wrong(RESOURCES_MEMBER, &format!("at most {MAX_LISTED_URIS} URIs are allowed")));
        }
        Ok(())
    })?;
    Ok(uris)
}

/// The member for changes to a kind's lists.
fn member(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "toolsListChanged",
        ListKind::Prompts => "promptsListChanged",
        ListKind::Resources => "resourcesListChanged",
    }
}

fn wrong(member: &str, what: &str) -> ProtocolError {
    let (at, message) = match member {
        "" => ("/notifications".to_owned(), what.to_owned()),
        member => (format!("/notifications/{member}"), format!("invalid `{member}`: {what}")),
    };
    ProtocolError::params(&at, &message)
}

impl Serialize for ChangeFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { kinds, uris } = self;
        let mut map = serializer.serialize_map(None)?;
        for kind in kinds {
            map.serialize_entry(member(*kind), &true)?;
        }
        if !uris.is_empty() {
            map.serialize_entry(RESOURCES_MEMBER, uris)?;
        }
        map.end()
    }
}
