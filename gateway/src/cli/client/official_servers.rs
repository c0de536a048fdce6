//! Official MCP servers in a host's file that built-in plugins replace.

use moongate_model::builtin_plugin::BuiltinPlugin;

/// The packages of the official server that the plugin replaces, on npm, PyPI and Docker Hub.
fn packages(plugin: BuiltinPlugin) -> &'static [&'static str] {
    match plugin {
        BuiltinPlugin::Filesystem => &["@modelcontextprotocol/server-filesystem", "mcp/filesystem"],
        BuiltinPlugin::Fetch => &["mcp-server-fetch", "mcp_server_fetch", "mcp/fetch"],
        BuiltinPlugin::Git => &["mcp-server-git", "mcp_server_git", "mcp/git"],
        BuiltinPlugin::Memory => &["@modelcontextprotocol/server-memory", "mcp/memory"],
        BuiltinPlugin::SequentialThinking => {
            &["@modelcontextprotocol/server-sequential-thinking", "mcp/sequentialthinking"]
        }
        BuiltinPlugin::Time => &["mcp-server-time", "mcp_server_time", "mcp/time"],
        BuiltinPlugin::Everything => &["@modelcontextprotocol/server-everything", "mcp/everything"],
    }
}

/// The package of the official server that the file starts and that the plugin replaces.
pub(super) fn replaced_package(text: &str, plugin: BuiltinPlugin) -> Option<&'static str> {
    packages(plugin).iter().copied().find(|package| {
        text.lines().filter(|line| !is_comment(line)).any(|line| starts_a_string(line, package))
    })
}

/// JSON with comments has `//`, and TOML has `#`.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with('#')
}

/// True if the line contains a string that is this package, with or without a version.
fn starts_a_string(line: &str, package: &str) -> bool {
    line.match_indices(package).any(|(at, _)| {
        let before = &line[..at];
        let after = &line[at + package.len()..];
        let is_start = before.ends_with(['"', '\'']) && !before.ends_with("\\\"");
        is_start && after.starts_with(['"', '\'', '@', ':', '='])
    })
}

#[cfg(test)]
mod tests {
    //! Lines of hosts' files.

    use super::*;

    #[test]
    fn finds_packages_that_a_file_starts() {
        let filesystem = |text| replaced_package(text, BuiltinPlugin::Filesystem).is_some();
        for line in [
            r#""args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ann"]"#,
            r#"  "@modelcontextprotocol/server-filesystem@2025.8.21","#,
            r"args = ['-y', '@modelcontextprotocol/server-filesystem']",
            r#""args": ["run", "-i", "mcp/filesystem:latest"]"#,
        ] {
            assert!(filesystem(line), "{line}");
        }
        for line in [
            r#"// "@modelcontextprotocol/server-filesystem""#,
            r#"# args = ["@modelcontextprotocol/server-filesystem"]"#,
            r#""args": ["@modelcontextprotocol/server-filesystem-extra"]"#,
            r#""args": ["/srv/mcp/filesystem"]"#,
            r#""history": ["start \"@modelcontextprotocol/server-filesystem\" again"]"#,
            r#""args": ["@modelcontextprotocol/server-memory"]"#,
        ] {
            assert!(!filesystem(line), "{line}");
        }
        let fetch = |text| replaced_package(text, BuiltinPlugin::Fetch);
        assert_eq!(fetch(r#""args": ["mcp-server-fetch==2025.4.7"]"#), Some("mcp-server-fetch"));
    }
}
