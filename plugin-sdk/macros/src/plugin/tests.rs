//! Errors for likely mistakes, and their locations.

use proc_macro2::TokenStream;
use quote::ToTokens;

use super::{InvalidBlock, read};

/// The errors for an `impl` block: the source location and message.
fn errors_with(options: &str, block: &str) -> Vec<(String, String)> {
    let parse = |text: &str| text.parse::<TokenStream>().unwrap();
    let Err(InvalidBlock { errors, .. }) = read(parse(options), &parse(block)) else {
        panic!("no error for {block}")
    };
    errors.iter().map(|error| (error.span().source_text().unwrap_or_default(), error.to_string())).collect()
}

/// The only error for a plugin with this function.
#[track_caller]
fn error(function: &str) -> (String, String) {
    let mut errors = errors_with("", &format!("impl Mine {{ {function} }}"));
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.remove(0)
}

#[track_caller]
fn assert_error(function: &str, place: &str, prefix: &str) {
    let (at, message) = error(function);
    assert!(message.starts_with(prefix), "{message}");
    assert_eq!(at, place, "{message}");
}

#[test]
fn refuses_mutable_async_and_generic_tools() {
    assert_error(
        "#[tool] /// A.\nfn a(&mut self) {}",
        "&mut self",
        "a tool can't take `&mut self`: every call gets a new plugin",
    );
    assert_error("#[tool] /// A.\nfn a(self) {}", "self", "a tool can't take `self`; take `&self`");
    assert_error(
        "#[tool] /// A.\nasync fn a(&self) {}",
        "async",
        "a tool can't be `async`: every call has its own sandbox",
    );
    assert_error("#[tool] /// A.\nfn a<T>(&self, t: T) {}", "<T>", "a tool can't be generic");
    assert_error(
        "#[tool] /// A.\nfn a(&self) -> impl Sized {}",
        "impl Sized",
        "a tool can't return `impl …`; use a concrete type",
    );
}

#[test]
fn requires_a_doc_comment() {
    assert_error("#[tool] fn a(&self) {}", "a", "this tool needs a doc comment");
    assert_error("#[prompt] /// \nfn a(&self) -> String {}", "a", "this prompt needs a doc comment");
    assert_error(
        "#[resource(uri = \"a://b\")] fn a(&self) -> String {}",
        "a",
        "this resource needs a doc comment",
    );
}

#[test]
fn refuses_invalid_and_duplicate_names() {
    assert_error(
        "#[tool(name = \"a b\")] /// A.\nfn a(&self) {}",
        "\"a b\"",
        "`a b` contains ' ', but hosts",
    );
    assert_error("#[tool(name = \"\")] /// A.\nfn a(&self) {}", "\"\"", "the name is empty");
    let long = "a".repeat(65);
    assert_error(
        &format!("#[tool] /// A.\nfn {long}(&self) {{}}"),
        &long,
        &format!("`{long}` is 65 characters long"),
    );
    assert_error(
        "#[tool] /// A.\nfn a(&self) {} #[tool(name = \"a\")] /// B.\nfn b(&self) {}",
        "\"a\"",
        "`a` is already used",
    );
}

#[test]
fn refuses_unknown_and_invalid_options() {
    assert_error(
        "#[tool(readonly)] /// A.\nfn a(&self) {}",
        "readonly",
        "unknown option `readonly`; write `read_only`",
    );
    assert_error("#[tool(kind)] /// A.\nfn a(&self) {}", "kind", "unknown option `kind`; known here: `name`");
    assert_error("#[tool(title)] /// A.\nfn a(&self) {}", "title", "`title` needs a value");
    assert_error("#[tool(title = 1)] /// A.\nfn a(&self) {}", "1", "`title` must be a string literal");
    assert_error("#[tool(read_only = 1)] /// A.\nfn a(&self) {}", "1", "`read_only` is `true` or `false`");
    assert_error(
        "#[tool(read_only, read_only)] /// A.\nfn a(&self) {}",
        "read_only",
        "duplicate option `read_only`",
    );
    assert_error("#[prompt(when = 1)] /// A.\nfn a(&self) {}", "1", "`when` must be a function");
    assert_error("#[tool = 1] /// A.\nfn a(&self) {}", "tool = 1", "write the options in parentheses");
    assert_error(
        "#[tool] #[prompt] /// A.\nfn a(&self) {}",
        "#[prompt]",
        "a function can have only one of these attributes",
    );
}

#[test]
fn refuses_invalid_arguments() {
    assert_error(
        "#[tool] /// A.\nfn a(&self, args: Args, more: u8) {}",
        "more",
        "`args` is the object of all arguments, so `more` can't be a separate argument",
    );
    assert_error("#[tool] /// A.\nfn a(&self, _: u8) {}", "_", "an argument needs a name");
    assert_error(
        "#[tool] /// A.\nfn a(&self, args: Vec<u8>) {}",
        "Vec<u8>",
        "`args` is the object of all arguments, but `Vec<u8>` isn't an object",
    );
    assert_error(
        "#[tool] /// A.\nfn a(&self, args: &str) {}",
        "&str",
        "`args` is the object of all arguments",
    );
    assert_error(
        "#[tool] /// A.\nfn a(&self, b: Option<&str>) {}",
        "Option<&str>",
        "an argument can't contain a reference",
    );
    assert_error("#[tool] /// A.\nfn a(&self, b: &mut u8) {}", "&mut u8", "an argument can't be `&mut`");
    assert_error(
        "#[tool] /// A.\nfn a(&self, b: impl Sized) {}",
        "impl Sized",
        "an argument can't be `impl …`",
    );
    assert_error(
        "#[tool] /// A.\nfn a(&self, ctx: Context) {}",
        "Context",
        "the context belongs to the gateway",
    );
    assert_error(
        "#[tool] /// A.\nfn a(&self, ctx: &mut Context) {}",
        "&mut Context",
        "the context belongs to the gateway",
    );
    assert_error("#[tool] /// A.\nfn a(&self, #[inline] b: u8) {}", "#[inline]", "only doc comments");
}

#[test]
fn refuses_invalid_uris_and_variables() {
    let resource = |uri: &str, params: &str| {
        format!("#[resource(uri = \"{uri}\")] /// A.\nfn a(&self{params}) -> String {{}}")
    };
    assert_error("#[resource] /// A.\nfn a(&self) -> String {}", "a", "`uri = \"…\"` is missing");
    assert_error(&resource("notes/today", ""), "\"notes/today\"", "`notes/today` isn't an absolute URI");
    assert_error(&resource("a://c/{b}", ""), "\"a://c/{b}\"", "the function has no parameter `b` for `{b}`");
    assert_error(&resource("a:", ""), "\"a:\"", "`a:` contains only a scheme; write `a:today`");
    assert_error(&resource("{a}://b", ", a: String"), "\"{a}://b\"", "`{a}://b` isn't an absolute URI");
    let whole_scheme = format!("impl Mine {{ {} }}", resource("a://{b}", ", b: String"));
    assert!(read(TokenStream::new(), &whole_scheme.parse().unwrap()).is_ok());
    assert_error(
        &resource("a://my notes", ""),
        "\"a://my notes\"",
        "`a://my notes` contains ' ', which isn't allowed in a URI",
    );
    assert_error(&resource("a://b", ", c: String"), "c", "`uri` has no variable `{c}`");
    assert_error(&resource("a://c/{b", ""), "\"a://c/{b\"", "unclosed `{` in `a://c/{b`");
    assert_error(&resource("a://c/{b*}", ""), "\"a://c/{b*}\"", "`{b*}` isn't supported");
    assert_error(
        &resource("a://c/{b}/{b}", ", b: String"),
        "\"a://c/{b}/{b}\"",
        "`a://c/{b}/{b}` contains `{b}` twice",
    );
}

#[test]
fn requires_the_target_of_a_completion() {
    let tool = "#[tool] /// T.\nfn t(&self) {}";
    assert_error(
        &format!("{tool} #[complete(argument = \"b\")] fn a(&self, typed: &str) -> Vec<String> {{}}"),
        "a",
        "set what it completes",
    );
    assert_error(
        &format!("{tool} #[complete(prompt = \"p\", argument = \"b\")] fn a(&self) -> Vec<String> {{}}"),
        "a",
        "take the typed value as `&str`",
    );
}

#[test]
fn refuses_completions_of_unknown_targets() {
    let block = |completion: &str| {
        format!(
            "#[prompt] /// P.\nfn p(&self, b: &str) -> String {{}} #[resource(uri = \"a://r/{{c}}\")] /// R.\n\
             fn r(&self, c: &str) -> String {{}} #[complete({completion})] fn a(&self, t: &str) -> Vec<String> {{}}"
        )
    };
    let absent = "there is no prompt `q` in this block; it has `p`";
    assert_error(&block(r#"prompt = "q", argument = "b""#), "\"q\"", absent);
    let absent = "the prompt `p` has no argument `c`";
    assert_error(&block(r#"prompt = "p", argument = "c""#), "\"c\"", absent);
    let absent = "there is no template `a://{b}` in this block; it has `a://r/{c}`";
    assert_error(&block(r#"resource = "a://{b}", argument = "b""#), "\"a://{b}\"", absent);
    let absent = "the template `a://r/{c}` has no argument `b`";
    assert_error(&block(r#"resource = "a://r/{c}", argument = "b""#), "\"b\"", absent);
}

#[test]
fn refuses_errors_that_cannot_carry_a_question() {
    let returning = |result: &str, body: &str| {
        format!("#[tool] /// A.\nfn a(&self, ctx: &Context) -> {result} {{ if true {{ {body} }} }}")
    };
    for (result, place) in [
        ("Result<u8, Box<dyn Error>>", "Box<dyn Error>"),
        ("std::result::Result<u8, String>", "String"),
        ("Result<u8, anyhow::Error>", "anyhow::Error"),
        ("anyhow::Result<u8>", "anyhow::Result<u8>"),
    ] {
        assert_error(
            &returning(result, "ctx.ask(\"k\", Roots)?;"),
            place,
            "this error type can't carry a question",
        );
    }
    let block = format!(
        "impl Mine {{ {} {} {} }}",
        returning("Result<u8, MyError>", "ctx.ask(\"k\", Roots)?;"),
        returning("Result<u8, Box<dyn Error>>", "ctx.principal(); other.ask(1)?;").replace("fn a", "fn b"),
        returning("Result<u8, ToolError>", "ctx.ask_all(())?;").replace("fn a", "fn c"),
    );
    assert!(read(TokenStream::new(), &block.parse().unwrap()).is_ok(), "rustc reports these");
}

#[test]
fn refuses_blocks_that_cannot_be_plugins() {
    let message = |block: &str| errors_with("", block).remove(0).1;
    assert!(message("struct Mine;").starts_with("`#[plugin]` belongs on an `impl` block"));
    assert!(message("impl Trait for Mine {}").starts_with("`#[plugin]` belongs on an inherent `impl` block"));
    assert!(message("mod mine {}").starts_with("`#[plugin]` belongs on an `impl` block, not on a module"));
    assert!(message("fn a() {}").starts_with("`#[plugin]` belongs on an `impl` block, and `#[tool]`"));
    assert!(message("impl Mine { #[tool] const A: u8 = 1; }").starts_with("`#[tool]` is only for functions"));
    assert!(message("impl<T> Mine<T> {}").starts_with("a plugin can't be generic"));
    assert!(message("impl Mine { fn a(&self) {} }").starts_with("the plugin is empty"));
    let unknown = errors_with("nane = \"x\"", "impl Mine { #[tool] /// A.\nfn a(&self) {} }").remove(0);
    assert!(unknown.1.starts_with("unknown option `nane`"), "{unknown:?}");
}

#[test]
fn refuses_parts_with_more_than_tools() {
    let tool = "#[tool] /// A.\nfn a(&self) {}";
    let error = |options: &str, functions: &str| {
        errors_with(options, &format!("impl Mine {{ {functions} }}")).remove(0)
    };
    let (place, error_text) = error("part, name = \"x\"", tool);
    assert_eq!(place, "name");
    assert!(error_text.starts_with("`name` belongs in the plugin's own block"), "{error_text}");
    for other in [
        "#[prompt] /// P.\nfn p(&self) -> String {}",
        "#[resource(uri = \"a://b\")] /// R.\nfn r(&self) -> String {}",
    ] {
        let (_, error_text) = error("part", &format!("{tool} {other}"));
        assert!(error_text.starts_with("a part has tools only"), "{error_text}");
    }
    assert!(error("part", "fn a(&self) {}").1.starts_with("this part has no tools"));
    assert!(error("parts = Words", tool).1.starts_with("`parts` must be a list"));
    let (place, error_text) = error("parts = [Words, 1]", tool);
    assert_eq!(place, "1");
    assert!(error_text.starts_with("a part must be the type of a block"), "{error_text}");
}

#[test]
fn reports_all_errors_together() {
    let block = "impl Mine { #[tool] fn a(&mut self) {} #[prompt(name = \"?\")] /// B.\nasync fn b(&self) -> String {} }";
    let places: Vec<String> = errors_with("", block).into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, ["a", "&mut self", "async", "\"?\""]);
}

#[test]
fn removes_attributes_from_an_invalid_block() {
    let block: TokenStream = "impl Mine { #[tool] fn a(&self) {} }".parse().unwrap();
    let Err(InvalidBlock { block, .. }) = read(TokenStream::new(), &block) else { panic!() };
    let text = block.to_token_stream().to_string();
    assert!(!text.contains("tool"), "{text}");
    assert!(text.contains("Plugin for Mine"), "{text}");
}
