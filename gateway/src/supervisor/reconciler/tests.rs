//! The reconciler with fake plugins and a paused clock.

use super::*;

mod configuration;
mod file_changes;
mod requests;

#[test]
fn revoked_grants_shorten_the_retire_delay() {
    let bare = PluginConfig::ungranted(PluginId::new("a").unwrap(), PathBuf::from("a.wasm"));
    let mut granted = bare.clone();
    granted.allow.client.insert(moongate_config::ClientFeature::Sampling);
    let running = bare.limits.timeout + bare.limits.cancel_grace;
    assert_eq!(retire_delay(&bare, Some(&bare)), mcp::QUESTION_TIMEOUT + running);
    assert_eq!(retire_delay(&bare, Some(&granted)), mcp::QUESTION_TIMEOUT + running);
    assert_eq!(retire_delay(&granted, Some(&bare)), running);
    assert_eq!(retire_delay(&bare, None), running);
}
