//! Tests of public names and of conflicts between plugins.

use serde_json::{Value, json};

mod candidates;
mod left_out;
mod views;

use super::fake::{FakePlugin, IntoCatalogPlugin as _, bare_policy, catalog};
use super::*;
use crate::policy::PluginPolicy;

fn object() -> Value {
    json!({ "type": "object" })
}

/// A plugin with the tool `run`, without a prefix.
fn bare(id: &str) -> FakePlugin {
    FakePlugin::new(id).tool("run", &object(), None)
}

fn no_prefix(config: &mut PluginPolicy) {
    config.prefix = String::new();
}

fn ids(catalog: &Catalog) -> Vec<&str> {
    catalog.plugins().iter().map(|catalog_plugin| catalog_plugin.id().as_str()).collect()
}

/// The problems of a build's refusals and warnings, one line each.
fn said(build: &CatalogBuild) -> Vec<String> {
    let refused = build.refused.iter().flat_map(RefusedPlugin::problems);
    refused.chain(build.problems.iter().cloned()).map(|problem| problem.to_string()).collect()
}

#[test]
fn applies_prefix_filter_and_renames() {
    let fake = FakePlugin::new("files")
        .tool("read", &object(), None)
        .tool("write", &object(), None)
        .tool("remove", &object(), None)
        .tool("copy", &object(), None)
        .prompt("review", &[]);
    let catalog = catalog(vec![
        FakePlugin::new("time").tool("now", &object(), None).into_catalog_plugin(|_| {}),
        fake.into_catalog_plugin(|config| {
            config.prefix = "fs".to_owned();
            config.tools.allow = Some(["read", "write", "remove"].map(str::to_owned).into());
            config.tools.deny = ["remove".to_owned()].into();
            config.tools.rename = [("write".to_owned(), PublicName::new("store").unwrap())].into();
        }),
    ]);
    let names: Vec<_> = catalog.tools().iter().map(|entry| entry.public_name().as_str()).collect();
    assert_eq!(names, ["time_now", "fs_read", "store"]);
    let store = catalog.tool("store").unwrap();
    assert_eq!((store.tool().name.as_str(), store.plugin().id().as_str()), ("write", "files"));
    assert_eq!(catalog.prompt("fs_review").unwrap().prompt().name.as_str(), "review");
    assert!(
        catalog.tool("fs_write").is_none()
            && catalog.tool("read").is_none()
            && catalog.prompt("review").is_none()
    );
}

#[test]
fn first_plugin_in_the_file_wins_a_conflict() {
    let first = bare("a").into_catalog_plugin(no_prefix);
    let second = bare("b").tool("walk", &object(), None).into_catalog_plugin(|config| {
        no_prefix(config);
        config.place = 20..21;
    });
    let third = bare("c").into_catalog_plugin(|_| {});
    let build = Catalog::build(1, vec![first, second, third], None);
    assert_eq!(ids(&build.catalog), ["a", "c"]);
    assert!(build.catalog.tool("walk").is_none());
    assert_eq!(
        said(&build),
        [
            "plugins `a` and `b` both offer the tool `run`: `b` isn't served (hint: set another `prefix` in `[plugins.b]`, or give the tool another name in `[plugins.b.tools.rename]`)"
        ]
    );
    assert_eq!(build.refused[0].problems()[0].span, Some(20..21));
    assert_eq!(build.refused[0].problems()[0].related.len(), 1);
}

#[test]
fn serving_plugin_wins_and_restart_effect_is_reported() {
    let old = Catalog::build(1, vec![bare("b").into_catalog_plugin(no_prefix)], None).catalog;
    let b = (**old.plugin(&PluginId::new("b").unwrap()).unwrap()).clone();
    let build = Catalog::build(2, vec![bare("a").into_catalog_plugin(no_prefix), b], Some(&old));
    assert_eq!(ids(&build.catalog), ["b"]);
    assert_eq!(build.refused[0].conflicts[0].restart, RestartEffect::SwapsPlugins);
    assert!(said(&build)[0].contains("after a restart"), "{:?}", said(&build));
}

#[test]
fn conflicting_change_keeps_the_earlier_version() {
    let walker = || FakePlugin::new("b").tool("walk", &object(), None);
    let old = Catalog::build(
        1,
        vec![walker().into_catalog_plugin(no_prefix), bare("c").into_catalog_plugin(no_prefix)],
        None,
    )
    .catalog;
    let c = (**old.plugin(&PluginId::new("c").unwrap()).unwrap()).clone();
    let changed = walker().tool("run", &object(), None).into_catalog_plugin(no_prefix);
    let build = Catalog::build(2, vec![changed, c.clone()], Some(&old));
    assert_eq!(ids(&build.catalog), ["b", "c"]);
    assert!(build.catalog.tool("walk").is_some());
    assert_eq!(
        build.catalog.tool("run").unwrap().plugin().id().as_str(),
        "c",
        "unchanged plugins take precedence"
    );
    assert_eq!(build.refused[0].replacement, Replacement::EarlierVersion);
    // With another policy it can't: it could have lost a permission.
    let changed = walker().tool("run", &object(), None).into_catalog_plugin(|config| {
        no_prefix(config);
        config.instructions = true;
    });
    let build = Catalog::build(2, vec![changed, c], Some(&old));
    assert_eq!(ids(&build.catalog), ["c"]);
    assert_eq!(build.refused[0].replacement, Replacement::Nothing);
}

#[test]
fn detects_prompt_conflicts() {
    let asks = |id| FakePlugin::new(id).prompt("ask", &[]).into_catalog_plugin(no_prefix);
    let build = Catalog::build(1, vec![asks("a"), asks("b")], None);
    assert_eq!(build.refused[0].conflicts[0].subject, ConflictSubject::Prompt);
}

#[test]
fn detects_overlapping_uris() {
    for (a, b, text) in [
        (FakePlugin::new("a").resource("x://h/1"), FakePlugin::new("b").resource("x://h/1"), Some("x://h/1")),
        (
            FakePlugin::new("a").template("x://h/{+p}"),
            FakePlugin::new("b").resource("x://h/1"),
            Some("x://h/1"),
        ),
        (
            FakePlugin::new("a").resource("x://h/1"),
            FakePlugin::new("b").template("x://h/{+p}"),
            Some("x://h/1"),
        ),
        (
            FakePlugin::new("a").template("x://h/{p}"),
            FakePlugin::new("b").template("x://h/q/{p}"),
            Some("x://h/q/"),
        ),
        (
            FakePlugin::new("a").template("x://h/q/{p}"),
            FakePlugin::new("b").template("x://h/{p}"),
            Some("x://h/q/"),
        ),
        (
            FakePlugin::new("a").template("x://h/{p}"),
            FakePlugin::new("b").template("x://h/{+q}"),
            Some("x://h/"),
        ),
        (FakePlugin::new("a").resource("x://h/1"), FakePlugin::new("b").resource("x://h/12"), None),
        (FakePlugin::new("a").template("x://h/a{p}"), FakePlugin::new("b").template("x://h/b{p}"), None),
    ] {
        let build =
            Catalog::build(1, vec![a.into_catalog_plugin(|_| {}), b.into_catalog_plugin(|_| {})], None);
        let found: Vec<_> =
            build.refused.iter().flat_map(|it| &it.conflicts).flat_map(|it| &it.names).collect();
        assert_eq!(found, Vec::from_iter(text), "{:?}", said(&build));
        assert_eq!(ids(&build.catalog).len(), if text.is_some() { 1 } else { 2 });
    }
}

#[test]
fn uri_grant_settles_an_overlap() {
    let owner = |catalog: &Catalog, uri: &str| {
        catalog.resource_owner(uri).map(|catalog_plugin| catalog_plugin.id().to_string())
    };
    let wide = || FakePlugin::new("wide").template("x://h/{+p}").resource("x://h/sub/index");
    let narrow = || FakePlugin::new("narrow").template("x://h/sub/{+p}");
    let granted = |config: &mut PluginPolicy| config.uris = vec!["x://h/sub/".to_owned()];
    for plugins in [
        vec![wide().into_catalog_plugin(|_| {}), narrow().into_catalog_plugin(granted)],
        vec![narrow().into_catalog_plugin(granted), wide().into_catalog_plugin(|_| {})],
    ] {
        let build = Catalog::build(1, plugins, None);
        assert_eq!(build.refused, []);
        let catalog = build.catalog;
        assert_eq!(owner(&catalog, "x://h/1").as_deref(), Some("wide"));
        assert_eq!(owner(&catalog, "x://h/sub/1").as_deref(), Some("narrow"));
        assert_eq!(owner(&catalog, "x://h/sub/index").as_deref(), Some("narrow"));
        assert_eq!(owner(&catalog, "x://i"), None);
        assert!(catalog.resources().is_empty(), "resources granted to another plugin aren't listed");
        assert!(build.problems[0].message.contains("`uris` grants it to another plugin"));
    }
    let both = Catalog::build(
        1,
        vec![wide().into_catalog_plugin(granted), narrow().into_catalog_plugin(granted)],
        None,
    );
    assert_eq!(ids(&both.catalog), ["wide"]);
}

#[test]
fn exact_uri_wins_over_longest_prefix() {
    let catalog = catalog(vec![
        FakePlugin::new("a")
            .resource("x://h/1")
            .template("x://h/{p}")
            .template("x://h/long/{p}")
            .into_catalog_plugin(|_| {}),
        FakePlugin::new("b").template("y://%C3%A9{p}").into_catalog_plugin(|_| {}),
    ]);
    assert_eq!(catalog.resource_owner("x://h/long/1").unwrap().id().as_str(), "a");
    assert_eq!(catalog.resource_owner("y://%C3%A91").unwrap().id().as_str(), "b");
    assert!(catalog.resource_owner("y://\u{10348}").is_none());
    assert_eq!(catalog.resource("x://h/1").unwrap().resource().name, "a resource");
    assert!(catalog.template("x://h/{p}").is_some() && catalog.template("x://h/").is_none());
}

#[test]
fn warns_of_probable_mistakes() {
    let long = "x".repeat(45);
    let fake = FakePlugin::new("a").tool("get-it", &object(), None).tool("get_it", &object(), None).tool(
        &long,
        &object(),
        None,
    );
    let build = Catalog::build(
        1,
        vec![fake.into_catalog_plugin(|config| {
            config.tools.allow = Some(["getit", "get-it", "get_it", &long].map(str::to_owned).into());
            config.place = 3..4;
        })],
        None,
    );
    let said = said(&build);
    assert_eq!(said.len(), 3, "{said:#?}");
    assert!(
        said[0].contains("no tool `getit`, which `tools.allow` names")
            && said[0].contains("did you mean `get"),
        "{}",
        said[0]
    );
    assert!(said[1].contains("47 characters long"), "{}", said[1]);
    assert!(said[2].contains("differ only in case"), "{}", said[2]);
    assert!(build.problems.iter().all(|problem| problem.span == Some(3..4)));
}

#[test]
fn merges_warnings_of_long_names() {
    let names = ["a", "b", "c"].map(|letter| letter.repeat(45));
    let fake = names.iter().fold(FakePlugin::new("x"), |fake, name| fake.tool(name, &object(), None));
    let said = said(&Catalog::build(1, vec![fake.into_catalog_plugin(|_| {})], None));
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].contains("3 tool names of plugin `x`"), "{said:?}");
    assert!(names.iter().all(|name| said[0].contains(&format!("`x_{name}`"))), "{said:?}");
}

#[test]
fn suggests_swapping_a_reversed_rename() {
    let fake = FakePlugin::new("x").tool("fetch", &object(), None);
    let turned = fake.into_catalog_plugin(|config| {
        config.tools.rename = [("get".to_owned(), PublicName::new("fetch").unwrap())].into();
    });
    let said = said(&Catalog::build(1, vec![turned], None));
    assert!(said.len() == 1 && said[0].contains("`fetch = \"get\"`"), "{said:?}");
}

#[test]
fn rejects_unknown_denied_tools() {
    let denying = |fake: FakePlugin| {
        let mut config = PluginPolicy { place: 7..8, ..bare_policy(&fake.id) };
        config.tools.deny = ["delete_al".to_owned()].into();
        CatalogPlugin::new(Arc::new(fake), Arc::new(config))
    };
    let fake = || FakePlugin::new("a").tool("delete_all", &object(), None);
    let problems = denying(fake()).unwrap_err();
    assert!(problems[0].is_error() && problems[0].span == Some(7..8), "{problems:?}");
    let said = problems[0].to_string();
    assert!(said.contains("no tool `delete_al`, which `tools.deny` names"), "{said}");
    // After a load, a denied tool can be absent for a while.
    let catalog_plugin = denying(fake().tool("delete_al", &object(), None)).unwrap();
    let again = catalog_plugin.with_changed_lists(Arc::new(fake()));
    assert_eq!(again.problems(), []);
}

#[test]
fn suggests_or_lists_tools_for_unknown_names() {
    for (name, hint) in [
        ("Get-It", "did you mean `get_it`?"),
        ("files_get_it", "did you mean `get_it`?"),
        ("gti_it", "did you mean `get_it`?"),
        ("weather", "use one of `get_it`, `remove`; these are the plugin's own names"),
    ] {
        let fake = FakePlugin::new("files").tool("get_it", &object(), None).tool("remove", &object(), None);
        let mut config = bare_policy(&fake.id);
        config.tools.deny = [name.to_owned()].into();
        let problems = CatalogPlugin::new(Arc::new(fake), Arc::new(config)).unwrap_err();
        let told = problems[0].hint.as_deref().unwrap();
        assert!(told.starts_with(hint), "{name}: {told}");
    }
}

#[test]
fn warns_of_mistakes_in_refused_plugins() {
    let mistaken = bare("b").into_catalog_plugin(|config| {
        no_prefix(config);
        config.tools.rename = [("rum".to_owned(), PublicName::new("b_run").unwrap())].into();
    });
    let build = Catalog::build(1, vec![bare("a").into_catalog_plugin(no_prefix), mistaken], None);
    assert_eq!(ids(&build.catalog), ["a"]);
    let said: Vec<_> = build.problems.iter().map(ToString::to_string).collect();
    assert!(said.len() == 1 && said[0].contains("no tool `rum`"), "{said:?}");
}

#[test]
fn digests_change_only_with_visible_changes() {
    let plugins = |description: &str| {
        let mut fake = FakePlugin::new("a")
            .tool("x", &object(), None)
            .tool("y", &object(), None)
            .prompt("p", &["q"])
            .resource("x://h/1");
        fake.manifest.tools[0].description = description.to_owned();
        fake
    };
    let old = catalog(vec![plugins("one").into_catalog_plugin(|_| {})]);
    let same = catalog(vec![plugins("one").into_catalog_plugin(|config| config.concurrency = 1)]);
    assert!(ListKind::ALL.into_iter().all(|kind| old.digest(kind) == same.digest(kind)));
    assert!(CatalogDiff::between(&old, &same).is_empty());

    let new = catalog(vec![plugins("two").template("x://i/{p}").into_catalog_plugin(|config| {
        config.tools.deny = ["y".to_owned()].into();
    })]);
    assert_ne!(old.digest(ListKind::Tools), new.digest(ListKind::Tools));
    assert_ne!(old.digest(ListKind::Resources), new.digest(ListKind::Resources));
    assert_eq!(old.digest(ListKind::Prompts), new.digest(ListKind::Prompts));
    let diff = CatalogDiff::between(&old, &new);
    assert_eq!(
        diff.lines(),
        ["removed tool: `a_y`", "changed tool: `a_x` (description)", "new resource: `x://i/{p}`"]
    );

    let mut turned = plugins("one");
    turned.manifest.tools.reverse();
    let turned = catalog(vec![turned.into_catalog_plugin(|_| {})]);
    assert_ne!(
        old.digest(ListKind::Tools),
        turned.digest(ListKind::Tools),
        "the order is part of the digest"
    );
}

#[test]
fn unchanged_plugin_gets_new_places() {
    let catalog_plugin = bare("a").into_catalog_plugin(|_| {});
    let moved = PluginPolicy { place: 50..51, ..(**catalog_plugin.policy()).clone() };
    let moved = catalog_plugin.with_policy(Arc::new(moved)).unwrap();
    assert!(moved.is_same_load(&catalog_plugin) && moved.policy().place == (50..51));
    let other = PluginPolicy { prefix: "b".to_owned(), ..(**catalog_plugin.policy()).clone() };
    assert!(catalog_plugin.with_policy(Arc::new(other)).is_none());
}
