//! The knowledge graph, and what the tools do to it. It knows nothing of where it is kept.
//!
//! Order and doubles are as the official server has them: things stand in the order in which they came, and a call is
//! compared with what was there before it, so what stands twice in one call is taken twice.

use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is known by a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entity {
    /// The name of the entity.
    pub(crate) name: String,
    /// What kind of thing it is.
    pub(crate) entity_type: String,
    /// What is known of it, a sentence each.
    pub(crate) observations: Vec<String>,
}

/// A relation between two entities, in active voice.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Relation {
    /// The name of the entity that the relation starts from.
    pub(crate) from: String,
    /// The name of the entity that it leads to.
    pub(crate) to: String,
    /// What the one does or is to the other.
    pub(crate) relation_type: String,
}

/// Observations to add to an entity.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Addition {
    /// The name of the entity, which must be there.
    pub(crate) entity_name: String,
    /// What is known of it now, a sentence each.
    pub(crate) contents: Vec<String>,
}

/// Observations that were added to an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Added {
    /// The name of the entity.
    pub(crate) entity_name: String,
    /// The observations that it didn't have.
    pub(crate) added_observations: Vec<String>,
}

/// Observations to take from an entity.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Deletion {
    /// The name of the entity.
    pub(crate) entity_name: String,
    /// The observations, word by word.
    pub(crate) observations: Vec<String>,
}

/// All entities and relations, or some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Graph {
    /// The entities, in the order in which they came.
    pub(crate) entities: Vec<Entity>,
    /// The relations, in the order in which they came.
    pub(crate) relations: Vec<Relation>,
}

/// There is no entity of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoEntity(String);

impl fmt::Display for NoEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entity with name {} not found", self.0) // the official server's words
    }
}

impl std::error::Error for NoEntity {}

impl Graph {
    /// Adds those entities whose names are new; gives them back.
    pub(crate) fn create_entities(&mut self, entities: &[Entity]) -> Vec<Entity> {
        let known: HashSet<&str> = self.entities.iter().map(|entity| entity.name.as_str()).collect();
        let new: Vec<Entity> =
            entities.iter().filter(|entity| !known.contains(entity.name.as_str())).cloned().collect();
        self.entities.extend_from_slice(&new);
        new
    }

    /// Adds those relations that are new; gives them back. Their ends need not be there.
    pub(crate) fn create_relations(&mut self, relations: &[Relation]) -> Vec<Relation> {
        let known: HashSet<&Relation> = self.relations.iter().collect();
        let new: Vec<Relation> =
            relations.iter().filter(|relation| !known.contains(relation)).cloned().collect();
        self.relations.extend_from_slice(&new);
        new
    }

    /// Adds those observations that an entity doesn't have yet; gives them back.
    ///
    /// # Errors
    /// An entity isn't there. What was added before it stays added, so the graph is to be thrown away.
    pub(crate) fn add_observations(&mut self, additions: &[Addition]) -> Result<Vec<Added>, NoEntity> {
        let added = additions.iter().map(|Addition { entity_name, contents }| {
            let entity = self.entity(entity_name).ok_or_else(|| NoEntity(entity_name.clone()))?;
            let new: Vec<String> =
                contents.iter().filter(|content| !entity.observations.contains(content)).cloned().collect();
            entity.observations.extend_from_slice(&new);
            Ok(Added { entity_name: entity_name.clone(), added_observations: new })
        });
        added.collect()
    }

    /// Removes entities, and the relations that start from them or lead to them.
    pub(crate) fn delete_entities(&mut self, names: &[String]) {
        let names: HashSet<&String> = names.iter().collect();
        self.entities.retain(|entity| !names.contains(&entity.name));
        self.relations.retain(|relation| !names.contains(&relation.from) && !names.contains(&relation.to));
    }

    /// Takes observations from entities. What isn't there is no error.
    pub(crate) fn delete_observations(&mut self, deletions: &[Deletion]) {
        for Deletion { entity_name, observations } in deletions {
            if let Some(entity) = self.entity(entity_name) {
                entity.observations.retain(|observation| !observations.contains(observation));
            }
        }
    }

    /// Removes relations. What isn't there is no error.
    pub(crate) fn delete_relations(&mut self, relations: &[Relation]) {
        let gone: HashSet<&Relation> = relations.iter().collect();
        self.relations.retain(|relation| !gone.contains(relation));
    }

    /// The entities whose name, type or observations hold `query`, in letters of either case; and their relations.
    pub(crate) fn search(self, query: &str) -> Self {
        let query = query.to_lowercase();
        let holds = |text: &String| text.to_lowercase().contains(&query);
        self.only(|entity| {
            holds(&entity.name) || holds(&entity.entity_type) || entity.observations.iter().any(holds)
        })
    }

    /// The entities of these names, and their relations.
    pub(crate) fn open(self, names: &[String]) -> Self {
        self.only(|entity| names.contains(&entity.name))
    }

    /// Some entities, and the relations that start from them or lead to them, wherever the other end is.
    fn only(mut self, wanted: impl Fn(&Entity) -> bool) -> Self {
        self.entities.retain(wanted);
        let names: HashSet<&str> = self.entities.iter().map(|entity| entity.name.as_str()).collect();
        self.relations.retain(|relation| {
            names.contains(relation.from.as_str()) || names.contains(relation.to.as_str())
        });
        self
    }

    /// The first entity of a name.
    fn entity(&mut self, name: &str) -> Option<&mut Entity> {
        self.entities.iter_mut().find(|entity| entity.name == name)
    }
}

#[cfg(test)]
mod tests;
