//! `list --url`: what a gateway that runs offers to its clients.

use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::Kind;
use crate::cli::call::{Remote, SILENCE};
use crate::cli::failure::Failure;

/// What there is of this kind, or of every kind that clients hear of.
pub(super) async fn lists(url: &Url, kind: Option<Kind>) -> Result<Vec<(&'static str, Vec<Value>)>, Failure> {
    let remote = Remote::new(url.clone(), json!({}), Duration::from_secs(SILENCE))?;
    remote.warn();
    let mut lists = Vec::new();
    for kind in kind.map_or(Kind::ALL.to_vec(), |kind| vec![kind]) {
        let Some((method, key)) = asked(kind) else { continue };
        let items = remote.list(method, key, None).await?;
        lists.push((kind.name(), items.into_iter().map(item).collect()));
    }
    Ok(lists)
}

/// The method that lists it, and under which key. Clients hear nothing of plugins.
fn asked(kind: Kind) -> Option<(&'static str, &'static str)> {
    match kind {
        Kind::Tools => Some(("tools/list", "tools")),
        Kind::Resources => Some(("resources/list", "resources")),
        Kind::Templates => Some(("resources/templates/list", "resourceTemplates")),
        Kind::Prompts => Some(("prompts/list", "prompts")),
        Kind::Plugins => None,
    }
}

/// An item with the names that `list` has for its schemas.
fn item(mut item: Value) -> Value {
    if let Some(members) = item.as_object_mut() {
        for (theirs, ours) in [("inputSchema", "input"), ("outputSchema", "output")] {
            if let Some(schema) = members.remove(theirs) {
                members.insert(ours.to_owned(), schema);
            }
        }
    }
    item
}
