//! Operations on a graph without storage.

use super::{Addition, Deletion, Entity, Graph, Relation};

fn entity(name: &str, observations: &[&str]) -> Entity {
    let observations = observations.iter().map(|text| (*text).to_owned()).collect();
    Entity { name: name.to_owned(), entity_type: "thing".to_owned(), observations }
}

fn relation(from: &str, to: &str) -> Relation {
    Relation { from: from.to_owned(), to: to.to_owned(), relation_type: "knows".to_owned() }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// `a` knows `b` knows `c`; `c` doesn't exist.
fn graph() -> Graph {
    Graph {
        entities: vec![entity("a", &["one"]), entity("b", &["Two"])],
        relations: vec![relation("a", "b"), relation("b", "c")],
    }
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.entities.iter().map(|entity| entity.name.as_str()).collect()
}

#[test]
fn creates_only_new_items_in_order() {
    let mut graph = graph();
    let made = graph.create_entities(&[entity("z", &[]), entity("a", &["other"]), entity("c", &[])]);
    assert_eq!(made, [entity("z", &[]), entity("c", &[])]);
    assert_eq!(names(&graph), ["a", "b", "z", "c"]);
    assert_eq!(graph.entities[0], entity("a", &["one"]), "existing entities don't change");
    assert_eq!(graph.create_relations(&[relation("a", "b"), relation("b", "a")]), [relation("b", "a")]);
    assert_eq!(graph.relations.len(), 3);
}

#[test]
fn keeps_duplicates_within_a_call() {
    let mut graph = graph();
    assert_eq!(graph.create_entities(&[entity("z", &[]), entity("z", &["x"])]).len(), 2);
    assert_eq!(names(&graph), ["a", "b", "z", "z"]);
    assert_eq!(graph.create_relations(&[relation("c", "a"), relation("c", "a")]).len(), 2);
}

#[test]
fn adds_observations_to_entities() {
    let mut graph = graph();
    let add =
        |name: &str, contents: &[&str]| Addition { entity_name: name.to_owned(), contents: owned(contents) };
    let added = graph.add_observations(&[add("a", &["one", "two"]), add("a", &["two", "three"])]).unwrap();
    assert_eq!(added[0].added_observations, ["two"]);
    assert_eq!(added[1].added_observations, ["three"], "the second sees what the first added");
    assert_eq!(graph.entities[0].observations, ["one", "two", "three"]);
    let error = graph.add_observations(&[add("nobody", &["x"])]).unwrap_err();
    assert_eq!(error.to_string(), "Entity with name nobody not found");
}

#[test]
fn deletes_relations_with_their_entity() {
    let mut graph = graph();
    graph.delete_entities(&owned(&["b", "nobody"]));
    assert_eq!((names(&graph), graph.relations.len()), (vec!["a"], 0));
}

#[test]
fn deletes_exact_observations_and_relations() {
    let mut graph = graph();
    let delete =
        |name: &str, texts: &[&str]| Deletion { entity_name: name.to_owned(), observations: owned(texts) };
    graph.delete_observations(&[delete("a", &["one", "x"]), delete("b", &["two"]), delete("nobody", &["x"])]);
    assert!(graph.entities[0].observations.is_empty());
    assert_eq!(graph.entities[1].observations, ["Two"], "`two` is a different observation");
    graph.delete_relations(&[relation("a", "b"), relation("x", "y")]);
    assert_eq!(graph.relations, [relation("b", "c")]);
}

#[test]
fn searches_all_fields_ignoring_case() {
    for (query, found) in
        [("A", vec!["a"]), ("THING", vec!["a", "b"]), ("tw", vec!["b"]), ("", vec!["a", "b"])]
    {
        assert_eq!(names(&graph().search(query)), found, "{query}");
    }
    assert_eq!(graph().search("two").relations, graph().relations, "regardless of the other end");
    assert_eq!(graph().search("nothing"), Graph::default());
}

#[test]
fn opens_nodes_by_exact_name() {
    let opened = graph().open(&owned(&["b", "c", "A"]));
    assert_eq!(names(&opened), ["b"]);
    assert_eq!(opened.relations, graph().relations);
}
