//! Storage of the graph: under one key, so that changes of many entities are atomic, and concurrent calls, even from
//! another gateway with the same state, change it one after the other.

use moongate_sdk::kv::{self, KvError};
use moongate_sdk::{ToolError, changes};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::graph::{Entity, Graph, Relation};

/// The key.
pub(crate) const KEY: &str = "graph";

/// The graph as a resource.
pub(crate) const URI: &str = "memory://knowledge-graph";

/// The version of the format.
const FORM: u32 = 1;

/// The gateway's size limit of a value.
const MOST: usize = 1 << 20;

/// The number of attempts if concurrent calls keep changing the graph and [`kv::try_update`] gives up.
const ROUNDS: usize = 16;

/// The stored graph, without the names of its members, which would take as much space as most observations.
#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    /// Name, type, observations.
    entities: Vec<(String, String, Vec<String>)>,
    /// From, to, type.
    relations: Vec<(String, String, String)>,
}

/// The reason why a change wasn't made.
enum Unchanged {
    Kept(KvError),
    Refused(ToolError),
}

impl From<KvError> for Unchanged {
    fn from(error: KvError) -> Self {
        Self::Kept(error)
    }
}

/// Returns the current graph. Empty if none is stored yet.
///
/// # Errors
/// State isn't granted, or the stored value can't be parsed.
pub(crate) fn read() -> Result<Graph, ToolError> {
    parsed(kv::get(KEY)?)
}

/// Changes the graph and notifies subscribers. If another call changed it first, `change` is called again. If it
/// fails or changes nothing, nothing is written.
///
/// # Errors
/// `change` failed, the storage is full, or state isn't granted.
pub(crate) fn change<R>(mut change: impl FnMut(&mut Graph) -> Result<R, ToolError>) -> Result<R, ToolError> {
    for _ in 0..ROUNDS {
        match try_change(&mut change) {
            Err(Unchanged::Kept(KvError::Contended { .. })) => {}
            Err(Unchanged::Kept(KvError::Full(reason))) => return Err(full(&reason)),
            Err(Unchanged::Kept(error)) => return Err(error.into()),
            Err(Unchanged::Refused(error)) => return Err(error),
            Ok(result) => return Ok(result),
        }
    }
    Err(ToolError::failed("too many concurrent changes of the knowledge graph; try again"))
}

/// Changes the graph, unless there is contention.
fn try_change<R>(change: &mut impl FnMut(&mut Graph) -> Result<R, ToolError>) -> Result<R, Unchanged> {
    let mut result = None;
    let written = kv::try_update(KEY, |old: Option<Box<RawValue>>| {
        let before = parsed(old).map_err(Unchanged::Refused)?;
        let mut graph = before.clone();
        result = Some(change(&mut graph).map_err(Unchanged::Refused)?);
        if graph == before {
            return Ok(None);
        }
        let text = to_raw_value(&Kept::from(graph)).map_err(|error| Unchanged::Refused(error.into()))?;
        if text.get().len() > MOST {
            return Err(Unchanged::Refused(full("a value can have at most 1 MiB")));
        }
        Ok(Some(text))
    })?;
    if written.is_some() {
        changes::resource(URI);
    }
    Ok(result.expect("set by each successful change"))
}

/// The error for a full storage.
fn full(reason: &str) -> ToolError {
    ToolError::failed(format_args!(
        "the knowledge graph is full, so nothing was changed: {reason}; delete entities, observations or relations that \
         are no longer needed"
    ))
}

fn parsed(text: Option<Box<RawValue>>) -> Result<Graph, ToolError> {
    let Some(text) = text else { return Ok(Graph::default()) };
    match serde_json::from_str::<Kept>(text.get()) {
        Ok(kept) if kept.form == FORM => Ok(kept.into()),
        Ok(Kept { form, .. }) => Err(ToolError::failed(format_args!(
            "the knowledge graph has format {form}, written by a newer version of this plugin; this version supports format {FORM}"
        ))),
        Err(error) => Err(ToolError::failed(format_args!(
            "the value under `{KEY}` isn't a knowledge graph: {error}; check whether another plugin uses the same storage"
        ))),
    }
}

impl From<Graph> for Kept {
    fn from(Graph { entities, relations }: Graph) -> Self {
        let entity = |Entity { name, entity_type, observations }| (name, entity_type, observations);
        let relation = |Relation { from, to, relation_type }| (from, to, relation_type);
        Self {
            form: FORM,
            entities: entities.into_iter().map(entity).collect(),
            relations: relations.into_iter().map(relation).collect(),
        }
    }
}

impl From<Kept> for Graph {
    fn from(Kept { form: _, entities, relations }: Kept) -> Self {
        let entity = |(name, entity_type, observations)| Entity { name, entity_type, observations };
        let relation = |(from, to, relation_type)| Relation { from, to, relation_type };
        Self {
            entities: entities.into_iter().map(entity).collect(),
            relations: relations.into_iter().map(relation).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
