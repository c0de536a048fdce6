//! The tool `echo` as a component for ACT, which `cargo xtask bench` measures.

use act_sdk::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct EchoArgs {
    /// What comes back.
    text: String,
}

#[act_component]
mod component {
    use super::*;

    #[act_tool(description = "Says it again.", read_only)]
    fn echo(args: EchoArgs) -> ActResult<String> {
        Ok(args.text)
    }
}
