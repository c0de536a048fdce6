//! `#[plugin]`: reads the block, and writes either the plugin or everything that is wrong with it.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ItemImpl, Path, Result};

use crate::offers::Offers;
use crate::options::Options;
use crate::{docs, misplaced};

const OPTIONS: &[&str] =
    &["name", "version", "title", "description", "website_url", "instructions", "config", "parts", "part"];

/// What a block is of the component.
enum Role {
    /// The plugin: what it says of itself, and the types of its other blocks.
    Plugin { info: TokenStream, parts: Vec<Path> },
    /// Tools of a plugin whose own block names this one.
    Part,
}

/// A block that the macro can't make a plugin of.
struct Refused {
    /// The block without the marks.
    block: TokenStream,
    /// All that is wrong with it.
    errors: Vec<Error>,
}

/// `#[plugin(options)] block`.
pub(crate) fn expand(options: TokenStream, block: &TokenStream) -> TokenStream {
    read(options, block).unwrap_or_else(|Refused { block, errors }| {
        let errors = errors.iter().map(Error::to_compile_error);
        quote!(#block #(#errors)*)
    })
}

fn read(options: TokenStream, block: &TokenStream) -> std::result::Result<TokenStream, Refused> {
    let Ok(mut item) = syn::parse2::<ItemImpl>(block.clone()) else {
        return Err(Refused { block: block.clone(), errors: vec![misplaced::plugin(block)] });
    };
    let mut errors = Vec::new();
    if let Some((_, path, _)) = &item.trait_ {
        let message = "`#[plugin]` stands above a plain `impl` block, not one of a trait: move the functions into an \
                       `impl` block of the type alone";
        errors.push(Error::new_spanned(path, message));
    }
    if !item.generics.params.is_empty() {
        errors.push(Error::new_spanned(&item.generics, "a plugin can't be generic: it is one component"));
    }
    let can_be_plugin = errors.is_empty();
    let offers = Offers::read(&mut item, &mut errors);
    let plugin = &item.self_ty;
    match role(options, &item) {
        Err(error) => errors.push(error),
        Ok(Role::Part) => {
            errors.extend(offers.other_than_tools());
            if errors.is_empty() && offers.is_empty() {
                let message = "this part offers nothing; mark a function `#[tool]`";
                errors.push(Error::new_spanned(plugin, message));
            }
            if errors.is_empty() {
                let implementation = offers.part(plugin);
                return Ok(quote!(#item #implementation));
            }
        }
        Ok(Role::Plugin { info, parts }) => {
            if errors.is_empty() && offers.is_empty() && parts.is_empty() {
                let message =
                    "the plugin offers nothing; mark a function `#[tool]`, `#[resource]` or `#[prompt]`";
                errors.push(Error::new_spanned(plugin, message));
            }
            if errors.is_empty() {
                let implementation = offers.implementation(plugin, &info, &parts);
                return Ok(quote!(#item #implementation));
            }
        }
    }
    // An empty implementation goes with the block, so that the author isn't told of its absence too.
    let stand_in = can_be_plugin.then(|| {
        quote! {
            impl ::moongate_sdk::Plugin for #plugin {
                fn info() -> ::moongate_sdk::PluginInfo { ::core::unreachable!() }
            }
        }
    });
    Err(Refused { block: quote!(#item #stand_in), errors })
}

/// What the options make of the block.
fn role(options: TokenStream, item: &ItemImpl) -> Result<Role> {
    let options = Options::parse(options, item.self_ty.span(), OPTIONS)?;
    if options.flag("part")? == Some(true) {
        return match options.other_than("part") {
            Some(key) => {
                let message = format!("`{key}` belongs to the plugin's own block, not to a part of it");
                Err(Error::new(key.span(), message))
            }
            None => Ok(Role::Part),
        };
    }
    let parts = match options.expr("parts")? {
        None => Vec::new(),
        Some(Expr::Array(list)) => list.elems.iter().map(part).collect::<Result<_>>()?,
        Some(other) => return Err(Error::new_spanned(other, "`parts` is a list: `parts = [Files, Words]`")),
    };
    Ok(Role::Plugin { info: info(&options, item)?, parts })
}

/// The type of a part.
fn part(named: &Expr) -> Result<Path> {
    match named {
        Expr::Path(path) => Ok(path.path.clone()),
        other => Err(Error::new_spanned(other, "a part is the type of a block marked `#[plugin(part)]`")),
    }
}

/// What the plugin says of itself.
fn info(options: &Options, item: &ItemImpl) -> Result<TokenStream> {
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

#[cfg(test)]
mod tests;
