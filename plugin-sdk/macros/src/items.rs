//! The items of a block, and the generated implementation of `Plugin`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, ImplItem, ImplItemFn, ItemImpl, LitStr, Meta, Path, Result, Type};

use crate::completion::{Completion, Target};
use crate::method::{ItemKind, Method};
use crate::misplaced;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::tool::Tool;

/// The items of a block, in source order.
#[derive(Default)]
pub(crate) struct PluginItems {
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    prompts: Vec<Prompt>,
    completions: Vec<Completion>,
}

impl PluginItems {
    /// Parses the functions with attributes, and removes these attributes.
    pub(crate) fn read(item: &mut ItemImpl, errors: &mut Vec<Error>) -> Self {
        let mut items = Self::default();
        for function in item.items.iter_mut() {
            let ImplItem::Fn(function) = function else {
                errors.extend(misplaced::remove_from(function));
                continue;
            };
            let (marks, rest): (Vec<Attribute>, Vec<Attribute>) = std::mem::take(&mut function.attrs)
                .into_iter()
                .partition(|attribute| ItemKind::from_attribute(attribute).is_some());
            function.attrs = rest;
            match marks.as_slice() {
                [] => {}
                [mark] => {
                    if let Err(error) = items.read_function(mark, function, errors) {
                        errors.push(error);
                    }
                }
                [_, second, ..] => errors
                    .push(Error::new_spanned(second, "a function can have only one of these attributes")),
            }
        }
        for names in [
            items.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
            items.prompts.iter().map(|prompt| &prompt.name).collect(),
            items.resources.iter().map(|resource| &resource.uri).collect(),
        ] {
            refuse_duplicates(&names, errors);
        }
        // Skip this after errors, because the target of a completion can be an item with an error.
        if errors.is_empty() {
            errors.extend(items.completions.iter().filter_map(|complete| items.unknown_target(complete)));
        }
        items
    }

    fn read_function(
        &mut self,
        mark: &Attribute,
        function: &mut ImplItemFn,
        errors: &mut Vec<Error>,
    ) -> Result<()> {
        let Some(kind) = ItemKind::from_attribute(mark) else { return Ok(()) };
        let tokens = match &mark.meta {
            Meta::Path(_) => TokenStream::new(),
            Meta::List(list) => list.tokens.clone(),
            Meta::NameValue(other) => {
                return Err(Error::new_spanned(other, "write the options in parentheses"));
            }
        };
        let method = Method::read(function, kind, errors);
        match kind {
            ItemKind::Tool => self.tools.push(Tool::read(method, tokens)?),
            ItemKind::Resource => self.resources.push(Resource::read(method, tokens)?),
            ItemKind::Prompt => self.prompts.push(Prompt::read(method, tokens)?),
            ItemKind::Completion => self.completions.push(Completion::read(method, tokens)?),
        }
        Ok(())
    }

    /// The error for a completion whose target doesn't exist.
    fn unknown_target(&self, complete: &Completion) -> Option<Error> {
        let argument = complete.argument.value();
        // The possible targets, and whether each has the argument.
        let (kind, named, known): (_, _, Vec<(String, bool)>) = match &complete.target {
            Target::Prompt(name) => {
                let prompts =
                    self.prompts.iter().map(|prompt| (prompt.name.value(), prompt.takes(&argument)));
                ("prompt", name, prompts.collect())
            }
            Target::Template(uri) => {
                let templates = self.resources.iter().filter(|resource| resource.is_template());
                let templates = templates.map(|template| (template.uri.value(), template.takes(&argument)));
                ("template", uri, templates.collect())
            }
        };
        let name = named.value();
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, true)) => None,
            Some((_, false)) => {
                let message = format!("the {kind} `{name}` has no argument `{argument}`");
                Some(Error::new(complete.argument.span(), message))
            }
            None => {
                let known: Vec<String> = known.iter().map(|(known, _)| format!("`{known}`")).collect();
                let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let message = format!("there is no {kind} `{name}` in this block; it has {has}");
                Some(Error::new(named.span(), message))
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.resources.is_empty() && self.prompts.is_empty()
    }

    /// The error for items that a part can't have.
    pub(crate) fn other_than_tools(&self) -> Option<Error> {
        let resource = self.resources.first().map(|resource| resource.uri.span());
        let prompt = self.prompts.first().map(|prompt| prompt.name.span());
        let completion = self.completions.first().map(|completion| completion.argument.span());
        let span = resource.or(prompt).or(completion)?;
        Some(Error::new(span, "a part has tools only; move this to the plugin's own block"))
    }

    /// The implementation of `Plugin` and its export.
    pub(crate) fn implementation(&self, plugin: &Type, info: &TokenStream, parts: &[Path]) -> TokenStream {
        let arguments = self.tools.iter().map(Tool::arguments);
        let has_tools = !(self.tools.is_empty() && parts.is_empty());
        let functions = [
            has_tools.then(|| self.tool_functions(parts)),
            self.resource_functions(),
            self.prompt_functions(),
            self.complete_function(),
        ];
        let mut interfaces = Vec::new();
        for (has, name) in [
            (has_tools, quote!(tools)),
            (!self.resources.is_empty(), quote!(resources)),
            (!self.prompts.is_empty(), quote!(prompts)),
            (!self.completions.is_empty(), quote!(completions)),
        ] {
            interfaces.extend(has.then_some(name));
        }
        let unique_item = unique_item(plugin);
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
            #unique_item
        }
    }

    /// The implementation of a part. It isn't exported, because the plugin's own block calls it.
    pub(crate) fn part(&self, part: &Type) -> TokenStream {
        let arguments = self.tools.iter().map(Tool::arguments);
        let names = self.tools.iter().map(Tool::name_arm);
        let functions = self.tool_functions(&[]);
        quote! {
            const _: () = {
                #(#arguments)*

                #[automatically_derived]
                impl ::moongate_sdk::expansion::Part for #part {
                    fn has_tool(name: &str) -> bool {
                        match name {
                            #(#names)*
                            _ => false,
                        }
                    }
                    #functions
                }
            };
        }
    }

    /// The functions for tools: this block's own and those of the parts.
    fn tool_functions(&self, parts: &[Path]) -> TokenStream {
        let entries = self.tools.iter().map(Tool::entry);
        let arms = self.tools.iter().map(Tool::arm);
        let part = quote!(::moongate_sdk::expansion::Part);
        let entries = entries.chain(parts.iter().map(|ty| {
            let tools = quote!(<#ty as #part>::tools(&<#ty as ::core::default::Default>::default())?);
            quote!(::core::iter::Extend::extend(&mut list, #tools);)
        }));
        let list = list(&quote!(tools), &quote!(Tool), entries);
        let of_parts = parts.iter().map(|ty| {
            let value = quote!(&<#ty as ::core::default::Default>::default());
            quote!(_ if <#ty as #part>::has_tool(name) => <#ty as #part>::call_tool(#value, ctx, name, args),)
        });
        quote! {
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
                    #(#of_parts)*
                    _ => ::moongate_sdk::expansion::no_tool(name),
                }
            }
        }
    }

    fn resource_functions(&self) -> Option<TokenStream> {
        if self.resources.is_empty() {
            return None;
        }
        let (templates, resources): (Vec<&Resource>, Vec<&Resource>) =
            self.resources.iter().partition(|resource| resource.is_template());
        // Exact URIs take precedence over templates.
        let steps = resources.iter().chain(&templates).map(|resource| resource.step());
        let resources = list(
            &quote!(resources),
            &quote!(ResourceInfo),
            resources.iter().map(|resource| resource.entry()),
        );
        let templates = list(
            &quote!(templates),
            &quote!(ResourceTemplate),
            templates.iter().map(|resource| resource.entry()),
        );
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
        let entries = self.prompts.iter().map(Prompt::entry);
        let arms = self.prompts.iter().map(Prompt::arm);
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
        let steps = self.completions.iter().map(Completion::step);
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

/// A macro that can exist only once in a component: its name is the message in the compiler's error for a second one.
/// Native tests can have several plugins in a crate.
fn unique_item(plugin: &Type) -> TokenStream {
    quote_spanned! {plugin.span()=>
        #[cfg(target_family = "wasm")]
        #[doc(hidden)]
        #[macro_export]
        macro_rules! a_component_has_only_one_plugin_so_mark_the_other_block_as_a_part_or_move_it_to_another_crate {
            () => {};
        }
    }
}

/// Rejects items of the same kind with the same name. If `#[cfg]` separates them, rustc checks them.
fn refuse_duplicates(names: &[&LitStr], errors: &mut Vec<Error>) {
    for (index, name) in names.iter().enumerate() {
        if names[..index].iter().any(|earlier| earlier.value() == name.value()) {
            errors.push(Error::new(
                name.span(),
                format!("`{}` is already used; choose a different one", name.value()),
            ));
        }
    }
}

/// A function that returns a list.
fn list(function: &TokenStream, ty: &TokenStream, entries: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote! {
        fn #function(
            &self,
        ) -> ::core::result::Result<::std::vec::Vec<::moongate_sdk::#ty>, ::moongate_sdk::Failure> {
            #[allow(unused_imports, reason = "for types that can't be in the list")]
            use ::moongate_sdk::expansion::ListTypeFallback as _;
            #[allow(unused_mut, clippy::vec_init_then_push, reason = "`#[cfg]` can remove entries")]
            let mut list = ::std::vec::Vec::new();
            #(#entries)*
            ::core::result::Result::Ok(list)
        }
    }
}
