//! Tests that every difference between versions of a plugin is found.

use serde_json::json;

use super::super::fake::{FakeMember as _, FakePlugin, catalog};
use super::super::{CatalogPlugin, ListKind};
use super::*;
use crate::json::Json;
use crate::manifest::{
    Annotations, Icon, JsonMembers, Manifest, Prompt, PromptArgument, Resource, ResourceTemplate, Role, Tool,
    ToolHints,
};
use crate::names::PublicName;
use crate::policy::PluginPolicy;

fn fake() -> FakePlugin {
    let object = json!({ "type": "object" });
    FakePlugin::new("a")
        .tool("x", &object, None)
        .tool("y", &object, None)
        .prompt("p", &["q"])
        .prompt("r", &[])
        .resource("x://h/1")
        .template("x://i/{p}")
}

/// The differences after `change`. Checks that the digests agree.
#[track_caller]
fn diff(change: impl FnOnce(&mut Manifest)) -> CatalogDiff {
    let mut changed = fake();
    change(&mut changed.manifest);
    let (old, new) = (catalog(vec![fake().member(|_| {})]), catalog(vec![changed.member(|_| {})]));
    let diff = CatalogDiff::between(&old, &new);
    assert!(
        ListKind::ALL.iter().any(|kind| old.digest(*kind) != new.digest(*kind)),
        "clients see no difference"
    );
    diff
}

/// A way to change one part.
type Row<T> = (fn(&mut T), ItemPart);

fn some() -> JsonMembers {
    vec![("k".to_owned(), Json::from_value(&json!(1)))]
}

fn icon() -> Icon {
    Icon { src: "data:,".to_owned(), mime_type: None, sizes: None, theme: None, extra: Vec::new() }
}

fn text() -> Option<String> {
    Some("another".to_owned())
}

/// Every field of a tool, with a way to change it. A new field needs a row.
#[test]
fn names_each_changed_part_of_a_tool() {
    let Tool {
        name: _,
        title: _,
        description: _,
        input_schema: _,
        output_schema: _,
        hints,
        icons: _,
        meta: _,
        extra: _,
    } = &fake().manifest.tools[0];
    let ToolHints { title: _, read_only: _, destructive: _, idempotent: _, open_world: _, extra: _ } = hints;
    let rows: &[Row<Tool>] = &[
        (|it| it.title = text(), ItemPart::Title),
        (|it| it.hints.title = text(), ItemPart::Title),
        (|it| it.description = "another".to_owned(), ItemPart::Description),
        (
            |it| it.input_schema = Json::from_value(&json!({ "type": "object", "minProperties": 0 })),
            ItemPart::InputSchema,
        ),
        (
            |it| it.output_schema = Some(Json::from_value(&json!({ "type": "object" }))),
            ItemPart::OutputSchema,
        ),
        (|it| it.hints.read_only = Some(false), ItemPart::Hints),
        (|it| it.hints.destructive = Some(true), ItemPart::Hints),
        (|it| it.hints.idempotent = Some(false), ItemPart::Hints),
        (|it| it.hints.open_world = Some(true), ItemPart::Hints),
        (|it| it.hints.extra = some(), ItemPart::Hints),
        (|it| it.icons = vec![icon()], ItemPart::Icons),
        (|it| it.meta = some(), ItemPart::Meta),
        (|it| it.extra = some(), ItemPart::Others),
    ];
    for (change, part) in rows {
        let diff = diff(|manifest| change(&mut manifest.tools[0]));
        let [changed] = diff.tools.changed.as_slice() else { panic!("{part:?}: {diff:?}") };
        assert_eq!((changed.name.as_str(), changed.parts.as_slice()), ("a_x", &[*part][..]));
        assert_eq!((changed.weaker_hints.as_slice(), diff.warnings().len()), (&[][..], 0), "{part:?}");
        assert_eq!(diff.to_string(), format!("changed tool: `a_x` ({})", part.as_str()));
    }
}

#[test]
fn names_each_changed_part_of_a_prompt() {
    let Prompt { name: _, title: _, description: _, arguments, icons: _, meta: _, extra: _ } =
        &fake().manifest.prompts[0];
    let PromptArgument { name: _, title: _, description: _, required: _, extra: _ } = &arguments[0];
    let rows: &[Row<Prompt>] = &[
        (|it| it.title = text(), ItemPart::Title),
        (|it| it.description = "another".to_owned(), ItemPart::Description),
        (|it| it.arguments.clear(), ItemPart::Arguments),
        (|it| it.arguments[0].name = "z".to_owned(), ItemPart::Arguments),
        (|it| it.arguments[0].title = text(), ItemPart::Arguments),
        (|it| it.arguments[0].description = text(), ItemPart::Arguments),
        (|it| it.arguments[0].required = true, ItemPart::Arguments),
        (|it| it.arguments[0].extra = some(), ItemPart::Arguments),
        (|it| it.icons = vec![icon()], ItemPart::Icons),
        (|it| it.meta = some(), ItemPart::Meta),
        (|it| it.extra = some(), ItemPart::Others),
    ];
    for (change, part) in rows {
        let diff = diff(|manifest| change(&mut manifest.prompts[0]));
        assert_eq!(diff.to_string(), format!("changed prompt: `a_p` ({})", part.as_str()));
    }
}

#[test]
fn names_each_changed_part_of_a_resource() {
    let Resource {
        uri: _,
        name: _,
        title: _,
        description: _,
        mime_type: _,
        size: _,
        icons: _,
        annotations: _,
        meta: _,
        extra: _,
    } = &fake().manifest.resources[0];
    let resources: &[Row<Resource>] = &[
        (|it| it.name = "another".to_owned(), ItemPart::Name),
        (|it| it.title = text(), ItemPart::Title),
        (|it| it.description = text(), ItemPart::Description),
        (|it| it.mime_type = text(), ItemPart::MediaType),
        (|it| it.size = Some(0), ItemPart::Size),
        (|it| it.icons = vec![icon()], ItemPart::Icons),
        (|it| it.meta = some(), ItemPart::Meta),
        (|it| it.extra = some(), ItemPart::Others),
    ];
    for (change, part) in resources {
        let diff = diff(|manifest| change(&mut manifest.resources[0]));
        assert_eq!(diff.to_string(), format!("changed resource: `x://h/1` ({})", part.as_str()));
    }
}

#[test]
fn names_each_changed_part_of_a_template() {
    let ResourceTemplate {
        uri_template: _,
        name: _,
        title: _,
        description: _,
        mime_type: _,
        icons: _,
        annotations: _,
        meta: _,
        extra: _,
    } = &fake().manifest.templates[0];
    let templates: &[Row<ResourceTemplate>] = &[
        (|it| it.name = "another".to_owned(), ItemPart::Name),
        (|it| it.title = text(), ItemPart::Title),
        (|it| it.description = text(), ItemPart::Description),
        (|it| it.mime_type = text(), ItemPart::MediaType),
        (|it| it.icons = vec![icon()], ItemPart::Icons),
        (|it| it.meta = some(), ItemPart::Meta),
        (|it| it.extra = some(), ItemPart::Others),
    ];
    for (change, part) in templates {
        let diff = diff(|manifest| change(&mut manifest.templates[0]));
        assert_eq!(diff.to_string(), format!("changed resource: `x://i/{{p}}` ({})", part.as_str()));
    }
}

#[test]
fn names_changed_annotations() {
    let annotations = [
        Annotations { audience: Some(vec![Role::User]), ..Annotations::default() },
        Annotations { priority: Some(-0.0), ..Annotations::default() },
        Annotations { last_modified: text(), ..Annotations::default() },
        Annotations { extra: some(), ..Annotations::default() },
    ];
    for annotations in annotations {
        let diff = diff(|manifest| {
            manifest.resources[0].annotations = Some(annotations.clone());
            manifest.templates[0].annotations = Some(annotations);
        });
        assert_eq!(diff.to_string(), "changed resources: `x://h/1` (annotations), `x://i/{p}` (annotations)");
    }
}

#[test]
fn reports_reordered_items() {
    assert_eq!(diff(|it| it.tools.reverse()).lines(), ["reordered tools"]);
    assert_eq!(diff(|it| it.prompts.reverse()).lines(), ["reordered prompts"]);
    let moved = diff(|it| {
        it.tools.remove(0);
        let mut first = it.tools[0].clone();
        first.name = "w".parse().unwrap();
        it.tools.insert(0, first);
    });
    assert_eq!(
        moved.lines(),
        ["new tool: `a_w`", "removed tool: `a_x`"],
        "the remaining items keep their order"
    );
}

#[test]
fn warns_of_weaker_hints_with_protocol_defaults() {
    type Set = fn(&mut ToolHints, Option<bool>);
    let weaker = |set: Set, before: Option<bool>, now: Option<bool>| {
        let of = |value: Option<bool>| {
            let mut hints = ToolHints::default();
            set(&mut hints, value);
            hints
        };
        WeakerHint::between(&of(before), &of(now))
    };
    // A hint, its default, and the value that promises more.
    let rows: [(Set, bool, bool, WeakerHint); 4] = [
        (|it, value| it.read_only = value, false, true, WeakerHint::ReadOnly),
        (|it, value| it.destructive = value, true, false, WeakerHint::NotDestructive),
        (|it, value| it.idempotent = value, false, true, WeakerHint::Idempotent),
        (|it, value| it.open_world = value, true, false, WeakerHint::ClosedWorld),
    ];
    for (set, default, less, hint) in rows {
        assert_eq!(weaker(set, None, Some(less)), [hint]);
        assert_eq!(weaker(set, Some(!less), Some(less)), [hint]);
        for (before, now) in [
            (None, Some(default)),
            (Some(default), None),
            (Some(less), None),
            (Some(less), Some(!less)),
            (Some(less), Some(less)),
        ] {
            assert_eq!(weaker(set, before, now), [], "{hint:?} {before:?} {now:?}");
        }
    }
    let changed = diff(|it| {
        it.tools[0].hints.read_only = Some(true);
        it.tools[0].hints.destructive = Some(false);
        it.tools[1].hints.idempotent = Some(false);
    });
    assert_eq!(
        changed.warnings(),
        ["the hints of tool `a_x` became weaker: not read-only → read-only, destructive → not destructive"]
    );
}

#[test]
fn reports_changed_origin_of_a_public_name() {
    let twins = |first: &str| {
        let object = json!({ "type": "object" });
        let mut fake = FakePlugin::new("a").tool("one", &object, None).tool("two", &object, None);
        fake.manifest.tools.iter_mut().for_each(|tool| tool.description.clear());
        fake.member(|config| {
            config.tools.allow = Some([first.to_owned()].into());
            config.tools.rename = [(first.to_owned(), PublicName::new("run").unwrap())].into();
        })
    };
    let (old, new) = (catalog(vec![twins("one")]), catalog(vec![twins("two")]));
    assert_eq!(old.digest(ListKind::Tools), new.digest(ListKind::Tools));
    assert_eq!(CatalogDiff::between(&old, &new).lines(), ["changed tool: `run` (origin)"]);
}

#[test]
fn compares_granted_instructions_only() {
    let plugin = |instructions: Option<&str>, granted: bool| -> CatalogPlugin {
        let mut fake = fake();
        fake.manifest.info.instructions = instructions.map(str::to_owned);
        fake.member(|config: &mut PluginPolicy| config.instructions = granted)
    };
    let lines = |before: CatalogPlugin, now: CatalogPlugin| {
        CatalogDiff::between(&catalog(vec![before]), &catalog(vec![now])).lines().join("\n")
    };
    let (one, two) = (Some("Do this."), Some("Do that."));
    assert_eq!(lines(plugin(one, true), plugin(two, true)), "changed instructions: `a`");
    assert_eq!(lines(plugin(None, true), plugin(two, true)), "changed instructions: `a`");
    assert_eq!(lines(plugin(one, false), plugin(one, true)), "changed instructions: `a`");
    assert_eq!(lines(plugin(one, true), plugin(None, true)), "changed instructions: `a`");
    assert_eq!(lines(plugin(one, true), plugin(one, true)), "");
    assert_eq!(lines(plugin(one, false), plugin(two, false)), "");
}

#[test]
fn summarises_large_differences() {
    let many = |weak: bool| {
        let mut fake = (0..1_000).fold(FakePlugin::new("a"), |fake, at| {
            fake.tool(&format!("t{at:03}"), &json!({ "type": "object" }), None)
        });
        fake.manifest.tools.iter_mut().for_each(|tool| tool.hints.read_only = Some(weak));
        fake
    };
    let (old, new) = (catalog(vec![many(false).member(|_| {})]), catalog(vec![many(true).member(|_| {})]));
    let diff = CatalogDiff::between(&old, &new);
    let [line] = diff.lines().try_into().unwrap();
    assert!(
        line.starts_with("changed tools: `a_t000` (hints), ") && line.ends_with(" and 980 more"),
        "{line}"
    );
    assert_eq!((diff.weakened_tools().count(), diff.warnings().len()), (1_000, 21));
    assert_eq!(diff.warnings()[20], "the hints of 980 more tools became weaker");
    let long = format!("x://h/{}", "l".repeat(4_000));
    let long = catalog(vec![FakePlugin::new("a").resource(&long).member(|_| {})]);
    let line = CatalogDiff::between(&catalog(Vec::new()), &long).to_string();
    assert!(
        line.starts_with("new resource: `x://h/lll") && line.ends_with("l…`") && line.len() < 120,
        "{line}"
    );
}
