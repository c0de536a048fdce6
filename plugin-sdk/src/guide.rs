//! One page for each thing that a plugin can do. There is nothing here but words and examples.
//!
//! | to | read |
//! |---|---|
//! | offer functions to a model | [`tools`], and [`arguments`] for what they take |
//! | answer | [`results`] for text, structured content, images and links; [`errors`] for the rest |
//! | let hosts read data | [`resources`] |
//! | prepare messages for a person to choose | [`prompts`], and [`completion`] for suggestions while they type |
//! | ask the person, the model or the program | [`crate::input`] |
//! | say how far a call is, write to the log, notice that nobody waits any more, tell of changes | [`telling`] |
//! | ask other servers | [`crate::http`] |
//! | keep something from one call to the next | [`crate::kv`] |
//! | be set up by the operator | [`settings`] for settings, secrets and the environment |
//! | read and write files | [`files`] |
//! | test all that without a gateway | [`crate::testing`] |
//! | give it to others | [`publishing`] |
//!
//! What a plugin may do beyond computing, the operator grants in its table of `gateway.toml`. A refusal is an error that
//! names the line which would grant it.

pub mod arguments;
pub mod completion;
pub mod errors;
pub mod files;
pub mod prompts;
pub mod publishing;
pub mod resources;
pub mod results;
pub mod settings;
pub mod telling;
pub mod tools;
