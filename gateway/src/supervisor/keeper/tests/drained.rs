//! How long code that serves no more is kept.

use std::path::PathBuf;

use moongate_core::config::{ClientFeature, PluginConfig};
use moongate_core::mcp;
use moongate_core::names::PluginId;

use crate::supervisor::keeper::drain;

#[test]
fn conversations_may_end_on_earlier_code_but_not_with_grants_that_were_taken_away() {
    let bare = PluginConfig::bare(PluginId::new("a").unwrap(), PathBuf::from("a.wasm"));
    let mut granted = bare.clone();
    granted.allow.client.insert(ClientFeature::Sampling);
    let running = bare.limits.timeout + bare.limits.cancel_grace;
    assert_eq!(drain(&bare, Some(&bare)), mcp::PATIENCE + running);
    assert_eq!(drain(&bare, Some(&granted)), mcp::PATIENCE + running);
    assert_eq!(drain(&granted, Some(&bare)), running);
    assert_eq!(drain(&bare, None), running);
}
