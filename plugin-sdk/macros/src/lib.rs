//! The attribute macros of `moongate-sdk`: `#[plugin]`, and the attributes that it reads.
//!
//! `#[plugin]` parses an `impl` block (`method` each function, `options` each attribute) and generates the block
//! without those attributes, an implementation of the trait `Plugin`, and the line that exports it.

use proc_macro::TokenStream;

mod completion; // `#[complete]`
mod docs; // doc comments as descriptions
mod method; // the signature of a function, and errors in it
mod misplaced; // errors for misplaced attributes
mod items; // the items of a block
mod options; // `key = value` inside an attribute
mod plugin; // the whole block, or the errors in it
mod prompt; // `#[prompt]`
mod question; // `ask` in a function whose error type can't carry a question
mod resource; // `#[resource]`
mod tool; // `#[tool]`

/// Turns an `impl` block into a plugin. Its functions with `#[tool]`, `#[resource]`, `#[prompt]` and `#[complete]`
/// are the plugin's items. The type must implement `Default`.
///
/// The doc comment is the plugin's description. `#[plugin(…)]` takes:
/// - `name`, `version`, `website_url`: the defaults are those of the package in `Cargo.toml`
/// - `title`: the name shown to people
/// - `description`: the default is the doc comment, or else the package's description
/// - `instructions`: advice for the model on using the plugin
/// - `config`: a type that implements `JsonSchema`, which describes the plugin's settings
/// - `parts`: types whose blocks have `#[plugin(part)]`, to split a plugin with many tools; their tools are listed
///   after the block's own, in this order
#[proc_macro_attribute]
pub fn plugin(options: TokenStream, block: TokenStream) -> TokenStream {
    plugin::expand(options.into(), &block.into()).into()
}

/// Turns a function of a `#[plugin]` block into a tool. The doc comment is its description.
///
/// `#[tool(…)]` takes:
/// - `name`: the default is the function's name; `title`: the name shown to people
/// - the hints `read_only`, `destructive`, `idempotent`, `open_world`, each alone or with `= false`
/// - `output`: the type of the structured content, if it differs from the return type
/// - `input_schema`, `output_schema`: JSON Schemas as strings, used as is
/// - `when`: a function from `&self` to `bool` that decides whether the tool is listed. It is called when the gateway
///   lists the plugin; report a change with `changes::tools()`
///
/// Each parameter is an argument and can have a doc comment. A parameter called `args` is the object of all
/// arguments. A parameter of type `&Context` gives information about the call.
#[proc_macro_attribute]
pub fn tool(_options: TokenStream, item: TokenStream) -> TokenStream {
    misplaced::attribute("tool", &item.into()).into()
}

/// Turns a function of a `#[plugin]` block into a resource. The doc comment is its description.
///
/// `#[resource(…)]` takes:
/// - `uri`: an absolute URI, or a template with `{name}` (a path segment) or `{+name}` (any string), whose variables
///   are the function's parameters; the part before the first `{` must contain the scheme
/// - `name`: the default is the function's name; `title`: the name shown to people; `mime_type`
/// - `when`, as for a tool
///
/// A parameter `uri: &str` gets the requested URI.
#[proc_macro_attribute]
pub fn resource(_options: TokenStream, item: TokenStream) -> TokenStream {
    misplaced::attribute("resource", &item.into()).into()
}

/// Turns a function of a `#[plugin]` block into a prompt. The doc comment is its description.
///
/// `#[prompt(…)]` takes `name` (the default is the function's name), `title`, and `when` as for a tool. Each
/// parameter is an argument; a parameter called `args` is a struct of all of them.
#[proc_macro_attribute]
pub fn prompt(_options: TokenStream, item: TokenStream) -> TokenStream {
    misplaced::attribute("prompt", &item.into()).into()
}

/// Turns a function of a `#[plugin]` block into a completion, which suggests values for an argument while the user
/// types.
///
/// `#[complete(prompt = "name", argument = "name")]` or `#[complete(resource = "template", argument = "name")]`. The
/// function takes the typed value as `&str` or `String`, and optionally the other arguments as `&[(String, String)]`.
/// It returns a list of strings.
#[proc_macro_attribute]
pub fn complete(_options: TokenStream, item: TokenStream) -> TokenStream {
    misplaced::attribute("complete", &item.into()).into()
}
