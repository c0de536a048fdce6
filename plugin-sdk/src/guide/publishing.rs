//! Publishing: from a crate to a component that others use.
//!
//! # Build
//! ```toml
//! [package]
//! name = "weather"                       # the plugin's name, unless `#[plugin(name = …)]` says otherwise
//! version = "1.2.0"                      # its version, which `moongate list plugins` shows
//! description = "Forecasts."
//! edition = "2024"
//!
//! [lib]
//! crate-type = ["cdylib", "rlib"]        # the component, and what `cargo test` links
//!
//! [dependencies]
//! moongate-sdk = { path = "../moongate/plugin-sdk" }
//! schemars = "1"
//! serde = { version = "1", features = ["derive"] }
//!
//! [profile.release]                      # small components load faster
//! opt-level = "s"
//! lto = true
//! strip = true
//! panic = "abort"
//! codegen-units = 1
//! ```
//!
//! ```console
//! $ rustup target add wasm32-wasip2
//! $ cargo test
//! $ cargo build --release --target wasm32-wasip2
//! ```
//!
//! The component is `target/wasm32-wasip2/release/weather.wasm`: one file, a few hundred kilobytes, which needs nothing
//! beside it.
//!
//! # Look at it as an operator does
//! ```console
//! $ moongate inspect target/wasm32-wasip2/release/weather.wasm
//! $ moongate call --config try.toml --explain weather_forecast city=Oslo
//! ```
//!
//! `inspect` shows tools, schemas, sizes, and what the component imports, which is what an operator will be asked to grant.
//! `call` loads what the table `[plugins.weather]` of `try.toml` names, and `--explain` says which grants it used and
//! lacked.
//!
//! # Say what it needs
//! A README has the table that runs it, with each grant and why:
//!
//! ```toml
//! [plugins.weather]
//! source = "weather.wasm"
//! sha256 = "…"                           # of the file that you publish: then no other is loaded
//!
//! [plugins.weather.allow]
//! http = ["https://api.weather.example"] # forecasts
//! state = true                           # the cities asked for last
//! ```
//!
//! # Versions
//! A component speaks a version of the contract, `moongate:plugin@0.1.0`, not one of MCP: clients of new revisions of MCP
//! get old plugins too. Gateways that speak 0.1 run every plugin that was built for 0.1.x, and refuse others with a
//! sentence that names both versions. For the plugin's own version the usual rules hold: a tool that goes, is renamed, or
//! takes or gives something else is a breaking change for whoever calls it.
