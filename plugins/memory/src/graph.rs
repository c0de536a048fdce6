//! The knowledge graph and its operations, independent of storage.
//!
//! Order and duplicates are as in the official server: items keep the order in which they were added, and a call is
//! compared with the graph before it, so duplicates within one call are added twice.

use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entity {
    /// The name of the entity.
    pub(crate) name: String,
    /// The type of the entity.
    pub(crate) entity_type: String,
    /// Facts about the entity, one sentence each.
    pub(crate) observations: Vec<String>,
}

/// A relation between two entities, in active voice.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Relation {
    /// The name of the entity where the relation starts.
    pub(crate) from: String,
    /// The name of the entity where the relation ends.
    pub(crate) to: String,
    /// The type of the relation, such as "works at".
    pub(crate) relation_type: String,
}

/// Observations to add to an entity.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Addition {
    /// The name of the entity, which must exist.
    pub(crate) entity_name: String,
    /// New facts about the entity, one sentence each.
    pub(crate) contents: Vec<String>,
}

/// Observations that were added to an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Added {
    /// The name of the entity.
    pub(crate) entity_name: String,
    /// The observations that are new.
    pub(crate) added_observations: Vec<String>,
}

/// Observations to delete from an entity.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Deletion {
    /// The name of the entity.
    pub(crate) entity_name: String,
    /// The observations, with their exact text.
    pub(crate) observations: Vec<String>,
}

/// A graph or a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Graph {
    /// The entities, in the order in which they were added.
    pub(crate) entities: Vec<Entity>,
    /// The relations, in the order in which they were added.
    pub(crate) relations: Vec<Relation>,
}

/// The error for an unknown entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownEntity(String);

impl fmt::Display for UnknownEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entity with name {} not found", self.0) // the official server's message
    }
}

impl std::error::Error for UnknownEntity {}

impl Graph {
    /// Adds entities with new names. Returns them.
    pub(crate) fn create_entities(&mut self, entities: &[Entity]) -> Vec<Entity> {
        let known: HashSet<&str> = self.entities.iter().map(|entity| entity.name.as_str()).collect();
        let new: Vec<Entity> =
            entities.iter().filter(|entity| !known.contains(entity.name.as_str())).cloned().collect();
        self.entities.extend_from_slice(&new);
        new
    }

    /// Adds new relations. Returns them. Their entities don't have to exist.
    pub(crate) fn create_relations(&mut self, relations: &[Relation]) -> Vec<Relation> {
        let known: HashSet<&Relation> = self.relations.iter().collect();
        let new: Vec<Relation> =
            relations.iter().filter(|relation| !known.contains(relation)).cloned().collect();
        self.relations.extend_from_slice(&new);
        new
    }

    /// Adds new observations to entities. Returns them.
    ///
    /// # Errors
    /// An entity doesn't exist. Earlier additions are kept, so discard the graph.
    pub(crate) fn add_observations(&mut self, additions: &[Addition]) -> Result<Vec<Added>, UnknownEntity> {
        let added = additions.iter().map(|Addition { entity_name, contents }| {
            let entity = self.entity(entity_name).ok_or_else(|| UnknownEntity(entity_name.clone()))?;
            let new: Vec<String> =
                contents.iter().filter(|content| !entity.observations.contains(content)).cloned().collect();
            entity.observations.extend_from_slice(&new);
            Ok(Added { entity_name: entity_name.clone(), added_observations: new })
        });
        added.collect()
    }

    /// Removes entities and their relations.
    pub(crate) fn delete_entities(&mut self, names: &[String]) {
        let names: HashSet<&String> = names.iter().collect();
        self.entities.retain(|entity| !names.contains(&entity.name));
        self.relations.retain(|relation| !names.contains(&relation.from) && !names.contains(&relation.to));
    }

    /// Removes observations. Ignores unknown ones.
    pub(crate) fn delete_observations(&mut self, deletions: &[Deletion]) {
        for Deletion { entity_name, observations } in deletions {
            if let Some(entity) = self.entity(entity_name) {
                entity.observations.retain(|observation| !observations.contains(observation));
            }
        }
    }

    /// Removes relations. Ignores unknown ones.
    pub(crate) fn delete_relations(&mut self, relations: &[Relation]) {
        let gone: HashSet<&Relation> = relations.iter().collect();
        self.relations.retain(|relation| !gone.contains(relation));
    }

    /// The entities whose name, type or observations contain `query`, ignoring case, and their relations.
    pub(crate) fn search(self, query: &str) -> Self {
        let query = query.to_lowercase();
        let holds = |text: &String| text.to_lowercase().contains(&query);
        self.only(|entity| {
            holds(&entity.name) || holds(&entity.entity_type) || entity.observations.iter().any(holds)
        })
    }

    /// The entities with these names, and their relations.
    pub(crate) fn open(self, names: &[String]) -> Self {
        self.only(|entity| names.contains(&entity.name))
    }

    /// Filters entities. Keeps the relations that start or end at one of them.
    fn only(mut self, wanted: impl Fn(&Entity) -> bool) -> Self {
        self.entities.retain(wanted);
        let names: HashSet<&str> = self.entities.iter().map(|entity| entity.name.as_str()).collect();
        self.relations.retain(|relation| {
            names.contains(relation.from.as_str()) || names.contains(relation.to.as_str())
        });
        self
    }

    /// The first entity with this name.
    fn entity(&mut self, name: &str) -> Option<&mut Entity> {
        self.entities.iter_mut().find(|entity| entity.name == name)
    }
}

#[cfg(test)]
mod tests;
