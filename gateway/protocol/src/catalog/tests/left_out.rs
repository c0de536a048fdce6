//! Tests of items that aren't offered: hidden by the configuration, or left out because they don't fit.

use super::*;
use crate::manifest::{ItemKind, RejectedItem};

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.tools().iter().map(|entry| entry.public_name().as_str()).collect()
}

fn set(names: &[&str]) -> std::collections::BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn rejected(kind: ItemKind, name: &str) -> RejectedItem {
    RejectedItem { kind, name: name.to_owned(), reason: "it is odd".to_owned(), fix: None }
}

/// A plugin with an item of each kind that can't be offered, and with one that can.
fn odd() -> FakePlugin {
    let mut fake = FakePlugin::new("a")
        .tool("good", &object(), None)
        .tool("bad", &json!({ "type": "objekt" }), Some(&json!({ "$ref": "https://example.com" })))
        .prompt("ask", &[])
        .resource("x://h/1")
        .template("y://{name}");
    fake.manifest.rejected = vec![
        rejected(ItemKind::Tool, "wr`ong"),
        rejected(ItemKind::Prompt, "odd prompt"),
        rejected(ItemKind::Resource, "y://odd"),
        rejected(ItemKind::Template, "x://{"),
    ];
    fake
}

#[test]
fn leaves_out_only_the_items_that_do_not_fit() {
    let build = Catalog::build(1, vec![odd().into_catalog_plugin(|policy| policy.place = 7..8)], None);
    let said = said(&build);
    assert_eq!(said.len(), 5, "{said:#?}");
    let bad = said.iter().find(|line| line.contains("`bad`")).unwrap();
    for part in ["invalid input schema", "at `/type`", "invalid output schema", "`tools.deny = [\"bad\"]`"] {
        assert!(bad.contains(part), "`{part}` isn't in: {bad}");
    }
    for part in [
        "the tool `wr'ong` of plugin `a` is left out: it is odd (hint: fix it in the plugin)",
        "the prompt `odd prompt` of plugin `a` is left out: it is odd (hint: fix it in the plugin, or hide the prompt \
         with `prompts.deny = [\"odd prompt\"]`)",
        "the resource `y://odd`",
        "the resource template `x://{`",
    ] {
        assert!(said.iter().any(|line| line.contains(part)), "`{part}` isn't in: {said:#?}");
    }
    assert!(build.problems.iter().all(|problem| !problem.is_error() && problem.span == Some(7..8)));
    let catalog = build.catalog;
    assert_eq!(names(&catalog), ["a_good"]);
    assert!(catalog.prompt("a_ask").is_some() && catalog.resource_owner("x://h/1").is_some());
    assert!(catalog.resource_owner("y://else").is_some());
    assert!(catalog.resource_owner("y://odd").is_none(), "it was left out");
}

#[test]
fn hidden_items_are_not_examined() {
    let deny = odd().into_catalog_plugin(|policy| {
        policy.tools.deny = set(&["bad", "wr`ong"]);
        policy.prompts.deny = set(&["odd prompt"]);
        policy.resources.deny = set(&["y://odd", "x://{"]);
    });
    let allow = odd().into_catalog_plugin(|policy| {
        policy.tools.allow = Some(set(&["good"]));
        policy.prompts.allow = Some(set(&["ask"]));
        policy.resources.allow = Some(set(&["x://h/1", "y://{name}"]));
    });
    for catalog_plugin in [deny, allow] {
        let build = Catalog::build(1, vec![catalog_plugin], None);
        assert_eq!(said(&build), [] as [&str; 0]);
        assert_eq!(names(&build.catalog), ["a_good"]);
        assert_eq!((build.catalog.resources().len(), build.catalog.templates().len()), (1, 1));
    }
}

#[test]
fn reports_the_first_of_many_items_and_their_number() {
    let mut fake = FakePlugin::new("a");
    fake.manifest.rejected = (0..1_000).map(|at| rejected(ItemKind::Tool, &format!("t{at}"))).collect();
    let catalog_plugin = fake.into_catalog_plugin(|_| {});
    assert_eq!((catalog_plugin.problems().len(), catalog_plugin.left_out().len()), (51, 1_000));
    assert!(catalog_plugin.problems()[50].message.starts_with("950 more items of plugin `a`"));
}

#[test]
fn unknown_denied_items_of_every_kind_refuse_the_plugin() {
    let denying = |set_policy: &dyn Fn(&mut PluginPolicy)| {
        let fake = odd();
        let mut policy = bare_policy(&fake.id);
        set_policy(&mut policy);
        CatalogPlugin::new(Arc::new(fake), Arc::new(policy)).map(|catalog_plugin| catalog_plugin.problems())
    };
    for (name, problems) in [
        ("goood", denying(&|policy| policy.tools.deny = set(&["goood"]))),
        ("odd promp", denying(&|policy| policy.prompts.deny = set(&["odd promp"]))),
        ("y://{nam}", denying(&|policy| policy.resources.deny = set(&["y://{nam}"]))),
        ("x://h/2", denying(&|policy| policy.resources.deny = set(&["x://h/2"]))),
    ] {
        let problems = problems.unwrap_err();
        assert!(problems.len() == 1 && problems[0].message.contains(name), "{problems:?}");
        assert!(problems[0].hint.as_ref().unwrap().starts_with("did you mean"), "{problems:?}");
    }
    // A template covers it.
    let covered = denying(&|policy| policy.resources.deny = set(&["y://diary"])).unwrap();
    assert!(!covered.iter().any(|problem| problem.message.contains("y://diary")), "{covered:?}");
}

#[test]
fn maps_names_that_hosts_refuse_and_settles_equal_results() {
    let long = "x".repeat(100);
    let fake = FakePlugin::new("a")
        .tool("b.c", &object(), None)
        .tool("b_c", &object(), None)
        .tool("b/c", &object(), None)
        .tool("d.e", &object(), None)
        .tool("f", &object(), None)
        .tool(&long, &object(), None)
        .prompt("Summarise thread", &[])
        .prompt("other thread", &[]);
    let build = Catalog::build(
        1,
        vec![fake.into_catalog_plugin(|policy| {
            policy.tools.rename = [("f".to_owned(), PublicName::new("a_d_e").unwrap())].into();
            policy.prompts.rename = [("other thread".to_owned(), PublicName::new("other").unwrap())].into();
        })],
        None,
    );
    let catalog = &build.catalog;
    let own: Vec<_> = catalog.tools().iter().map(|entry| entry.tool().name.as_str()).collect();
    assert_eq!(own, ["b_c", "f", &*long], "an unchanged name and a renamed tool come first");
    assert_eq!(catalog.tool("a_b_c").unwrap().tool().name.as_str(), "b_c");
    assert_eq!(catalog.tool("a_d_e").unwrap().tool().name.as_str(), "f");
    assert_eq!(names(catalog)[2].len(), 64);
    assert_eq!(catalog.prompt("a_Summarise_thread").unwrap().prompt().name.as_str(), "Summarise thread");
    assert_eq!(catalog.prompt("other").unwrap().prompt().name.as_str(), "other thread");
    let said = said(&build);
    for part in [
        "the tool `b.c` of plugin `a` is left out: the tool `b_c` has the same public name, `a_b_c`",
        "the tool `b/c`",
        "the tool `d.e` of plugin `a` is left out: the tool `f` has the same public name",
        "`[plugins.a.tools.rename]`",
        "is 64 characters long",
    ] {
        assert!(said.iter().any(|line| line.contains(part)), "`{part}` isn't in: {said:#?}");
    }
}

#[test]
fn hidden_resources_are_not_readable_through_a_template() {
    let fake = || {
        FakePlugin::new("a")
            .resource("x://h/1")
            .resource("x://h/2")
            .template("x://h/{name}")
            .template("x://h/secret/{name}")
            .template("x://h/secret/{name}/{part}")
    };
    fn owner(catalog: &Catalog, uri: &str) -> bool {
        catalog.resource_owner(uri).is_some()
    }
    let build = Catalog::build(
        1,
        vec![fake().into_catalog_plugin(|policy| {
            policy.resources.deny = set(&["x://h/2", "x://h/3", "x://h/secret/{name}"]);
        })],
        None,
    );
    let listed: Vec<_> =
        build.catalog.resources().iter().map(|entry| entry.resource().uri.as_str()).collect();
    assert_eq!(listed, ["x://h/1"]);
    assert_eq!(build.catalog.templates().len(), 1);
    for (uri, is_owned) in [
        ("x://h/1", true),
        ("x://h/4", true),
        ("x://h/2", false),
        ("X://H/%32", false),
        ("x://h/2#part", false),
        ("x://h/3", false),
        ("x://h/secret/4", false),
    ] {
        assert_eq!(owner(&build.catalog, uri), is_owned, "{uri}");
    }
    assert!(said(&build)[0].contains("denied template `x://h/secret/{name}`"), "{:?}", said(&build));

    let only = catalog(vec![fake().into_catalog_plugin(|policy| {
        policy.resources.allow = Some(set(&["x://h/2", "x://h/secret/{name}"]));
    })]);
    assert!(owner(&only, "x://h/2") && owner(&only, "x://h/secret/1"));
    assert!(!owner(&only, "x://h/1") && !owner(&only, "x://h/4"));
    // Another plugin can have what this one doesn't offer.
    let other = FakePlugin::new("b").resource("x://h/1").template("x://h/{name}").into_catalog_plugin(|_| {});
    let secret = fake().into_catalog_plugin(|policy| {
        policy.resources.allow = Some(set(&["x://h/secret/{name}"]));
        policy.uris = vec!["x://h/secret/".to_owned()];
    });
    let both = catalog(vec![secret, other]);
    assert_eq!(both.resource_owner("x://h/1").unwrap().id().as_str(), "b");
    assert_eq!(both.resource_owner("x://h/secret/1").unwrap().id().as_str(), "a");
}

#[test]
fn template_of_a_whole_scheme_conflicts_like_other_uris() {
    let wide = || FakePlugin::new("a").template("x:{+rest}");
    let narrow = || FakePlugin::new("b").template("x://h/{p}").resource("x:y");
    let build = Catalog::build(
        1,
        vec![wide().into_catalog_plugin(|_| {}), narrow().into_catalog_plugin(|_| {})],
        None,
    );
    assert_eq!(ids(&build.catalog), ["a"]);
    assert!(build.catalog.resource_owner("x:anything").is_some());
    let granted = narrow().into_catalog_plugin(|policy| policy.uris = vec!["x:".to_owned()]);
    let build = Catalog::build(1, vec![wide().into_catalog_plugin(|_| {}), granted], None);
    assert_eq!((ids(&build.catalog), build.refused.len()), (vec!["a", "b"], 0));
    for (uri, owner) in [("x:y", "b"), ("x://h/1", "b"), ("x://i", "a")] {
        assert_eq!(build.catalog.resource_owner(uri).unwrap().id().as_str(), owner, "{uri}");
    }
}
