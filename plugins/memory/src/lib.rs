//! The plugin `memory`: a knowledge graph that persists between conversations.
//!
//! The nine tools and the resource have the same arguments and results as those of the npm package
//! `@modelcontextprotocol/server-memory`, so the plugin can replace it. `graph` implements the operations, `store`
//! the storage.
#![forbid(unsafe_code)]

use moongate_sdk::IntoToolResult;
use moongate_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod graph;
mod store;

use graph::{Added, Addition, Deletion, Entity, Graph, Relation};

/// The plugin.
#[derive(Debug, Default)]
pub struct Memory;

#[derive(Deserialize, JsonSchema)]
struct Entities {
    /// The entities. Existing entities don't change.
    entities: Vec<Entity>,
}

#[derive(Deserialize, JsonSchema)]
struct Relations {
    /// The relations.
    relations: Vec<Relation>,
}

#[derive(Deserialize, JsonSchema)]
struct Additions {
    /// The observations to add, by entity.
    observations: Vec<Addition>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EntityNames {
    /// The names of the entities.
    entity_names: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Deletions {
    /// The observations to delete, by entity.
    deletions: Vec<Deletion>,
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    /// The text to search for in names, types and observations.
    query: String,
}

#[derive(Deserialize, JsonSchema)]
struct Names {
    /// The names of the entities.
    names: Vec<String>,
}

/// The schema of `read_graph`, which has no arguments. Some clients send an argument anyway, so it allows them.
const NO_ARGS_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

#[derive(Deserialize, JsonSchema)]
struct NoArgs {}

#[derive(Serialize, JsonSchema)]
struct NewEntities {
    entities: Vec<Entity>,
}

#[derive(Serialize, JsonSchema)]
struct NewRelations {
    relations: Vec<Relation>,
}

#[derive(Serialize, JsonSchema)]
struct NewObservations {
    results: Vec<Added>,
}

#[derive(Serialize, JsonSchema)]
struct Deleted {
    success: bool,
    message: &'static str,
}

/// Structured content with a different text.
struct StructuredText<T> {
    text: String,
    structured: T,
}

/// Remember a knowledge graph across conversations: entities with observations, and relations between them.
#[plugin(name = "memory", title = "Memory")]
impl Memory {
    /// Create entities in the knowledge graph, each with a type and observations.
    #[tool(
        title = "Create Entities",
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn create_entities(&self, args: &Entities) -> Result<StructuredText<NewEntities>, ToolError> {
        let entities = store::change(|graph| Ok(graph.create_entities(&args.entities)))?;
        added(&entities.clone(), NewEntities { entities })
    }

    /// Create relations between entities in the knowledge graph. Write them in active voice.
    #[tool(
        title = "Create Relations",
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn create_relations(&self, args: &Relations) -> Result<StructuredText<NewRelations>, ToolError> {
        let relations = store::change(|graph| Ok(graph.create_relations(&args.relations)))?;
        added(&relations.clone(), NewRelations { relations })
    }

    /// Add observations to existing entities in the knowledge graph.
    #[tool(
        title = "Add Observations",
        read_only = false,
        destructive = false,
        idempotent = false,
        open_world = false
    )]
    fn add_observations(&self, args: &Additions) -> Result<StructuredText<NewObservations>, ToolError> {
        let results = store::change(|graph| Ok(graph.add_observations(&args.observations)?))?;
        added(&results.clone(), NewObservations { results })
    }

    /// Delete entities and all their relations from the knowledge graph.
    #[tool(title = "Delete Entities", read_only = false, destructive, idempotent, open_world = false)]
    fn delete_entities(&self, args: &EntityNames) -> Result<StructuredText<Deleted>, ToolError> {
        store::change(|graph| {
            graph.delete_entities(&args.entity_names);
            Ok(())
        })?;
        Ok(deleted("Entities deleted successfully"))
    }

    /// Delete observations from entities in the knowledge graph.
    #[tool(title = "Delete Observations", read_only = false, destructive, idempotent, open_world = false)]
    fn delete_observations(&self, args: &Deletions) -> Result<StructuredText<Deleted>, ToolError> {
        store::change(|graph| {
            graph.delete_observations(&args.deletions);
            Ok(())
        })?;
        Ok(deleted("Observations deleted successfully"))
    }

    /// Delete relations from the knowledge graph.
    #[tool(title = "Delete Relations", read_only = false, destructive, idempotent, open_world = false)]
    fn delete_relations(&self, args: &Relations) -> Result<StructuredText<Deleted>, ToolError> {
        store::change(|graph| {
            graph.delete_relations(&args.relations);
            Ok(())
        })?;
        Ok(deleted("Relations deleted successfully"))
    }

    /// Read the whole knowledge graph.
    #[tool(
        title = "Read Graph",
        read_only,
        destructive = false,
        idempotent,
        open_world = false,
        input_schema = NO_ARGS_SCHEMA
    )]
    fn read_graph(&self, args: &NoArgs) -> Result<Pretty<Graph>, ToolError> {
        let NoArgs {} = args;
        store::read().map(Pretty)
    }

    /// Search the knowledge graph for entities whose name, type or observations contain a text. Also returns their
    /// relations.
    #[tool(title = "Search Nodes", read_only, destructive = false, idempotent, open_world = false)]
    fn search_nodes(&self, args: &Query) -> Result<Pretty<Graph>, ToolError> {
        Ok(Pretty(store::read()?.search(&args.query)))
    }

    /// Get entities of the knowledge graph by name, with their relations.
    #[tool(title = "Open Nodes", read_only, destructive = false, idempotent, open_world = false)]
    fn open_nodes(&self, args: &Names) -> Result<Pretty<Graph>, ToolError> {
        Ok(Pretty(store::read()?.open(&args.names)))
    }

    /// The whole knowledge graph: all entities and relations.
    #[resource(
        uri = "memory://knowledge-graph",
        name = "knowledge-graph",
        title = "Knowledge Graph",
        mime_type = "application/json"
    )]
    fn knowledge_graph(&self) -> Result<Pretty<Graph>, ToolError> {
        store::read().map(Pretty)
    }
}

/// The result of an addition. Its text is the plain list.
fn added<T>(list: &impl Serialize, structured: T) -> Result<StructuredText<T>, ToolError> {
    Ok(StructuredText { text: serde_json::to_string_pretty(list)?, structured })
}

fn deleted(message: &'static str) -> StructuredText<Deleted> {
    StructuredText { text: message.to_owned(), structured: Deleted { success: true, message } }
}

impl<T: Serialize + JsonSchema> IntoToolResult for StructuredText<T> {
    fn output_schema() -> Option<String> {
        Pretty::<T>::output_schema()
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        ToolResult::text(self.text).with_structured(&self.structured)
    }
}

#[cfg(test)]
mod tests;
