//! The suggested grants and settings of built-in plugins, as lines of their tables.

use moongate_model::builtin_plugin::BuiltinPlugin;

/// Lines for the tables of a plugin.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct SuggestedGrants {
    /// A sentence for lists.
    pub(in crate::cli) description: &'static str,
    /// The prefix of public names, if the plugin's name would repeat the names of its tools.
    pub(in crate::cli) prefix: Option<&'static str>,
    /// The keys and values of `allow`.
    pub(in crate::cli) allow: &'static [(&'static str, &'static str)],
    /// The lines of `config`.
    pub(in crate::cli) config: &'static [&'static str],
    /// True if it is useless without a directory.
    pub(in crate::cli) needs_directory: bool,
    /// The resource templates that every instance claims, but only one can offer.
    pub(in crate::cli) shared_resources: &'static [&'static str],
}

/// The suggestion for a built-in plugin.
pub(in crate::cli) fn suggested_grants(plugin: BuiltinPlugin) -> SuggestedGrants {
    let nothing = |description| SuggestedGrants {
        description,
        prefix: None,
        allow: &[],
        config: &[],
        needs_directory: false,
        shared_resources: &[],
    };
    match plugin {
        BuiltinPlugin::Filesystem => SuggestedGrants {
            allow: &[("instructions", "true")],
            needs_directory: true,
            shared_resources: &["file:///{+path}"],
            ..nothing("Read, write, edit, list, search and move files in the allowed directories.")
        },
        BuiltinPlugin::Fetch => SuggestedGrants {
            prefix: Some(""),
            allow: &[("http", r#"["https://*"]"#)],
            ..nothing("Fetch web pages as readable text.")
        },
        BuiltinPlugin::Git => SuggestedGrants {
            prefix: Some(""),
            needs_directory: true,
            ..nothing("Read and change a Git repository: status, diffs, log, staging, commits and branches.")
        },
        BuiltinPlugin::Memory => SuggestedGrants {
            allow: &[("state", r#""memory""#)],
            ..nothing(
                "Remember a knowledge graph across conversations: entities with observations, and relations between them.",
            )
        },
        BuiltinPlugin::SequentialThinking => SuggestedGrants {
            prefix: Some(""),
            allow: &[("state", "true")],
            ..nothing("Think through problems in steps that can be revised and branched.")
        },
        BuiltinPlugin::Time => SuggestedGrants {
            config: &[r#"local_timezone = "${TZ}""#],
            ..nothing("Get the current time in any time zone and convert times between time zones.")
        },
        BuiltinPlugin::Everything => SuggestedGrants {
            allow: &[("client", r#"["elicitation", "sampling", "roots"]"#), ("state", "true")],
            ..nothing("One of each thing that MCP knows, for testing clients and gateways.")
        },
    }
}
