//! Plugins that change while others serve: nothing that serves is lost to what is new.

use std::sync::Arc;

use super::*;

/// A plugin with these tools, without a prefix.
fn with(id: &str, tools: &[&str]) -> Member {
    tools.iter().fold(Fake::new(id), |fake, tool| fake.tool(tool, &object(), None)).member(no_prefix)
}

fn new(member: Member) -> Candidate {
    Candidate::from(member)
}

fn changed(member: Member, before: &Member) -> Candidate {
    Candidate { member, before: Some(before.clone()) }
}

fn served(members: &[&Member]) -> Catalog {
    let built = Catalog::build(1, members.iter().map(|member| (*member).clone()).collect(), None);
    assert_eq!(built.refused, []);
    built.catalog
}

/// Plugin and tools, one after the other.
fn tools(catalog: &Catalog) -> Vec<(&str, &str)> {
    catalog.tools().iter().map(|entry| (entry.member().id().as_str(), entry.public().as_str())).collect()
}

#[test]
fn names_can_be_exchanged_in_one_step() {
    let (a, b) = (with("a", &["x"]), with("b", &["y"]));
    let candidates = vec![changed(with("a", &["y"]), &a), changed(with("b", &["x"]), &b)];
    let build = Catalog::join(2, candidates, Some(&served(&[&a, &b])));
    assert_eq!((tools(&build.catalog), build.refused.len()), (vec![("a", "y"), ("b", "x")], 0));
}

#[test]
fn a_plugin_that_can_not_change_keeps_its_names_though_another_changed_into_them() {
    let (a, b, c) = (with("a", &["x"]), with("b", &["y"]), with("c", &["z"]));
    let old = served(&[&a, &b, &c]);
    // `b` would leave `y` to `a`, but it can't have `z`.
    let candidates = vec![changed(with("a", &["y"]), &a), changed(with("b", &["z"]), &b), new(c.clone())];
    let build = Catalog::join(2, candidates, Some(&old));
    assert_eq!(tools(&build.catalog), [("a", "x"), ("b", "y"), ("c", "z")]);
    let refused = |at: usize| {
        let Refused { plugin, conflicts, instead, .. } = &build.refused[at];
        (plugin.as_str(), conflicts[0].with.as_str(), conflicts[0].names.join(" "), *instead)
    };
    assert_eq!(refused(0), ("a", "b", "y".to_owned(), Instead::Before));
    assert_eq!(refused(1), ("b", "c", "z".to_owned(), Instead::Before));
}

#[test]
fn who_gave_way_for_nothing_comes_in_after_all() {
    // As they come: `a` and `d` get what they want, `b` can't have `w` because of `d`, and `y` is gone to `a`.
    // `d` gives way to `e`, so `b` gets its `w` and nothing is left in the way of `a`.
    let (a, d) = (with("a", &["x"]), with("d", &["u"]));
    let (b, e) = (with("b", &["y"]), with("e", &["w2"]));
    let c = with("c", &["z"]);
    let old = served(&[&a, &d, &b, &e, &c]);
    let candidates = vec![
        changed(with("a", &["y"]), &a),
        changed(with("d", &["w", "w2"]), &d),
        changed(with("b", &["w"]), &b),
        changed(with("e", &["z"]), &e),
        new(c.clone()),
    ];
    let build = Catalog::join(2, candidates, Some(&old));
    assert_eq!(tools(&build.catalog), [("a", "y"), ("d", "u"), ("b", "w"), ("e", "w2"), ("c", "z")]);
    let refused: Vec<_> = build.refused.iter().map(|refused| refused.plugin.as_str()).collect();
    assert_eq!(refused, ["d", "e"]);
}

#[test]
fn a_newcomer_takes_nothing_wherever_it_stands() {
    let a = with("a", &["x"]);
    let old = served(&[&a]);
    let candidates = vec![new(with("first", &["x", "y"])), changed(with("a", &["x", "z"]), &a)];
    let build = Catalog::join(2, candidates, Some(&old));
    assert_eq!(tools(&build.catalog), [("a", "x"), ("a", "z")]);
    assert_eq!((build.refused.len(), build.refused[0].instead), (1, Instead::Nothing));
}

#[test]
fn a_plugin_goes_on_with_its_old_names_and_its_new_grants() {
    let mut fake = Fake::new("a").tool("x", &object(), None);
    fake.manifest.info.instructions = Some("Ask twice.".to_owned());
    let manifest = fake.manifest.clone();
    let again =
        |id: &str| -> Arc<dyn Plugin> { Arc::new(Fake { manifest: manifest.clone(), ..Fake::new(id) }) };
    let a = fake.member(|config| config.allow.instructions = true);
    let config =
        PluginConfig { prefix: "b".to_owned(), place: 5..6, allow: <_>::default(), ..(**a.config()).clone() };
    let plugin = again("a");
    let before = a.regranted(Arc::clone(&plugin), &config).unwrap();
    assert!(Arc::ptr_eq(before.plugin(), &plugin) && before.is(&a));
    assert_eq!((before.config().prefix.as_str(), before.config().place.clone()), ("a", 5..6));
    assert!(!before.config().allow.instructions, "what was taken away stays away");

    let member = Member::new(again("a"), Arc::new(config.clone())).unwrap();
    let rival = with("rival", &["b_x"]);
    let candidates = vec![Candidate { member, before: Some(before) }, new(rival.clone())];
    let build = Catalog::join(2, candidates, Some(&served(&[&a, &rival])));
    assert_eq!(tools(&build.catalog), [("a", "a_x"), ("rival", "b_x")]);
    assert_eq!((build.refused[0].place.clone(), build.refused[0].instead), (5..6, Instead::Before));

    assert!(a.regranted(again("c"), &config).is_none());
    assert!(a.regranted(plugin, &PluginConfig::bare(PluginId::new("c").unwrap(), "c.wasm".into())).is_none());
    assert!(a.with_plugin(Arc::new(Fake::new("a"))).is_none(), "it has another manifest");
    assert!(a.with_plugin(again("a")).is_some_and(|member| member.config().allow.instructions));
}
