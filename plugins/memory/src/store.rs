//! Where the graph is kept: whole, under one key, so that a change of many entities is there at once or not at all, and
//! calls that run at the same time, in this gateway or in another on the same state, change it one after the other.

use moongate_sdk::kv::{self, KvError};
use moongate_sdk::{ToolError, changes};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::graph::{Entity, Graph, Relation};

/// The key.
pub(crate) const KEY: &str = "graph";

/// The graph as a resource.
pub(crate) const URI: &str = "memory://knowledge-graph";

/// The form that is written.
const FORM: u32 = 1;

/// The most that a gateway keeps under one key.
const MOST: usize = 1 << 20;

/// How often a change is begun anew where so many calls change the graph that [`kv::try_update`] gives up.
const ROUNDS: usize = 16;

/// The graph as it is kept: without the names of its members, which would take as much room as most observations.
#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    /// Name, type, observations.
    entities: Vec<(String, String, Vec<String>)>,
    /// From, to, type.
    relations: Vec<(String, String, String)>,
}

/// Why a change wasn't made.
enum Unchanged {
    Kept(KvError),
    Refused(ToolError),
}

impl From<KvError> for Unchanged {
    fn from(error: KvError) -> Self {
        Self::Kept(error)
    }
}

/// The graph as it is now; an empty one where none was kept yet.
///
/// # Errors
/// The plugin may keep nothing, or what it kept can't be read.
pub(crate) fn read() -> Result<Graph, ToolError> {
    parsed(kv::get(KEY)?)
}

/// Changes the graph and tells those who subscribed to it. `change` is called again where another call was faster; if it
/// fails, or changes nothing, nothing is written.
///
/// # Errors
/// `change` failed, the graph has no room for it, or the plugin may keep nothing.
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
    Err(ToolError::failed("the knowledge graph is changed by too many calls at once; try again"))
}

/// Changes the graph, unless it is contended.
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
            return Err(Unchanged::Refused(full("a gateway keeps at most 1 MiB under one key")));
        }
        Ok(Some(text))
    })?;
    if written.is_some() {
        changes::resource(URI);
    }
    Ok(result.expect("it is set by each call of the change that doesn't fail"))
}

/// Nothing more fits in.
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
            "the knowledge graph was kept in form {form} by a newer version of this plugin; this one knows form {FORM}"
        ))),
        Err(error) => Err(ToolError::failed(format_args!(
            "what is kept under `{KEY}` is no knowledge graph: {error}; does another plugin write to the same store?"
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
