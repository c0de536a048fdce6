//! A test of a type that isn't a plugin.

use moongate_sdk::prelude::*;
use moongate_sdk::testing::Client;

#[derive(Default)]
struct Mine;

impl Mine {
    /// Finds.
    fn find(&self) -> Json<u8> {
        Json(1)
    }
}

fn main() {
    let client = Client::<Mine>::new();
    client.call("find", serde_json::json!({})).unwrap();
}
