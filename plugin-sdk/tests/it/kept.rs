//! Stored values.

use moongate_sdk::kv::{self, KvError};
use moongate_sdk::prelude::{Context, ToolError, plugin};
use moongate_sdk::testing::Client;
use serde_json::json;

#[derive(Default)]
struct Keeps;

/// Stores values.
#[plugin]
impl Keeps {
    /// Uses all functions in turn.
    #[tool]
    fn all(&self) -> Result<String, KvError> {
        kv::set("text", "a")?;
        kv::set_bytes("bytes", b"\x00")?;
        kv::set("list", &[1, 2])?;
        kv::delete("list")?;
        kv::delete("list")?;
        let text: Option<String> = kv::get("text")?;
        let known = (kv::exists("bytes")?, kv::exists("list")?, kv::get_bytes("bytes")?);
        kv::increment("n", 2)?;
        let number = (kv::increment("n", -5)?, kv::get::<i64>("n")?);
        Ok(format!("{text:?} {known:?} {number:?} {:?}", kv::keys()?))
    }

    /// Adds to a list atomically.
    #[tool]
    fn add(&self, item: &str) -> Result<String, KvError> {
        let all = kv::update("items", |old: Option<Vec<String>>| {
            let mut items = old.unwrap_or_default();
            items.push(item.to_owned());
            items
        })?;
        kv::update_bytes("raw", |old| [old.unwrap_or_default(), item.as_bytes().to_vec()].concat())?;
        Ok(all.join(" "))
    }

    /// Takes from the rest, if there is enough.
    #[tool]
    fn take(&self, count: u32) -> Result<String, ToolError> {
        let left =
            kv::try_update("left", |old: Option<u32>| match old.unwrap_or_default().checked_sub(count) {
                Some(_) if count == 0 => Ok(None),
                Some(left) => Ok(Some(left)),
                None => Err(ToolError::failed("there isn't so much left")),
            })?;
        Ok(format!("{left:?}"))
    }

    /// Reads a string as a number.
    #[tool]
    fn mistake(&self) -> Result<String, KvError> {
        kv::get::<u8>("text").map(|number| format!("{number:?}"))
    }

    /// Adds to a string.
    #[tool]
    fn add_to_text(&self, _ctx: &Context) -> Result<i64, KvError> {
        kv::increment("text", 1)
    }
}

fn call(client: &Client<Keeps>, tool: &str) -> String {
    client.call(tool, json!({})).unwrap().all_text()
}

#[test]
fn stores_values() {
    let client = Client::<Keeps>::new();
    let text_of = call(&client, "all");
    assert_eq!(text_of, "Some(\"a\") (true, false, Some([0])) (-3, Some(-3)) [\"bytes\", \"n\", \"text\"]");
    assert_eq!(client.kv::<i64>("n"), Some(-3), "another call finds it");
}

#[test]
fn lists_all_pages_of_keys() {
    let client =
        ["b", "c", "d", "e"].into_iter().fold(Client::<Keeps>::new(), |client, key| client.kept(key, 1));
    assert!(call(&client, "all").ends_with(r#"["b", "bytes", "c", "d", "e", "n", "text"]"#));
}

#[test]
fn retries_contended_updates() {
    let client = Client::<Keeps>::new().kept("items", ["a"]).kv_contended(3);
    assert_eq!(client.call("add", json!({ "item": "b" })).unwrap().all_text(), "a b");
    assert_eq!(client.kv::<Vec<String>>("items").unwrap(), ["a", "b"]);
    let busy = Client::<Keeps>::new().kv_contended(1000);
    let result = busy.call("add", json!({ "item": "b" })).unwrap();
    assert!(result.failed());
    assert_eq!(result.all_text(), "too many concurrent changes to `items`; try again");
}

#[test]
fn update_can_fail_or_do_nothing() {
    let client = Client::<Keeps>::new().kept("left", 5);
    let take = |count: u32| client.call("take", json!({ "count": count })).unwrap().all_text();
    assert_eq!(take(2), "Some(3)");
    assert_eq!(take(4), "there isn't so much left");
    assert_eq!(take(0), "None");
    assert_eq!(client.kv::<u32>("left"), Some(3));
}

#[test]
fn update_sees_concurrent_writes() {
    let client = Client::<Keeps>::new().kept("left", 5).kv_meanwhile("left", 4).kv_meanwhile("left", 2);
    let take = |count: u32| client.call("take", json!({ "count": count })).unwrap().all_text();
    assert_eq!(take(1), "Some(1)");
    assert_eq!(client.kv::<u32>("left"), Some(1));
    let client = Client::<Keeps>::new().kept("left", 5).kv_meanwhile("left", 1);
    let result = client.call("take", json!({ "count": 2 })).unwrap();
    assert_eq!((result.all_text().as_str(), client.kv::<u32>("left")), ("there isn't so much left", Some(1)));
}

#[test]
fn reports_errors() {
    let client = Client::<Keeps>::new().kept("text", "a");
    assert!(call(&client, "mistake").starts_with("invalid value under `text`: "));
    assert!(call(&client, "add_to_text").contains("cannot add 1 to `text`"));
    assert!(call(&client.kv_denied(), "all").contains("state isn't granted"));
}
