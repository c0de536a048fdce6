//! The attribute macros of `moongate-sdk`: `#[plugin]`, and the attributes that it reads.
//!
//! `#[plugin]` reads an `impl` block (`method` each function, `options` each attribute) and writes the block back
//! without those attributes, an implementation of the trait `Plugin`, and the line that exports it.

use proc_macro::TokenStream;

mod completion; // `#[complete]`
mod docs; // doc comments as descriptions
mod method; // the signature of one function, and what is wrong with it
mod misplaced; // attributes where they mean nothing
mod offers; // what the functions of a block offer, together
mod options; // `key = value` inside an attribute
mod plugin; // the whole block, or what is wrong with it
mod prompt; // `#[prompt]`
mod question; // `ask` in a function whose error can't carry it
mod resource; // `#[resource]`
mod tool; // `#[tool]`

/// Makes an `impl` block a plugin: its functions marked `#[tool]`, `#[resource]`, `#[prompt]` and `#[complete]` are
/// what the plugin offers. The type must implement `Default`.
///
/// The doc comment above is the plugin's description. `#[plugin(…)]` takes:
/// - `name`, `version`, `website_url`: by default those of the package in `Cargo.toml`
/// - `title`: its name for people
/// - `description`: by default the doc comment, else the package's description
/// - `instructions`: advice to the model on using the plugin
/// - `config`: a type that implements `JsonSchema`, the form of the plugin's settings
/// - `parts`: types whose blocks are marked `#[plugin(part)]`, for a plugin with more tools than one block holds well;
///   their tools are listed after the block's own, in this order
#[proc_macro_attribute]
pub fn plugin(options: TokenStream, block: TokenStream) -> TokenStream {
    plugin::expand(options.into(), &block.into()).into()
}

/// Makes a function of a `#[plugin]` block a tool. The doc comment is its description.
///
/// `#[tool(…)]` takes:
/// - `name`: by default the function's; `title`: its name for people
/// - the hints `read_only`, `destructive`, `idempotent`, `open_world`, each alone or `= false`
/// - `output`: the type of the structured content, where the return type doesn't tell it
/// - `input_schema`, `output_schema`: JSON Schemas as text, used as they are
/// - `when`: a function from `&self` to `bool`; the tool is listed while it says yes. It is asked when the gateway lists
///   the plugin: tell the gateway of a change with `changes::tools()`
///
/// Each parameter is an argument and may have a doc comment; a parameter called `args` is the whole object; one of type
/// `&Context` tells about the call.
#[proc_macro_attribute]
pub fn tool(_options: TokenStream, item: TokenStream) -> TokenStream {
    misplaced::mark("tool", &item.into()).into()
}

/// Makes a function of a `#[plugin]` block a resource. The doc comment is its description.
///
/// `#[resource(…)]` takes:
/// - `uri`: an absolute URI, or a template with `{name}` (one part of a path) or `{+name}` (anything), whose variables
///   are the function's parameters; what stands before the first `{` has to name more than a scheme
/// - `name`: by default the function's; `title`: its name for people; `mime_type`
/// - `when`, as for a tool
///
/// A parameter `uri: &str` gets the URI that was asked for.
#[proc_macro_attribute]
pub fn resource(_options: TokenStream, item: TokenStream) -> TokenStream {
    misplaced::mark("resource", &item.into()).into()
}

/// Makes a function of a `#[plugin]` block a prompt. The doc comment is its description.
///
/// `#[prompt(…)]` takes `name`, by default the function's, `title`, and `when` as for a tool. Each parameter is an
/// argument; a parameter called `args` is a struct of all of them.
#[proc_macro_attribute]
pub fn prompt(_options: TokenStream, item: TokenStream) -> TokenStream {
    misplaced::mark("prompt", &item.into()).into()
}

/// Makes a function of a `#[plugin]` block suggest values for an argument while a person types it.
///
/// `#[complete(prompt = "name", argument = "name")]` or `#[complete(resource = "template", argument = "name")]`. The
/// function takes what was typed so far as `&str` or `String`, and if it wants to the other arguments as
/// `&[(String, String)]`. It returns a list of texts.
#[proc_macro_attribute]
pub fn complete(_options: TokenStream, item: TokenStream) -> TokenStream {
    misplaced::mark("complete", &item.into()).into()
}
