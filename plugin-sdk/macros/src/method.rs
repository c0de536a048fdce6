//! The signature of a function, and errors in it.

use std::fmt;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Error, FnArg, Ident, ImplItemFn, Pat, PatType, ReturnType, Type};

use crate::{docs, question};

/// The kind of a plugin's item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Tool,
    Resource,
    Prompt,
    Completion,
}

impl ItemKind {
    /// The kind of an attribute.
    pub(crate) fn from_attribute(attribute: &Attribute) -> Option<Self> {
        let kinds = [
            ("tool", Self::Tool),
            ("resource", Self::Resource),
            ("prompt", Self::Prompt),
            ("complete", Self::Completion),
        ];
        let name = &attribute.path().segments.last()?.ident;
        kinds.into_iter().find(|(word, _)| name == word).map(|(_, kind)| kind)
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Completion => "completion",
        })
    }
}

/// A function that the macro will call.
pub(crate) struct Method {
    pub(crate) ident: Ident,
    pub(crate) description: String,
    /// `#[cfg(…)]`, to be repeated on all generated code for the function.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) params: Vec<Param>,
    pub(crate) output: TokenStream,
    pub(crate) output_span: Span,
    has_receiver: bool,
}

/// A parameter after `self`.
pub(crate) enum Param {
    /// `&Context`.
    Context,
    /// The object of all arguments.
    Args(Box<ArgsObject>),
    /// One argument.
    Argument(Box<Argument>),
}

/// The object of all arguments.
pub(crate) struct ArgsObject {
    pub(crate) ty: Type,
    /// `true` if the function takes a reference.
    borrowed: bool,
}

/// An argument.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// The owned type of the argument: `String` for `&str`.
    pub(crate) ty: Type,
    /// `true` if the function takes a reference.
    pub(crate) borrowed: bool,
    pub(crate) description: Option<String>,
    /// `#[doc]`, `#[serde]` and `#[schemars]`.
    pub(crate) attributes: Vec<Attribute>,
}

impl Method {
    /// Parses `function`, removes the attributes of its parameters, and adds its errors to `errors`.
    pub(crate) fn read(function: &mut ImplItemFn, what: ItemKind, errors: &mut Vec<Error>) -> Self {
        let signature = &function.sig;
        if let Some(word) = &signature.asyncness {
            errors.push(Error::new_spanned(word, format!(
                "a {what} can't be `async`: every call has its own sandbox, so blocking is fine; write a plain `fn`"
            )));
        }
        if !signature.generics.params.is_empty() {
            errors.push(Error::new_spanned(
                &signature.generics,
                format!("a {what} can't be generic: its schema must be known; use concrete types"),
            ));
        }
        let description = docs::text(&function.attrs).unwrap_or_default();
        if description.is_empty() && what != ItemKind::Completion {
            errors.push(Error::new(signature.ident.span(), format!(
                "this {what} needs a doc comment, which is its description for models and users; add one with `///`"
            )));
        }
        let cfgs =
            function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect();
        let (output, output_span) = match &signature.output {
            ReturnType::Default => (quote!(()), signature.ident.span()),
            ReturnType::Type(_, ty) => {
                if let Type::ImplTrait(_) = **ty {
                    errors.push(Error::new_spanned(
                        ty,
                        format!("a {what} can't return `impl …`; use a concrete type, such as `String`"),
                    ));
                }
                (ty.to_token_stream(), ty.span())
            }
        };
        errors.extend(question::check_error_type(function));
        let ident = function.sig.ident.clone();
        let (has_receiver, params) = read_params(function, what, errors);
        Self { ident, description, cfgs, params, output, output_span, has_receiver }
    }

    /// The separate arguments.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.params.iter().filter_map(|param| match param {
            Param::Argument(argument) => Some(&**argument),
            Param::Context | Param::Args(_) => None,
        })
    }

    /// The type of `args`, if the function takes it.
    pub(crate) fn args(&self) -> Option<&Type> {
        self.params.iter().find_map(|param| match param {
            Param::Args(args) => Some(&args.ty),
            Param::Context | Param::Argument(_) => None,
        })
    }

    /// The code of the call, with `ctx` for the context, `whole` for `args` and the result of `value_of` for each argument.
    pub(crate) fn call(
        &self,
        whole: &TokenStream,
        mut value_of: impl FnMut(&Argument) -> TokenStream,
    ) -> TokenStream {
        let ident = &self.ident;
        let values = self.params.iter().map(|param| match param {
            Param::Context => quote!(ctx),
            Param::Args(args) if args.borrowed => quote!(&#whole),
            Param::Args(_) => whole.clone(),
            Param::Argument(argument) => {
                let value = value_of(argument);
                if argument.borrowed { quote!(&#value) } else { value }
            }
        });
        let target = if self.has_receiver { quote!(self.) } else { quote!(Self::) };
        quote_spanned!(ident.span()=> #target #ident(#(#values),*))
    }
}

fn read_params(function: &mut ImplItemFn, what: ItemKind, errors: &mut Vec<Error>) -> (bool, Vec<Param>) {
    let mut has_receiver = false;
    let mut params: Vec<Param> = Vec::new();
    for input in &mut function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                has_receiver = true;
                if receiver.mutability.is_some() && receiver.reference.is_some() {
                    errors.push(Error::new_spanned(&*receiver, format!(
                        "a {what} can't take `&mut self`: every call gets a new plugin, so changes would be \
                         lost; take `&self`"
                    )));
                } else if receiver.reference.is_none() {
                    errors.push(Error::new_spanned(
                        &*receiver,
                        format!("a {what} can't take `self`; take `&self`"),
                    ));
                }
            }
            FnArg::Typed(typed) => match read_param(typed) {
                Ok(param) => params.push(param),
                Err(error) => errors.push(error),
            },
        }
    }
    let whole = params.iter().any(|param| matches!(param, Param::Args(_)));
    if let Some(Param::Argument(argument)) = params.iter().find(|param| matches!(param, Param::Argument(_)))
        && whole
    {
        let message = format!(
            "`args` is the object of all arguments, so `{}` can't be a separate argument; make it a field of `args`",
            argument.ident.unraw()
        );
        errors.push(Error::new(argument.ident.span(), message));
    }
    (has_receiver, params)
}

fn read_param(typed: &mut PatType) -> Result<Param, Error> {
    let attributes = std::mem::take(&mut typed.attrs);
    if is_context(&typed.ty)? {
        return Ok(Param::Context);
    }
    refuse_type(&typed.ty)?;
    let owned = owner(&typed.ty);
    let borrowed = owned.is_some();
    let ty = owned.unwrap_or_else(|| (*typed.ty).clone());
    let whole = Param::Args(Box::new(ArgsObject { ty: ty.clone(), borrowed }));
    let ident = match &*typed.pat {
        Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => pattern.ident.clone(),
        Pat::Struct(_) | Pat::TupleStruct(_) => return Ok(whole),
        other => return Err(Error::new_spanned(other, "an argument needs a name")),
    };
    if ident == "args" {
        refuse_non_object(&ty, &typed.ty)?;
        return Ok(whole);
    }
    let ours = |attribute: &Attribute| {
        ["doc", "serde", "schemars"].iter().any(|name| attribute.path().is_ident(name))
    };
    if let Some(foreign) = attributes.iter().find(|attribute| !ours(attribute)) {
        return Err(Error::new_spanned(
            foreign,
            "only doc comments, `#[serde]` and `#[schemars]` are supported on parameters",
        ));
    }
    Ok(Param::Argument(Box::new(Argument {
        ident,
        ty,
        borrowed,
        description: docs::text(&attributes),
        attributes,
    })))
}

/// Returns `true` for `&Context` with any path. Other forms, such as `Context`, are errors.
pub(crate) fn is_context(ty: &Type) -> Result<bool, Error> {
    let (inner, lent) = match ty {
        Type::Reference(reference) => (&*reference.elem, reference.mutability.is_none()),
        other => (other, false),
    };
    let Type::Path(path) = inner else { return Ok(false) };
    match path.path.segments.last() {
        Some(last) if last.ident == "Context" && last.arguments.is_none() => {
            if lent {
                return Ok(true);
            }
            Err(Error::new_spanned(ty, "the context belongs to the gateway; take `&Context`"))
        }
        Some(_) | None => Ok(false),
    }
}

/// Rejects types that aren't concrete or contain references, because arguments are deserialized into owned values.
fn refuse_type(ty: &Type) -> Result<(), Error> {
    match ty {
        Type::ImplTrait(_) => {
            let message = "an argument can't be `impl …`: its schema must be known; use a concrete type";
            Err(Error::new_spanned(ty, message))
        }
        Type::Reference(reference) if reference.mutability.is_some() => Err(Error::new_spanned(
            ty,
            "an argument can't be `&mut`, because changes would be lost; take it by value or as `&`",
        )),
        Type::Reference(reference) => refuse_borrowed(&reference.elem),
        other => refuse_borrowed(other),
    }
}

fn refuse_borrowed(ty: &Type) -> Result<(), Error> {
    fn borrows(tokens: TokenStream) -> bool {
        let mut tokens = tokens.into_iter();
        while let Some(token) = tokens.next() {
            let found = match token {
                TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                    !matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "static")
                }
                TokenTree::Punct(punct) => punct.as_char() == '&',
                TokenTree::Group(group) => borrows(group.stream()),
                TokenTree::Ident(_) | TokenTree::Literal(_) => false,
            };
            if found {
                return true;
            }
        }
        false
    }
    if !borrows(ty.to_token_stream()) {
        return Ok(());
    }
    let message = "an argument can't contain a reference; use an owned type, such as `String` for `&str`";
    Err(Error::new_spanned(ty, message))
}

/// Rejects types for `args` that aren't objects.
fn refuse_non_object(ty: &Type, written: &Type) -> Result<(), Error> {
    const NON_OBJECTS: &[&str] = &[
        "String", "str", "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32",
        "i64", "i128", "isize", "f32", "f64", "Vec", "Option",
    ];
    let object = match ty {
        Type::Path(path) => {
            !path.path.segments.last().is_some_and(|last| NON_OBJECTS.iter().any(|name| last.ident == name))
        }
        Type::Tuple(_) | Type::Array(_) => false,
        _ => true, // syn's enum is non-exhaustive; rustc reports the error
    };
    if object {
        return Ok(());
    }
    let message = format!(
        "`args` is the object of all arguments, but `{}` isn't an object; rename a single argument, or use a \
         struct",
        written.to_token_stream().to_string().replace(' ', "")
    );
    Err(Error::new_spanned(written, message))
}

/// The owned type for a reference, into which the argument is deserialized.
fn owner(ty: &Type) -> Option<Type> {
    let Type::Reference(reference) = ty else { return None };
    Some(match &*reference.elem {
        Type::Path(path) if path.path.is_ident("str") => syn::parse_quote!(::std::string::String),
        Type::Slice(slice) => {
            let item = &slice.elem;
            syn::parse_quote!(::std::vec::Vec<#item>)
        }
        other => other.clone(),
    })
}
