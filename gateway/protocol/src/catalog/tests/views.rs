//! Tests of views: each answers as if nothing else existed.

use crate::call_rate::CallerLimits;
use crate::names::Principal;
use crate::roles::{
    AccessRole, AccessRoles, CallerCondition, ItemPatterns, NamePattern, RoleMember, UriPattern,
};

use super::*;

fn named(name: &str) -> Principal {
    Principal::Named(name.into())
}

fn names(patterns: &[&str]) -> Vec<NamePattern> {
    patterns.iter().map(|text| NamePattern::new(text, 0..0)).collect()
}

fn uris(patterns: &[&str]) -> Vec<UriPattern> {
    patterns.iter().map(|text| UriPattern::new(text, 0..0)).collect()
}

/// A role of the caller with the same name.
fn role(name: &str, allow: ItemPatterns, deny: ItemPatterns) -> AccessRole {
    let members = vec![RoleMember { span: 0..0, callers: CallerCondition::Token(name.into()) }];
    AccessRole { name: name.into(), span: 0..0, members, allow, deny, limits: CallerLimits::default() }
}

fn plugins(patterns: &[&str]) -> ItemPatterns {
    ItemPatterns { plugins: names(patterns), ..ItemPatterns::default() }
}

fn with_roles(plugins: Vec<CatalogPlugin>, roles: Vec<AccessRole>) -> Arc<Catalog> {
    let catalog = Catalog::build(1, plugins, None).catalog;
    Arc::new(catalog.with_roles(Some(Arc::new(AccessRoles::new(roles)))))
}

fn tool_names(catalog: &Catalog) -> Vec<&str> {
    catalog.tools().iter().map(|entry| entry.public_name().as_str()).collect()
}

fn files() -> CatalogPlugin {
    let files = FakePlugin::new("files").tool("read", &object(), None).tool("remove", &object(), None);
    let files = files.prompt("tidy", &[]).resource("file:///list").template("file:///{+path}");
    files.into_catalog_plugin(|_| {})
}

fn vault() -> CatalogPlugin {
    let vault = FakePlugin::new("vault").tool("open", &object(), None).template("file:///vault/{name}");
    vault.into_catalog_plugin(|policy| policy.uris = vec!["file:///vault/".to_owned()])
}

#[test]
fn a_view_has_only_what_its_roles_allow() {
    let deny = ItemPatterns { tools: names(&["*_remove"]), ..ItemPatterns::default() };
    let catalog = with_roles(
        vec![files(), vault()],
        vec![role("ann", plugins(&["*"]), ItemPatterns::default()), role("bob", plugins(&["files"]), deny)],
    );
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(|name| catalog.visible_to(&named(name)));
    assert_eq!(tool_names(&ann), ["files_read", "files_remove", "vault_open"]);
    assert_eq!((tool_names(&bob), ids(&bob)), (vec!["files_read"], vec!["files"]));
    assert!(bob.tool("files_remove").is_none() && bob.prompt("files_tidy").is_some());
    assert_eq!((tool_names(&eve), ids(&eve)), (vec![], vec![]));
    assert!(eve.resource_owner("file:///list").is_none());
    let digest = |view: &Catalog| ListKind::ALL.map(|kind| view.digest(kind));
    assert_eq!(digest(&ann), digest(&catalog));
    assert_ne!(bob.digest(ListKind::Tools), ann.digest(ListKind::Tools));
    assert_eq!(bob.digest(ListKind::Prompts), ann.digest(ListKind::Prompts));
    assert_eq!(digest(&eve), digest(&Catalog::empty()));
}

#[test]
fn hidden_plugins_claim_no_uris() {
    let catalog = with_roles(
        vec![files(), vault()],
        vec![
            role("ann", plugins(&["*"]), ItemPatterns::default()),
            role("bob", plugins(&["files"]), ItemPatterns::default()),
            role("eve", plugins(&["vault"]), ItemPatterns::default()),
        ],
    );
    let owner = |name: &str, uri: &str| {
        let view = catalog.visible_to(&named(name));
        view.resource_owner(uri).map(|owner| owner.id().to_string())
    };
    assert_eq!(owner("ann", "file:///vault/key").as_deref(), Some("vault"));
    assert_eq!(owner("bob", "file:///vault/key").as_deref(), Some("files"));
    assert_eq!(owner("eve", "file:///vault/key").as_deref(), Some("vault"));
    assert_eq!(owner("eve", "file:///list"), None);
    let hides = |name: &str, uri: &str, source: Option<&str>| {
        let source = source.map(|id| id.parse().unwrap());
        catalog.visible_to(&named(name)).hides_resource(uri, source.as_ref())
    };
    assert!(hides("eve", "file:///list", None) && !hides("eve", "note:///list", None));
    // `files` has a resource of the same name for bob. Other plugins mean that of `vault`.
    assert!(hides("bob", "file:///vault/key", None) && hides("bob", "file:///vault/key", Some("vault")));
    assert!(!hides("bob", "file:///vault/key", Some("files")) && !hides("bob", "file:///list", None));
    assert!(!hides("ann", "file:///vault/key", None));
}

#[test]
fn uris_are_visible_by_themselves() {
    let some = ItemPatterns { resources: uris(&["file:///docs/*"]), ..ItemPatterns::default() };
    let secrets = ItemPatterns { resources: uris(&["file:///secret/*"]), ..ItemPatterns::default() };
    let catalog = with_roles(
        vec![files()],
        vec![role("ann", some, ItemPatterns::default()), role("bob", plugins(&["files"]), secrets)],
    );
    let [ann, bob] = ["ann", "bob"].map(|name| catalog.visible_to(&named(name)));
    let sees = |view: &Catalog, uri: &str| view.resource_owner(uri).is_some();
    assert_eq!((ann.templates().len(), ann.resources().len()), (0, 0));
    assert!(sees(&ann, "file:///docs/a") && !sees(&ann, "file:///list") && !sees(&ann, "file:///docs/../a"));
    assert_eq!((bob.templates().len(), bob.resources().len()), (1, 1));
    assert!(sees(&bob, "file:///docs/a") && sees(&bob, "file:///list"));
    for secret in ["file:///secret/a", "file:///docs/../secret/a", "file:///%73ecret/a", "file:////secret//a"]
    {
        assert!(!sees(&bob, secret), "{secret}");
    }
}

#[test]
fn views_of_many_roles_leave_those_in_use() {
    let name = |number: usize| format!("caller-{number}");
    let role = |number| role(&name(number), plugins(&["*"]), ItemPatterns::default());
    let catalog = with_roles(vec![files()], (0..200).map(role).collect());
    let of = |number: usize| catalog.visible_to(&named(&name(number)));
    let (first, second) = (of(0), of(1));
    for number in 2..200 {
        let _ = of(number);
        assert!(Arc::ptr_eq(&first, &of(0)), "it is used all the time");
    }
    let again = of(1);
    assert!(!Arc::ptr_eq(&second, &again) && second.view_id() != again.view_id(), "it wasn't used for long");
    assert_eq!(tool_names(&second), tool_names(&again));
}

#[test]
fn callers_with_the_same_roles_share_a_view() {
    let mut shared = role("ann", plugins(&["*"]), ItemPatterns::default());
    shared.members.push(RoleMember { span: 0..0, callers: CallerCondition::Token("bob".into()) });
    let catalog = with_roles(vec![files()], vec![shared]);
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(|name| catalog.visible_to(&named(name)));
    assert!(Arc::ptr_eq(&ann, &bob) && !Arc::ptr_eq(&ann, &eve));
    assert_eq!(ann.view_id(), bob.view_id());
    assert_ne!(ann.view_id(), eve.view_id());
    assert_eq!((ann.role_names(), eve.role_names()), (Some(vec!["ann"]), Some(vec![])));
    assert!(Arc::ptr_eq(&ann, &ann.visible_to(&named("eve"))), "a view has no further views");
    let whole = Arc::new(Catalog::build(1, vec![files()], None).catalog.with_roles(None));
    assert!(Arc::ptr_eq(&whole, &whole.visible_to(&named("eve"))));
}

#[test]
fn plugins_are_whole_if_nothing_of_them_is_hidden() {
    let deny = ItemPatterns { resources: uris(&["file:///list"]), ..ItemPatterns::default() };
    let catalog = with_roles(
        vec![files(), vault()],
        vec![role("ann", plugins(&["*"]), ItemPatterns::default()), role("bob", plugins(&["*"]), deny)],
    );
    let whole = |name: &str| {
        let view = catalog.visible_to(&named(name));
        view.whole_plugins().map(|catalog_plugin| catalog_plugin.id().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(whole("ann"), ["files", "vault"]);
    assert_eq!(whole("bob"), ["vault"]);
    assert_eq!(whole("eve"), [""; 0]);
}
