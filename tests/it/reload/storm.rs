//! Plugins that are replaced repeatedly while clients call them.

/// Broken replacements don't affect the running version.
mod broken;
/// Clients of both eras, over both transports.
mod clients;
/// Killed in the middle of a reload, and restarted.
mod killed;
/// Many reloads leak no resources.
mod many;

use moongate_generated::Plugin;
use moongate_tests::Workspace;

/// The tool that identifies a version.
fn tool(version: u32) -> String {
    format!("v{version}")
}

/// A version with its own list of tools. Every other version takes some milliseconds for a call, so that calls run
/// while it is replaced.
fn version(version: u32) -> Plugin {
    let rounds = if version.is_multiple_of(2) { 3_000_000 } else { 0 };
    Plugin::version(version).tool(tool(version)).rounds(rounds)
}

/// The version named in a response.
#[track_caller]
fn version_in(text: &str) -> u32 {
    text.strip_prefix('v')
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("not a version: {text:?}"))
}

/// A workspace with these plugins, each in a file of its name and without tool prefixes, and an admin listener.
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
