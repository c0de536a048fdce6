//! `#[plugin]`: reads the block, gathers everything that is wrong with it, and writes the implementation of `Plugin`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Error, ImplItem, ImplItemFn, ItemImpl, LitStr, Meta, Result, Type};

use crate::completion::Complete;
use crate::docs;
use crate::method::{Kind, Method};
use crate::options::Options;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::tool::Tool;

const OPTIONS: &[&str] =
    &["name", "version", "title", "description", "website_url", "instructions", "config"];

/// What the functions of a block offer, in their order.
#[derive(Default)]
struct Offers {
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    prompts: Vec<Prompt>,
    completions: Vec<Complete>,
}

/// `#[plugin(options)] block`.
pub(crate) fn expand(options: TokenStream, block: &TokenStream) -> TokenStream {
    let mut item: ItemImpl = match syn::parse2(block.clone()) {
        Ok(item) => item,
        Err(_) => return refuse(block, "`#[plugin]` stands above an `impl` block"),
    };
    let mut errors = Vec::new();
    if let Some((_, path, _)) = &item.trait_ {
        errors.push(Error::new_spanned(
            path,
            "`#[plugin]` stands above a plain `impl` block, not one of a trait",
        ));
    }
    if !item.generics.params.is_empty() {
        errors.push(Error::new_spanned(&item.generics, "a plugin can't be generic: it is one component"));
    }
    let offers = read_offers(&mut item, &mut errors);
    let info = info(options, &item).unwrap_or_else(|error| {
        errors.push(error);
        TokenStream::new()
    });
    if errors.is_empty() && offers.is_empty() {
        errors.push(Error::new_spanned(
            &item.self_ty,
            "the plugin offers nothing; mark a function `#[tool]`, `#[resource]` or `#[prompt]`",
        ));
    }
    let errors: Vec<TokenStream> = errors.iter().map(Error::to_compile_error).collect();
    if !errors.is_empty() {
        // The block goes with them, so that the author isn't told of missing functions too.
        return quote!(#item #(#errors)*);
    }
    let implementation = offers.implementation(&item.self_ty, &info);
    quote!(#item #implementation)
}

/// What an attribute says that stands outside of a block.
pub(crate) fn misplaced(name: &str, item: &TokenStream) -> TokenStream {
    let message = format!("`#[{name}]` works inside an `impl` block marked `#[plugin]`");
    let error = refuse(item, &message);
    quote!(#item #error)
}

fn refuse(tokens: &TokenStream, message: &str) -> TokenStream {
    Error::new_spanned(tokens, message).to_compile_error()
}

/// Reads the functions that are marked, and takes the marks away.
fn read_offers(item: &mut ItemImpl, errors: &mut Vec<Error>) -> Offers {
    let mut offers = Offers::default();
    for function in item.items.iter_mut() {
        let ImplItem::Fn(function) = function else { continue };
        let (marks, rest): (Vec<Attribute>, Vec<Attribute>) = std::mem::take(&mut function.attrs)
            .into_iter()
            .partition(|attribute| Kind::of(attribute).is_some());
        function.attrs = rest;
        match marks.as_slice() {
            [] => {}
            [mark] => {
                if let Err(error) = offers.read(mark, function, errors) {
                    errors.push(error);
                }
            }
            [_, second, ..] => {
                errors.push(Error::new_spanned(second, "a function has one of these attributes"))
            }
        }
    }
    for names in [
        offers.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        offers.prompts.iter().map(|prompt| &prompt.name).collect(),
        offers.resources.iter().map(|resource| &resource.uri).collect(),
    ] {
        refuse_twice(&names, errors);
    }
    offers
}

/// Two of a kind can't have the same name, unless `#[cfg]` keeps them apart, which rustc will see.
fn refuse_twice(names: &[&LitStr], errors: &mut Vec<Error>) {
    for (index, name) in names.iter().enumerate() {
        if names[..index].iter().any(|earlier| earlier.value() == name.value()) {
            errors.push(Error::new(
                name.span(),
                format!("`{}` is already another one's; choose another name", name.value()),
            ));
        }
    }
}

impl Offers {
    fn read(&mut self, mark: &Attribute, function: &mut ImplItemFn, errors: &mut Vec<Error>) -> Result<()> {
        let Some(kind) = Kind::of(mark) else { return Ok(()) };
        let tokens = match &mark.meta {
            Meta::Path(_) => TokenStream::new(),
            Meta::List(list) => list.tokens.clone(),
            Meta::NameValue(other) => return Err(Error::new_spanned(other, "options stand in parentheses")),
        };
        let method = Method::read(function, kind, errors);
        match kind {
            Kind::Tool => self.tools.push(Tool::read(method, tokens)?),
            Kind::Resource => self.resources.push(Resource::read(method, tokens)?),
            Kind::Prompt => self.prompts.push(Prompt::read(method, tokens)?),
            Kind::Completion => self.completions.push(Complete::read(method, tokens)?),
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.resources.is_empty() && self.prompts.is_empty()
    }

    /// The implementation of `Plugin` and its export.
    fn implementation(&self, plugin: &Type, info: &TokenStream) -> TokenStream {
        let arguments = self.tools.iter().map(Tool::arguments);
        let functions = [
            self.tool_functions(),
            self.resource_functions(),
            self.prompt_functions(),
            self.complete_function(),
        ];
        let mut interfaces = Vec::new();
        for (has, name) in [
            (!self.tools.is_empty(), quote!(tools)),
            (!self.resources.is_empty(), quote!(resources)),
            (!self.prompts.is_empty(), quote!(prompts)),
            (!self.completions.is_empty(), quote!(completions)),
        ] {
            interfaces.extend(has.then_some(name));
        }
        quote! {
            const _: () = {
                #(#arguments)*

                #[automatically_derived]
                impl ::moongate_sdk::Plugin for #plugin {
                    fn info() -> ::moongate_sdk::PluginInfo { #info }
                    #(#functions)*
                }

                ::moongate_sdk::export!(#plugin: #(#interfaces),*);
            };
        }
    }

    fn tool_functions(&self) -> Option<TokenStream> {
        if self.tools.is_empty() {
            return None;
        }
        let (entries, arms) = (self.tools.iter().map(Tool::entry), self.tools.iter().map(Tool::arm));
        let list = list(&quote!(tools), &quote!(Tool), entries);
        Some(quote! {
            #list

            fn call_tool(
                &self,
                ctx: &::moongate_sdk::Context,
                name: &str,
                args: &str,
            ) -> ::core::result::Result<::moongate_sdk::CallOutcome, ::moongate_sdk::Failure> {
                let _ = (ctx, args);
                match name {
                    #(#arms)*
                    _ => ::moongate_sdk::expansion::no_tool(name),
                }
            }
        })
    }

    fn resource_functions(&self) -> Option<TokenStream> {
        if self.resources.is_empty() {
            return None;
        }
        let (templates, resources): (Vec<&Resource>, Vec<&Resource>) =
            self.resources.iter().partition(|resource| resource.is_template());
        // An exact URI goes before a template that it fits.
        let steps = resources.iter().chain(&templates).map(|resource| resource.step());
        let resources =
            list(&quote!(resources), &quote!(ResourceInfo), resources.iter().map(|one| one.entry()));
        let templates =
            list(&quote!(templates), &quote!(ResourceTemplate), templates.iter().map(|one| one.entry()));
        Some(quote! {
            #resources
            #templates

            fn read_resource(
                &self,
                ctx: &::moongate_sdk::Context,
                uri: &str,
            ) -> ::core::result::Result<::moongate_sdk::ReadOutcome, ::moongate_sdk::Failure> {
                let _ = ctx;
                #(#steps)*
                ::moongate_sdk::expansion::no_resource(uri)
            }
        })
    }

    fn prompt_functions(&self) -> Option<TokenStream> {
        if self.prompts.is_empty() {
            return None;
        }
        let (entries, arms) = (self.prompts.iter().map(Prompt::entry), self.prompts.iter().map(Prompt::arm));
        let list = list(&quote!(prompts), &quote!(Prompt), entries);
        Some(quote! {
            #list

            fn get_prompt(
                &self,
                ctx: &::moongate_sdk::Context,
                name: &str,
                args: &[(::std::string::String, ::std::string::String)],
            ) -> ::core::result::Result<::moongate_sdk::PromptOutcome, ::moongate_sdk::Failure> {
                let _ = (ctx, args);
                match name {
                    #(#arms)*
                    _ => ::moongate_sdk::expansion::no_prompt(name),
                }
            }
        })
    }

    fn complete_function(&self) -> Option<TokenStream> {
        if self.completions.is_empty() {
            return None;
        }
        let steps = self.completions.iter().map(Complete::step);
        Some(quote! {
            fn complete(
                &self,
                target: &::moongate_sdk::CompletionTarget,
                argument: &str,
                typed: &str,
                others: &[(::std::string::String, ::std::string::String)],
            ) -> ::core::result::Result<::moongate_sdk::Completion, ::moongate_sdk::Failure> {
                let _ = (typed, others);
                #(#steps)*
                ::core::result::Result::Ok(::core::convert::From::from(::std::vec::Vec::<::std::string::String>::new()))
            }
        })
    }
}

/// A function that gives a list.
fn list(function: &TokenStream, ty: &TokenStream, entries: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote! {
        fn #function(
            &self,
        ) -> ::core::result::Result<::std::vec::Vec<::moongate_sdk::#ty>, ::moongate_sdk::Failure> {
            #[allow(unused_mut, clippy::vec_init_then_push, reason = "an entry may be left out by `#[cfg]`")]
            let mut list = ::std::vec::Vec::new();
            #(#entries)*
            ::core::result::Result::Ok(list)
        }
    }
}

/// What the plugin says of itself.
fn info(options: TokenStream, item: &ItemImpl) -> Result<TokenStream> {
    let span = syn::spanned::Spanned::span(&item.self_ty);
    let options = Options::parse(options, span, OPTIONS)?;
    let given = |key: &str| options.expr(key).map(|value| value.map(ToTokens::to_token_stream));
    let name = given("name")?.unwrap_or_else(|| quote!(::core::env!("CARGO_PKG_NAME")));
    let version = given("version")?.unwrap_or_else(|| quote!(::core::env!("CARGO_PKG_VERSION")));
    let description = match (given("description")?, docs::text(&item.attrs)) {
        (Some(text), _) => text,
        (None, Some(text)) => quote!(#text),
        (None, None) => quote!(::core::env!("CARGO_PKG_DESCRIPTION")),
    };
    let website = given("website_url")?.unwrap_or_else(|| quote!(::core::env!("CARGO_PKG_HOMEPAGE")));
    let text = |text: TokenStream| quote!(::moongate_sdk::expansion::text(#text));
    let title = text(given("title")?.unwrap_or_else(|| quote!("")));
    let instructions = text(given("instructions")?.unwrap_or_else(|| quote!("")));
    let (description, website) = (text(description), text(website));
    let config = match options.expr("config")? {
        Some(ty) => quote!(::core::option::Option::Some(::moongate_sdk::expansion::input_schema::<#ty>())),
        None => quote!(::core::option::Option::None),
    };
    Ok(quote! {
        ::moongate_sdk::PluginInfo {
            title: #title,
            description: #description,
            website_url: #website,
            instructions: #instructions,
            config_schema: #config,
            ..::moongate_sdk::PluginInfo::new(#name, #version)
        }
    })
}
