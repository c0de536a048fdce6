//! Plugins that are replaced again and again while clients call them.

/// What is broken takes nothing from what serves.
mod broken;
/// What clients of each era see, over each transport.
mod clients;
/// Ended in the middle, and started again.
mod killed;
/// Many reloads cost nothing that stays.
mod many;

use moongate_generated::Plugin;
use moongate_tests::Workspace;

/// The tool by which a version is told from all others.
fn tool(version: u32) -> String {
    format!("v{version}")
}

/// A version with a list of tools of its own. Every other one takes some milliseconds for a call, so that calls run
/// when it is replaced.
fn version(version: u32) -> Plugin {
    let rounds = if version.is_multiple_of(2) { 3_000_000 } else { 0 };
    Plugin::version(version).tool(tool(version)).rounds(rounds)
}

/// The version that an answer names.
#[track_caller]
fn named(text: &str) -> u32 {
    text.strip_prefix('v')
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no version: {text:?}"))
}

/// A folder with these plugins, each in the file of its name, all with their tools' own names, and an operator's
/// listener.
fn workspace(plugins: &[&str], tables: &str) -> Workspace {
    let mut config = String::from("[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n");
    for plugin in plugins {
        config.push_str(&format!("[plugins.{plugin}]\nsource = \"{plugin}.wasm\"\nprefix = \"\"\n"));
    }
    let workspace = Workspace::new(&(config + tables));
    for plugin in plugins {
        workspace.write(&format!("{plugin}.wasm"), version(1).build());
    }
    workspace
}
