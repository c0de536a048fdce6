//! `#[plugin]`: parses the block, and generates either the plugin or all errors.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ItemImpl, Path, Result};

use crate::items::PluginItems;
use crate::options::Options;
use crate::{docs, misplaced};

const OPTIONS: &[&str] =
    &["name", "version", "title", "description", "website_url", "instructions", "config", "parts", "part"];

/// The role of a block in the component.
enum BlockRole {
    /// The plugin: its metadata, and the types of its parts.
    Plugin { info: TokenStream, parts: Vec<Path> },
    /// A part: tools of a plugin whose own block names this type.
    Part,
}

/// A block with errors.
struct InvalidBlock {
    /// The block without our attributes.
    block: TokenStream,
    /// All errors.
    errors: Vec<Error>,
}

/// Expands `#[plugin(options)] block`.
pub(crate) fn expand(options: TokenStream, block: &TokenStream) -> TokenStream {
    read(options, block).unwrap_or_else(|InvalidBlock { block, errors }| {
        let errors = errors.iter().map(Error::to_compile_error);
        quote!(#block #(#errors)*)
    })
}

fn read(options: TokenStream, block: &TokenStream) -> std::result::Result<TokenStream, InvalidBlock> {
    let Ok(mut item) = syn::parse2::<ItemImpl>(block.clone()) else {
        return Err(InvalidBlock { block: block.clone(), errors: vec![misplaced::plugin(block)] });
    };
    let mut errors = Vec::new();
    if let Some((_, path, _)) = &item.trait_ {
        let message = "`#[plugin]` belongs on an inherent `impl` block, not on a trait's; move the functions into an \
                       inherent `impl` block";
        errors.push(Error::new_spanned(path, message));
    }
    if !item.generics.params.is_empty() {
        errors.push(Error::new_spanned(&item.generics, "a plugin can't be generic"));
    }
    let can_be_plugin = errors.is_empty();
    let items = PluginItems::read(&mut item, &mut errors);
    let plugin = &item.self_ty;
    match role(options, &item) {
        Err(error) => errors.push(error),
        Ok(BlockRole::Part) => {
            errors.extend(items.other_than_tools());
            if errors.is_empty() && items.is_empty() {
                let message = "this part has no tools; add `#[tool]` to a function";
                errors.push(Error::new_spanned(plugin, message));
            }
            if errors.is_empty() {
                let implementation = items.part(plugin);
                return Ok(quote!(#item #implementation));
            }
        }
        Ok(BlockRole::Plugin { info, parts }) => {
            if errors.is_empty() && items.is_empty() && parts.is_empty() {
                let message =
                    "the plugin is empty; add `#[tool]`, `#[resource]` or `#[prompt]` to a function";
                errors.push(Error::new_spanned(plugin, message));
            }
            if errors.is_empty() {
                let implementation = items.implementation(plugin, &info, &parts);
                return Ok(quote!(#item #implementation));
            }
        }
    }
    // Add an empty implementation, so that the author doesn't also get an error about a missing one.
    let stub = can_be_plugin.then(|| {
        quote! {
            impl ::moongate_sdk::Plugin for #plugin {
                fn info() -> ::moongate_sdk::PluginInfo { ::core::unreachable!() }
            }
        }
    });
    Err(InvalidBlock { block: quote!(#item #stub), errors })
}

/// Parses the role of the block from the options.
fn role(options: TokenStream, item: &ItemImpl) -> Result<BlockRole> {
    let options = Options::parse(options, item.self_ty.span(), OPTIONS)?;
    if options.flag("part")? == Some(true) {
        return match options.first_key_except("part") {
            Some(key) => {
                let message = format!("`{key}` belongs in the plugin's own block, not in a part");
                Err(Error::new(key.span(), message))
            }
            None => Ok(BlockRole::Part),
        };
    }
    let parts = match options.expr("parts")? {
        None => Vec::new(),
        Some(Expr::Array(list)) => list.elems.iter().map(part).collect::<Result<_>>()?,
        Some(other) => {
            return Err(Error::new_spanned(other, "`parts` must be a list: `parts = [Files, Words]`"));
        }
    };
    Ok(BlockRole::Plugin { info: info(&options, item)?, parts })
}

/// The type of a part.
fn part(named: &Expr) -> Result<Path> {
    match named {
        Expr::Path(path) => Ok(path.path.clone()),
        other => Err(Error::new_spanned(other, "a part must be the type of a block with `#[plugin(part)]`")),
    }
}

/// The code of the plugin's metadata.
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
    let description = text(description);
    let website = text(website);
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
