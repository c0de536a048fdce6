//! The code that `wit-bindgen` generates from `wit/`: one module for the imports and one for each interface that a
//! plugin can export.
//!
//! The modules are separate so that a component exports only the interfaces it has and imports only the functions it
//! calls. The contract's types are generated once, in [`shared`], and used by all of them. Outside this crate, only
//! the code that `#[plugin]` and [`export!`](crate::export) generate names these modules. Plugin authors use the
//! types as re-exports.
#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    unused_lifetimes,
    missing_debug_implementations,
    rust_2018_idioms,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::str_to_string,
    clippy::too_many_lines,
    clippy::needless_pass_by_value,
    reason = "generated code"
)]

/// The contract's types. None of them is a WASI resource, so they can be compared.
pub mod shared {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package moongate:sdk; world shared { import moongate:plugin/types@0.1.0; }",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

pub use shared::moongate::plugin::types;

/// The functions that the gateway offers.
pub mod imports {
    wit_bindgen::generate!({
        path: "wit",
        world: "moongate:plugin/imports",
        with: { "moongate:plugin/types@0.1.0": crate::bindings::types },
        generate_all,
        type_section_suffix: "moongate-imports",
    });
}

/// Generates the module of one export interface.
macro_rules! export_interface {
    ($module:ident, $export:literal, $world:literal) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: "wit",
                inline: $world,
                with: { "moongate:plugin/types@0.1.0": crate::bindings::types },
                additional_derives: [PartialEq],
                pub_export_macro: true,
                export_macro_name: $export,
                type_section_suffix: $export,
            });
            pub use self::exports::moongate::plugin::$module::*;
        }
    };
}

export_interface!(
    lifecycle,
    "export_lifecycle",
    "package moongate:sdk; world lifecycle { export moongate:plugin/lifecycle@0.1.0; }"
);
export_interface!(
    tools,
    "export_tools",
    "package moongate:sdk; world tools { export moongate:plugin/tools@0.1.0; }"
);
export_interface!(
    resources,
    "export_resources",
    "package moongate:sdk; world resources { export moongate:plugin/resources@0.1.0; }"
);
export_interface!(
    prompts,
    "export_prompts",
    "package moongate:sdk; world prompts { export moongate:plugin/prompts@0.1.0; }"
);
export_interface!(
    completions,
    "export_completions",
    "package moongate:sdk; world completions { export moongate:plugin/completions@0.1.0; }"
);
