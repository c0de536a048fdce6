//! Tests of walking through pages while the catalog changes.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::{CacheScope, Identity, Method, ProtocolOptions, SealingKey, StartedRequest};
use super::*;
use crate::call::DiscardSink;
use crate::caller::Caller;
use crate::catalog::Catalog;
use crate::catalog::fake::{FakePlugin, IntoCatalogPlugin as _};
use crate::dispatch::Dispatcher;
use crate::limiter::ConcurrencyLimiter;

const METHODS: [(Method, &str, &str); 4] = [
    (Method::ListTools, "tools", "name"),
    (Method::ListPrompts, "prompts", "name"),
    (Method::ListResources, "resources", "uri"),
    (Method::ListTemplates, "resourceTemplates", "uriTemplate"),
];

/// A gateway whose catalog a test can change.
struct Gateway {
    protocol: Arc<Protocol>,
    catalog: watch::Sender<Arc<Catalog>>,
    generation: u64,
}

impl Gateway {
    fn new(size: Option<u32>, items: &[&str]) -> Self {
        let (catalog, seen) = watch::channel(Arc::new(Catalog::empty()));
        let options = ProtocolOptions {
            identity: Identity::default(),
            cache_scope: CacheScope::Private,
            page_size: size.and_then(NonZeroU32::new),
            sealing_key: SealingKey::shared("test"),
            used_states: None,
        };
        let protocol = Protocol::new(Dispatcher::new(seen, Arc::new(ConcurrencyLimiter::new(1))), options);
        let mut gateway = Self { protocol: Arc::new(protocol), catalog, generation: 0 };
        gateway.now_offers(items);
        gateway
    }

    /// One tool, prompt, resource and template for each name.
    fn now_offers(&mut self, items: &[&str]) {
        self.generation += 1;
        let object = json!({ "type": "object" });
        let offer = |fake: FakePlugin, name: &&str| {
            fake.tool(name, &object, None)
                .prompt(name, &[])
                .resource(&format!("test://one/{name}"))
                .template(&format!("test://many/{name}/{{x}}"))
        };
        let fake = items.iter().fold(FakePlugin::new("p"), offer);
        let built = Catalog::build(self.generation, vec![fake.into_catalog_plugin(|_| {})], None);
        self.catalog.send_replace(Arc::new(built.catalog));
    }

    fn list(&self, method: Method, revision: Revision, params: &Value) -> Result<Value, ProtocolError> {
        let request_context = RequestContext {
            revision,
            caller: Caller::LOOPBACK,
            session: None,
            client: None,
            capabilities: Arc::default(),
            cancel: tokio_util::sync::CancellationToken::new(),
            sink: Arc::new(DiscardSink),
            peer: None,
        };
        let raw = serde_json::value::to_raw_value(params).unwrap();
        match self.protocol.start(request_context, method, Params::read(Some((&*raw).into())).unwrap()) {
            StartedRequest::Ready(RequestAnswer::Shared(text)) => {
                Ok(serde_json::from_str(text.get()).unwrap())
            }
            StartedRequest::Ready(RequestAnswer::Result(text) | RequestAnswer::ToolError(text)) => {
                Ok(serde_json::from_slice(text.json()).unwrap())
            }
            StartedRequest::Ready(RequestAnswer::Error(error)) => Err(error),
            StartedRequest::Pending(_) => panic!("a list takes no while"),
        }
    }

    /// One page, and the cursor of the next one.
    fn page(
        &self,
        (method, member, key): (Method, &str, &str),
        cursor: Option<&str>,
    ) -> (Vec<String>, Option<String>) {
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let page = self.list(method, Revision::V2026_07_28, &params).unwrap();
        assert_eq!((&page["cacheScope"], &page["resultType"]), (&json!("private"), &json!("complete")));
        let items = page[member].as_array().unwrap();
        let names = items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect();
        let next = page.get("nextCursor").map(|next| next.as_str().unwrap().to_owned());
        assert_ne!(next.as_deref(), Some(""));
        (names, next)
    }
}

#[test]
fn lists_everything_without_a_page_size() {
    let gateway = Gateway::new(None, &["zebra", "ant", "mole"]);
    for revision in Revision::ALL {
        for (method, member, key) in METHODS {
            let list = gateway.list(method, revision, &json!({ "cursor": null })).unwrap();
            let first = list[member][0][key].as_str().unwrap();
            assert!(first.contains("zebra") && list[member].as_array().unwrap().len() == 3, "{list}");
            assert!(list.get("nextCursor").is_none(), "{list}");
        }
    }
}

#[test]
fn pages_contain_every_item_once() {
    for size in 1..=4 {
        let gateway = Gateway::new(Some(size), &["zebra", "ant", "mole"]);
        for kind in METHODS {
            let (mut seen, mut cursor) = gateway.page(kind, None);
            let mut pages = 1;
            while let Some(next) = cursor {
                let (items, after) = gateway.page(kind, Some(&next));
                assert!(!items.is_empty(), "an empty page");
                (seen, cursor, pages) = ([seen, items].concat(), after, pages + 1);
            }
            assert_eq!(pages, 3_u32.div_ceil(size), "{seen:?}");
            assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (3, 3), "{seen:?}");
        }
    }
}

#[test]
fn remaining_item_is_listed_exactly_once() {
    let names: Vec<String> = (b'a'..=b'p').map(|letter| char::from(letter).to_string()).collect();
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64; // xorshift: the same catalogs in every run
    let mut roll = move || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice
    };
    for _ in 0..20 {
        let offer = |bits: u64| -> Vec<&str> {
            (0..names.len()).filter(|at| bits >> at & 1 == 1).map(|at| names[at].as_str()).collect()
        };
        let stays = roll() & roll();
        let size = u32::try_from(roll() % 3 + 1).unwrap();
        let mut gateway = Gateway::new(Some(size), &offer(stays | roll() & roll()));
        for kind in METHODS {
            let (mut seen, mut cursor) = gateway.page(kind, None);
            while let Some(next) = cursor {
                let mut now = offer(stays | roll() & roll());
                if roll() % 2 == 0 {
                    now.reverse();
                }
                gateway.now_offers(&now);
                let (items, after) = gateway.page(kind, Some(&next));
                (seen, cursor) = ([seen, items].concat(), after);
            }
            let distinct: BTreeSet<_> = seen.iter().collect();
            assert_eq!(distinct.len(), seen.len(), "listed twice: {seen:?}");
            for name in offer(stays) {
                let is = |it: &&String| {
                    [format!("p_{name}"), format!("test://one/{name}"), format!("test://many/{name}/{{x}}")]
                        .contains(it)
                };
                assert!(seen.iter().any(|it| is(&it)), "`{name}` is missing in {seen:?}");
            }
        }
    }
}

#[test]
fn rejects_cursors_of_other_lists() {
    let gateway = Gateway::new(Some(1), &["a", "b", "c"]);
    let cursors: Vec<String> = METHODS.iter().map(|kind| gateway.page(*kind, None).1.unwrap()).collect();
    for (at, (method, ..)) in METHODS.into_iter().enumerate() {
        let own = &cursors[at];
        let mut wrong = vec![json!(""), json!("x"), json!("p_a"), json!(1), json!([own]), json!(true)];
        wrong.push(json!(format!("{own}x")));
        wrong.push(json!(own[..own.len() - 1]));
        wrong.extend(cursors.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, it)| json!(it)));
        for revision in Revision::ALL {
            for cursor in &wrong {
                let error = gateway.list(method, revision, &json!({ "cursor": cursor })).unwrap_err();
                let data = error.error.data.as_ref().map(|data| data.to_value().unwrap());
                assert_eq!((error.error.code, data), (-32602, Some(json!({ "at": "/cursor" }))), "{cursor}");
            }
            assert!(gateway.list(method, revision, &json!({ "cursor": own })).is_ok());
        }
    }
}

#[test]
fn shared_key_accepts_cursors_of_other_gateways() {
    let one = Gateway::new(Some(2), &["a", "b", "c"]);
    let (_, cursor) = one.page(METHODS[0], None);
    let other = Gateway::new(None, &["c", "b", "a", "d"]);
    assert_eq!(other.page(METHODS[0], cursor.as_deref()), (vec!["p_c".to_owned(), "p_d".to_owned()], None));
}

#[test]
fn large_lists_of_many_views_are_not_kept() {
    let cache = ListCache::new(None);
    let views: Vec<ViewId> = (0..4).map(|view| ViewId { generation: 1, view }).collect();
    let text = json!("x".repeat(MAX_RENDERED_BYTES / 2 + 1)).to_string();
    let large = Json::from(RawValue::from_string(text).unwrap());
    for (at, id) in views.into_iter().enumerate() {
        let lists = cache.rendered(id, CacheScope::Private);
        assert_eq!(cache.current.lock().unwrap().len(), [1, 2, 1, 2][at]);
        lists.bodies[0][0].get_or_init(|| Arc::new(large.clone()));
    }
}
