//! Tests that a plugin that serves loses nothing to new or changed ones.

use std::sync::Arc;

use super::*;

/// A plugin with these tools, without a prefix.
fn with(id: &str, tools: &[&str]) -> CatalogPlugin {
    tools.iter().fold(FakePlugin::new(id), |fake, tool| fake.tool(tool, &object(), None)).member(no_prefix)
}

fn new(member: CatalogPlugin) -> CatalogCandidate {
    CatalogCandidate::new(member)
}

fn changed(member: CatalogPlugin, before: &CatalogPlugin) -> CatalogCandidate {
    CatalogCandidate::new(member).with_fallback(before.clone())
}

fn served(members: &[&CatalogPlugin]) -> Catalog {
    let built = Catalog::build(1, members.iter().map(|member| (*member).clone()).collect(), None);
    assert_eq!(built.refused, []);
    built.catalog
}

/// Pairs of plugin and tool.
fn tools(catalog: &Catalog) -> Vec<(&str, &str)> {
    catalog.tools().iter().map(|entry| (entry.plugin().id().as_str(), entry.public_name().as_str())).collect()
}

#[test]
fn plugins_can_swap_names() {
    let (a, b) = (with("a", &["x"]), with("b", &["y"]));
    let candidates = vec![changed(with("a", &["y"]), &a), changed(with("b", &["x"]), &b)];
    let build = Catalog::join(2, &candidates, Some(&served(&[&a, &b])));
    assert_eq!((tools(&build.catalog), build.refused.len()), (vec![("a", "y"), ("b", "x")], 0));
}

#[test]
fn blocked_plugin_keeps_its_names() {
    let (a, b, c) = (with("a", &["x"]), with("b", &["y"]), with("c", &["z"]));
    let old = served(&[&a, &b, &c]);
    // `b` would leave `y` to `a`, but it can't have `z`.
    let candidates = vec![changed(with("a", &["y"]), &a), changed(with("b", &["z"]), &b), new(c.clone())];
    let build = Catalog::join(2, &candidates, Some(&old));
    assert_eq!(tools(&build.catalog), [("a", "x"), ("b", "y"), ("c", "z")]);
    let refused = |at: usize| {
        let RefusedPlugin { plugin, conflicts, replacement: instead, .. } = &build.refused[at];
        (plugin.as_str(), conflicts[0].other.as_str(), conflicts[0].names.join(" "), *instead)
    };
    assert_eq!(refused(0), ("a", "b", "y".to_owned(), Replacement::EarlierVersion));
    assert_eq!(refused(1), ("b", "c", "z".to_owned(), Replacement::EarlierVersion));
}

#[test]
fn unnecessary_fallback_is_undone() {
    // At first, `a` and `d` get what they want, `b` can't have `w` because of `d`, and `y` is taken by `a`. `d` gives
    // way to `e`, so `b` gets its `w` and nothing blocks `a` any more.
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
    let build = Catalog::join(2, &candidates, Some(&old));
    assert_eq!(tools(&build.catalog), [("a", "y"), ("d", "u"), ("b", "w"), ("e", "w2"), ("c", "z")]);
    let refused: Vec<_> = build.refused.iter().map(|refused| refused.plugin.as_str()).collect();
    assert_eq!(refused, ["d", "e"]);
}

#[test]
fn new_plugin_takes_nothing_from_others() {
    let a = with("a", &["x"]);
    let old = served(&[&a]);
    let candidates = vec![new(with("first", &["x", "y"])), changed(with("a", &["x", "z"]), &a)];
    let build = Catalog::join(2, &candidates, Some(&old));
    assert_eq!(tools(&build.catalog), [("a", "x"), ("a", "z")]);
    assert_eq!((build.refused.len(), build.refused[0].replacement), (1, Replacement::Nothing));
}

#[test]
fn fallback_has_old_names_and_new_grants() {
    let mut fake = FakePlugin::new("a").tool("x", &object(), None);
    fake.manifest.info.instructions = Some("Ask twice.".to_owned());
    let manifest = fake.manifest.clone();
    let again = |id: &str| -> Arc<dyn Plugin> {
        Arc::new(FakePlugin { manifest: manifest.clone(), ..FakePlugin::new(id) })
    };
    let a = fake.member(|config| config.instructions = true);
    let config =
        PluginPolicy { prefix: "b".to_owned(), place: 5..6, instructions: false, ..(**a.policy()).clone() };
    let plugin = again("a");
    let before = a.with_permissions_of(Arc::clone(&plugin), &config).unwrap();
    assert!(Arc::ptr_eq(before.plugin(), &plugin) && before.is_same_load(&a));
    assert_eq!((before.policy().prefix.as_str(), before.policy().place.clone()), ("a", 5..6));
    assert!(!before.policy().instructions, "revoked permissions stay revoked");

    let member = CatalogPlugin::new(again("a"), Arc::new(config.clone())).unwrap();
    let rival = with("rival", &["b_x"]);
    let candidates = vec![CatalogCandidate::new(member).with_fallback(before), new(rival.clone())];
    let build = Catalog::join(2, &candidates, Some(&served(&[&a, &rival])));
    assert_eq!(tools(&build.catalog), [("a", "a_x"), ("rival", "b_x")]);
    assert_eq!(
        (build.refused[0].place.clone(), build.refused[0].replacement),
        (5..6, Replacement::EarlierVersion)
    );

    assert!(a.with_permissions_of(again("c"), &config).is_none());
    assert!(a.with_permissions_of(plugin, &bare_policy(&PluginId::new("c").unwrap())).is_none());
    assert!(a.with_plugin(Arc::new(FakePlugin::new("a"))).is_none(), "the manifest differs");
    assert!(a.with_plugin(again("a")).is_some_and(|member| member.policy().instructions));
}

#[test]
fn best_fitting_version_serves() {
    let (a, b) = (with("a", &["x"]), with("b", &["y"]));
    let old = served(&[&a, &b]);
    let states = |best: &[&str], second: &[&str]| {
        CatalogCandidate::new(with("a", best)).with_fallback(with("a", second)).with_fallback(a.clone())
    };
    for (best, second, pick, name) in
        [(["z"], ["w"], 0, "z"), (["y"], ["w"], 1, "w"), (["y"], ["y"], 2, "x"), (["y"], ["x"], 1, "x")]
    {
        let build = Catalog::join(2, &[states(&best, &second), new(b.clone())], Some(&old));
        assert_eq!(build.versions, [Some(pick), Some(0)]);
        assert_eq!(tools(&build.catalog), [("a", name), ("b", "y")]);
        let refused: Vec<_> = build.refused.iter().map(|refused| refused.replacement).collect();
        assert_eq!(refused, [Replacement::EarlierVersion].repeat(usize::from(pick > 0)));
    }
    let build = Catalog::join(2, &[new(with("c", &["x", "y"])), new(a), new(b)], Some(&old));
    assert_eq!(build.versions, [None, Some(0), Some(0)]);
    assert_eq!(build.refused[0].conflicts.len(), 2);
}

/// Deterministic random numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }

    /// A plugin that offers one to three of a few tools and perhaps a resource or a template.
    fn member(&mut self, id: &str) -> CatalogPlugin {
        let mut fake = FakePlugin::new(id);
        let first = self.below(7);
        for step in 0..=self.below(3) {
            fake = fake.tool(&format!("t{}", (first + step * 2) % 7), &object(), None);
        }
        fake = match self.below(4) {
            0 => fake.resource(&format!("x://h/{}", self.below(3))),
            1 => fake.template(&format!("x://h/{}{{p}}", self.below(3))),
            _ => fake,
        };
        fake.member(no_prefix)
    }
}

/// Many reloads in a row, in which plugins are added and removed and take over each other's names.
#[test]
fn random_changes_lose_no_plugin_and_are_stable() {
    let mut dice = Dice(7);
    let mut old = Catalog::empty();
    let (mut kept, mut refused) = (0, 0);
    for round in 0..600 {
        let mut candidates = Vec::new();
        for id in ["a", "b", "c", "d", "e", "f"] {
            let serving = old.plugin(&PluginId::new(id).unwrap()).map(|member| (**member).clone());
            let candidate = match (dice.below(6), serving) {
                (0, _) => continue,
                (1 | 2, Some(serving)) => CatalogCandidate::new(serving),
                (3, Some(serving)) => CatalogCandidate::new(dice.member(id))
                    .with_fallback(dice.member(id))
                    .with_fallback(serving),
                (_, Some(serving)) => CatalogCandidate::new(dice.member(id)).with_fallback(serving),
                (_, None) => CatalogCandidate::new(dice.member(id)),
            };
            candidates.push(candidate);
        }
        let build = Catalog::join(round, &candidates, Some(&old));
        check(&candidates, &build, &old);
        kept += build.versions.iter().filter(|pick| pick.is_some_and(|pick| pick > 0)).count();
        refused += build.versions.iter().filter(|pick| pick.is_none()).count();

        let again = Catalog::join(round, &candidates, Some(&build.catalog));
        assert_eq!((&again.versions, &again.refused), (&build.versions, &build.refused), "round {round}");
        old = build.catalog;
    }
    assert!(kept > 150 && refused > 150, "too little happened: {kept} {refused}");
}

/// Properties of every catalog.
#[track_caller]
fn check(candidates: &[CatalogCandidate], build: &CatalogBuild, old: &Catalog) {
    let id = |candidate: &CatalogCandidate| candidate.current().id().as_str().to_owned();
    let served: Vec<_> = candidates.iter().zip(&build.versions).filter(|(_, pick)| pick.is_some()).collect();
    let in_order: Vec<_> = served.iter().map(|(candidate, _)| id(candidate)).collect();
    assert_eq!(ids(&build.catalog), in_order, "plugins are in the order of the file");
    let (mut names, all) = (tools(&build.catalog), build.catalog.tools().len());
    names.sort_by_key(|(_, name)| *name);
    names.dedup_by_key(|(_, name)| *name);
    assert_eq!(names.len(), all, "a name is ambiguous");
    for (candidate, pick) in candidates.iter().zip(&build.versions) {
        let said: Vec<_> = build.refused.iter().filter(|no| no.plugin.as_str() == id(candidate)).collect();
        match pick {
            Some(0) => assert_eq!(said.len(), 0),
            Some(_) => {
                assert!(said.len() == 1 && said[0].replacement == Replacement::EarlierVersion, "{said:?}")
            }
            None => {
                assert!(said.len() == 1 && said[0].replacement == Replacement::Nothing, "{said:?}");
                assert!(old.plugin(candidate.current().id()).is_none(), "`{}` was lost", id(candidate));
            }
        }
        for no in said {
            assert!(!no.conflicts.is_empty());
            let serves = |rival: &PluginId| build.catalog.plugin(rival).is_some();
            assert!(
                no.conflicts.iter().all(|conflict| serves(&conflict.other) && conflict.other != no.plugin)
            );
        }
    }
}
