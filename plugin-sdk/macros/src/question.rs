//! A question that would be lost in the function's error: what rustc says of it doesn't tell what to write.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, FnArg, GenericArgument, Ident, ImplItemFn, Pat, Path, PathArguments, ReturnType, Type};

use crate::method::is_context;

/// What is wrong with a function that asks the client and returns an error which no question can travel in. Other errors
/// are rustc's to judge.
pub(crate) fn lost(function: &ImplItemFn) -> Option<Error> {
    let context = function.sig.inputs.iter().find_map(context)?;
    let ReturnType::Type(_, returned) = &function.sig.output else { return None };
    let error = error_of(returned)?;
    asks(context, function.block.to_token_stream()).then(|| {
        let message = "a question can't travel in this error, so nobody would be asked: return `Result<_, ToolError>`; \
                       `?` turns every other error into that";
        Error::new_spanned(error, message)
    })
}

/// The parameter's name, if it is the context.
fn context(input: &FnArg) -> Option<&Ident> {
    let FnArg::Typed(typed) = input else { return None };
    match &*typed.pat {
        Pat::Ident(name) if matches!(is_context(&typed.ty), Ok(true)) => Some(&name.ident),
        _ => None, // syn's enum
    }
}

/// The error in the `Result` that is returned, if no question can travel in it.
fn error_of(returned: &Type) -> Option<&dyn ToTokens> {
    let Type::Path(result) = returned else { return None };
    let last = result.path.segments.last().filter(|last| last.ident == "Result")?;
    let PathArguments::AngleBracketed(given) = &last.arguments else { return None };
    let mut types = given.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None, // syn's enum
    });
    match (types.next(), types.next()) {
        (Some(_), None) => ["anyhow", "io", "fmt"]
            .iter()
            .any(|of| is_of(&result.path, of))
            .then_some(&result.path as &dyn ToTokens),
        (Some(_), Some(Type::Path(error))) => {
            let name = &error.path.segments.last()?.ident;
            let cannot = ["Box", "String"].iter().any(|known| name == known) || is_of(&error.path, "anyhow");
            cannot.then_some(&error.path as &dyn ToTokens)
        }
        _ => None, // syn's enum
    }
}

/// Is the last part of the path one of this module?
fn is_of(path: &Path, module: &str) -> bool {
    path.segments.iter().rev().nth(1).is_some_and(|before| before.ident == module)
}

/// Does `context.ask(…)` stand in there?
fn asks(context: &Ident, code: TokenStream) -> bool {
    let code: Vec<TokenTree> = code.into_iter().collect();
    let here = code.windows(4).any(|four| match four {
        [TokenTree::Ident(of), TokenTree::Punct(dot), TokenTree::Ident(asks), TokenTree::Group(with)] => {
            of == context
                && dot.as_char() == '.'
                && (asks == "ask" || asks == "ask_all")
                && with.delimiter() == Delimiter::Parenthesis
        }
        _ => false, // any other four
    });
    here || code.into_iter().any(|token| match token {
        TokenTree::Group(group) => asks(context, group.stream()),
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
