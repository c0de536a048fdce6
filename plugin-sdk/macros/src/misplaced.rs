//! Errors for misplaced attributes, with the correct place.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Error, FnArg, ImplItem, ImplItemFn, Item};

use crate::method::ItemKind;

/// Returns the item with an error for `#[tool]` or another attribute outside of a `#[plugin]` block.
pub(crate) fn attribute(name: &str, item: &TokenStream) -> TokenStream {
    let (item, place, message) = match syn::parse2::<ImplItemFn>(item.clone()) {
        Ok(mut function) => {
            // Remove the attributes of parameters, so that there is only one error.
            for input in &mut function.sig.inputs {
                if let FnArg::Typed(typed) = input {
                    typed.attrs.clear();
                }
            }
            let message = if function.sig.receiver().is_some() {
                format!(
                    "`#[{name}]` has no effect here; add `#[plugin]` to the `impl` block of this function"
                )
            } else {
                format!(
                    "`#[{name}]` has no effect here; add `#[plugin]` to the `impl` block of this function, or move it \
                     into such a block"
                )
            };
            (quote!(#function), function.sig.ident.span(), message)
        }
        Err(_) if matches!(syn::parse2::<Item>(item.clone()), Ok(Item::Impl(_))) => (
            item.clone(),
            first_span(item),
            format!(
                "`#[{name}]` is only for functions; add `#[plugin]` to the `impl` block, and `#[{name}]` to a function in it"
            ),
        ),
        Err(_) => (item.clone(), first_span(item), only_for_functions(name)),
    };
    let error = Error::new(place, message).to_compile_error();
    quote!(#item #error)
}

/// Removes the attributes of an item that isn't a function, and returns an error for them.
pub(crate) fn remove_from(item: &mut ImplItem) -> Option<Error> {
    let attributes = match item {
        ImplItem::Const(item) => &mut item.attrs,
        ImplItem::Type(item) => &mut item.attrs,
        ImplItem::Macro(item) => &mut item.attrs,
        _ => return None, // syn's enum is non-exhaustive
    };
    let (marks, rest): (Vec<Attribute>, _) = std::mem::take(attributes)
        .into_iter()
        .partition(|attribute| ItemKind::from_attribute(attribute).is_some());
    *attributes = rest;
    let mark = marks.first()?;
    let name = &mark.path().segments.last()?.ident;
    Some(Error::new_spanned(mark, only_for_functions(&name.to_string())))
}

/// The error for `#[plugin]` on an item that isn't an `impl` block.
pub(crate) fn plugin(item: &TokenStream) -> Error {
    let (place, message) = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(item)) => (item.ident, "not on the type; move it to the block with the functions"),
        Ok(Item::Enum(item)) => (item.ident, "not on the type; move it to the block with the functions"),
        Ok(Item::Fn(item)) => {
            (item.sig.ident, "and `#[tool]` on a function in it; move the function into such a block")
        }
        Ok(Item::Mod(item)) => (item.ident, "not on a module; move it to the block with the functions"),
        Ok(Item::Trait(item)) => (item.ident, "not on a trait; move it to a block with functions"),
        Ok(_) => {
            let message = "`#[plugin]` belongs on an `impl` block; move it to the one with the functions";
            return Error::new_spanned(item, message);
        }
        // An `impl` block that syn can't parse.
        Err(error) => return error,
    };
    Error::new(place.span(), format!("`#[plugin]` belongs on an `impl` block, {message}"))
}

fn first_span(item: &TokenStream) -> Span {
    item.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}

fn only_for_functions(name: &str) -> String {
    format!("`#[{name}]` is only for functions in an `impl` block with `#[plugin]`")
}
