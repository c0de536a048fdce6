//! Publishing: from a crate to a component that others can use.
//!
//! # Build
//! ```toml
//! [package]
//! name = "weather"                       # the plugin's name, unless `#[plugin(name = …)]` overrides it
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
//! If calls often have arguments or results of many kilobytes, let the allocator start with enough memory, in
//! `.cargo/config.toml`. Otherwise, each call grows the plugin's memory, and growing interrupts all processors:
//!
//! ```toml
//! [target.wasm32-wasip2]
//! rustflags = ["-Clink-arg=--initial-heap=262144"]
//! ```
//!
//! The component is `target/wasm32-wasip2/release/weather.wasm`: a single file of a few hundred kilobytes without
//! dependencies.
//!
//! # Look at it as an operator does
//! ```console
//! $ moongate inspect target/wasm32-wasip2/release/weather.wasm
//! $ moongate call --config try.toml --explain weather_forecast city=Oslo
//! ```
//!
//! `inspect` shows tools, schemas, sizes, and the component's imports, which show the grants that it will need.
//! `call` loads the plugin in section `[plugins.weather]` of `try.toml`, and `--explain` shows which grants it used
//! and which were missing.
//!
//! # Say what it needs
//! In the README, show the configuration with a reason for each grant:
//!
//! ```toml
//! [plugins.weather]
//! source = "weather.wasm"
//! sha256 = "…"                           # of the published file, so that no other file is loaded
//!
//! [plugins.weather.allow]
//! http = ["https://api.weather.example"] # forecasts
//! state = true                           # recent cities
//! ```
//!
//! # Versions
//! A component implements a version of the contract, `moongate:plugin@0.1.0`, not of MCP, so old plugins work with
//! clients of new MCP revisions. Gateways with contract 0.1 run every plugin that was built for 0.1.x, and reject
//! others with an error that names both versions. For the plugin's own version, follow semantic versioning: removing
//! or renaming a tool, or changing its arguments or results, is a breaking change for its callers.
