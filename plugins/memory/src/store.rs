//! Storage of the graph: under one key, so that changes to many entities are atomic, and concurrent calls, even from
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
const FORMAT_VERSION: u32 = 1;

/// The gateway's size limit of a value.
const MAX_VALUE_BYTES: usize = 1 << 20;

/// The number of attempts if concurrent calls keep changing the graph and [`kv::try_update`] gives up.
const MAX_CHANGE_ATTEMPTS: usize = 16;

/// The stored graph, without the names of its members, which would take as much space as most observations.
#[derive(Serialize, Deserialize)]
struct StoredGraph {
    form: u32,
    /// Name, type, observations.
    entities: Vec<(String, String, Vec<String>)>,
    /// From, to, type.
    relations: Vec<(String, String, String)>,
}

/// The reason why a change wasn't made.
enum ChangeError {
    StoredGraph(KvError),
    Refused(ToolError),
}

impl From<KvError> for ChangeError {
    fn from(error: KvError) -> Self {
        Self::StoredGraph(error)
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
    for _ in 0..MAX_CHANGE_ATTEMPTS {
        match try_change(&mut change) {
            Err(ChangeError::StoredGraph(KvError::Contended { .. })) => {}
            Err(ChangeError::StoredGraph(KvError::Full(reason))) => return Err(full(&reason)),
            Err(ChangeError::StoredGraph(error)) => return Err(error.into()),
            Err(ChangeError::Refused(error)) => return Err(error),
            Ok(result) => return Ok(result),
        }
    }
    Err(ToolError::failed("too many concurrent changes to the knowledge graph; try again"))
}

/// Changes the graph, unless there is contention.
fn try_change<R>(change: &mut impl FnMut(&mut Graph) -> Result<R, ToolError>) -> Result<R, ChangeError> {
    let mut result = None;
    let written = kv::try_update(KEY, |old: Option<Box<RawValue>>| {
        let before = parsed(old).map_err(ChangeError::Refused)?;
        let mut graph = before.clone();
        result = Some(change(&mut graph).map_err(ChangeError::Refused)?);
        if graph == before {
            return Ok(None);
        }
        let text =
            to_raw_value(&StoredGraph::from(graph)).map_err(|error| ChangeError::Refused(error.into()))?;
        if text.get().len() > MAX_VALUE_BYTES {
            return Err(ChangeError::Refused(full("a value can have at most 1 MiB")));
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
    match serde_json::from_str::<StoredGraph>(text.get()) {
        Ok(kept) if kept.form == FORMAT_VERSION => Ok(kept.into()),
        Ok(StoredGraph { form, .. }) => Err(ToolError::failed(format_args!(
            "the knowledge graph has format {form}, written by a newer version of this plugin; this version supports format {FORMAT_VERSION}"
        ))),
        Err(error) => Err(ToolError::failed(format_args!(
            "the value under `{KEY}` isn't a knowledge graph: {error}; check whether another plugin uses the same storage"
        ))),
    }
}

impl From<Graph> for StoredGraph {
    fn from(Graph { entities, relations }: Graph) -> Self {
        let entity = |Entity { name, entity_type, observations }| (name, entity_type, observations);
        let relation = |Relation { from, to, relation_type }| (from, to, relation_type);
        Self {
            form: FORMAT_VERSION,
            entities: entities.into_iter().map(entity).collect(),
            relations: relations.into_iter().map(relation).collect(),
        }
    }
}

impl From<StoredGraph> for Graph {
    fn from(StoredGraph { form: _, entities, relations }: StoredGraph) -> Self {
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
