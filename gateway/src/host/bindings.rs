//! The contract in Rust: what `bindgen!` makes of `wit/`, and the names that the rest of the host uses of it.
//!
//! This is the only place that reads the WIT. Nothing is decided here: imports are implemented in `imports`,
//! exports are found in `exports`, and `conv` turns the contract's types into the core's.

mod generated {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "
            package moongate:gateway;
            world host {
                include moongate:plugin/full-plugin@0.1.0;
                include moongate:plugin/imports-and-cancellation@0.1.0;
            }
        ",
        imports: {
            // What waits for a disk.
            "wasi:keyvalue/store.[method]bucket.get": async | trappable,
            "wasi:keyvalue/store.[method]bucket.set": async | trappable,
            "wasi:keyvalue/store.[method]bucket.delete": async | trappable,
            "wasi:keyvalue/store.[method]bucket.exists": async | trappable,
            "wasi:keyvalue/store.[method]bucket.list-keys": async | trappable,
            "wasi:keyvalue/atomics.[static]cas.new": async | trappable,
            "wasi:keyvalue/atomics.increment": async | trappable,
            "wasi:keyvalue/atomics.swap": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        with: {
            "wasi:io/poll": wasmtime_wasi::p2::bindings::io::poll,
            "wasi:keyvalue/store.bucket": crate::host::wasi::keyvalue::types::Bucket,
            "wasi:keyvalue/atomics.cas": crate::host::wasi::keyvalue::types::Cas,
        },
    });
}

/// What plugins call.
pub(super) use generated::moongate::plugin::{cancellation, changes, log, progress, request, types};
pub(super) use generated::wasi::config::store as config_store;
pub(super) use generated::wasi::keyvalue::{atomics as kv_atomics, store as kv_store};

/// What plugins are asked.
pub(super) use generated::exports::moongate::plugin::{completions, lifecycle, prompts, resources, tools};
