//! Components without the contract: the functions that they export become tools.
//!
//! A function's types determine the schemas of its tool ([`json_schema`]). A call converts the arguments from JSON to
//! the function's parameters ([`arguments`]), and its result to JSON ([`results`]). `docs/components.md` describes the
//! forms of all types.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::mem::size_of;

use wasmtime::Store;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{ComponentExportIndex, Instance, InstancePre, Val};

use self::arguments::ArgumentError;
use self::value_type::{TypeBudget, UnmappedType, ValueType};
use crate::bindings::{tools, types};
use crate::load::error::LoadError;
use crate::sandbox::store::StoreState;

mod arguments;
mod json_schema;
pub(crate) mod package_docs;
mod results;
mod value_type;

pub(crate) use json_schema::tool_schemas;

/// The maximum number of exported functions, in addition to the limit on tools: reading them isn't limited otherwise.
const MAX_FUNCTIONS: usize = 10_000;

/// The text of a result without a value.
const NO_VALUE: &str = "done";

/// The functions that a component exports, in the order of its exports.
#[derive(Debug)]
pub(crate) struct ExportedFunctions {
    pub(crate) functions: Vec<ExportedFunction>,
    pub(crate) refused: Vec<RefusedFunction>,
}

/// A function that becomes a tool.
pub(crate) struct ExportedFunction {
    /// The name of its tool.
    pub(crate) name: String,
    /// Its name in the component.
    pub(crate) function: String,
    /// The interface that contains it. `None` if the component exports it directly.
    pub(crate) interface: Option<String>,
    pub(crate) params: Vec<(String, ValueType)>,
    /// `None` if it returns nothing.
    pub(crate) result: Option<ValueType>,
    index: ComponentExportIndex,
}

/// A function that can't become a tool.
#[derive(Debug)]
pub(crate) struct RefusedFunction {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// A function before its types are read.
struct Candidate {
    interface: Option<String>,
    function: String,
    ty: ComponentFunc,
    index: ComponentExportIndex,
}

/// The values of a call need more memory than the limit `transfer` allows.
#[derive(Debug, thiserror::Error)]
#[error("the values exceed the `transfer` limit")]
pub(crate) struct ValuesTooLarge;

/// There is too little memory for the values of a call.
#[derive(Debug, thiserror::Error)]
#[error("not enough memory for the arguments")]
struct NoMemoryForValues;

impl fmt::Debug for ExportedFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, params, result, .. } = self;
        f.debug_struct("ExportedFunction")
            .field("name", name)
            .field("params", params)
            .field("result", result)
            .finish_non_exhaustive()
    }
}

impl ExportedFunction {
    /// The description of its tool. Nearly all components contain no documentation.
    pub(crate) fn description(&self, documentation: &BTreeMap<String, String>) -> String {
        let Self { function, interface, .. } = self;
        let key = package_docs::key(interface.as_deref().map(short_interface), function);
        if let Some(text) = documentation.get(&key) {
            return text.clone();
        }
        match interface {
            Some(interface) => format!("Call the function `{function}` of `{interface}`."),
            None => format!("Call the function `{function}`."),
        }
    }
}

impl ExportedFunctions {
    /// Reads the types of all exported functions. Interfaces of WASI are for the system, not for tools.
    ///
    /// # Errors
    /// The component exports too many functions.
    pub(crate) fn find(pre: &InstancePre<StoreState>) -> Result<Self, LoadError> {
        let candidates = candidates(pre)?;
        let mut budget = TypeBudget::default();
        let mut found = Self { functions: Vec::new(), refused: Vec::new() };
        let names = tool_names(&candidates);
        for (Candidate { interface, function, ty, index }, name) in candidates.into_iter().zip(names) {
            let name = match name {
                Ok(name) => name,
                Err(refused) => {
                    found.refused.push(refused);
                    continue;
                }
            };
            // The types of a refused function aren't kept.
            let mut left = budget;
            match signature(&ty, &mut left) {
                Ok((params, result)) => {
                    budget = left;
                    found.functions.push(ExportedFunction {
                        name,
                        function,
                        interface,
                        params,
                        result,
                        index,
                    });
                }
                Err(error) => found.refused.push(RefusedFunction { name, reason: error.to_string() }),
            }
        }
        Ok(found)
    }

    /// True if the component exports no functions at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.refused.is_empty()
    }

    /// Calls a function with the arguments in a JSON object.
    pub(crate) async fn call(
        &self,
        store: &mut Store<StoreState>,
        instance: &Instance,
        name: &str,
        args: &str,
    ) -> wasmtime::Result<Result<tools::CallOutcome, types::Failure>> {
        let function = self.functions.iter().find(|function| function.name == name);
        let function = function.ok_or_else(|| wasmtime::format_err!("the plugin exports no `{name}`"))?;
        let limit = usize::try_from(store.data().config().limits.transfer.as_u64()).unwrap_or(usize::MAX);
        let arguments = match arguments::parse(&function.params, args, limit) {
            Ok(arguments) => arguments,
            Err(ArgumentError::TooLarge) => return Err(ValuesTooLarge.into()),
            Err(ArgumentError::Invalid { message, pointer }) => {
                let fault = types::Fault { message, at: Some(pointer), data: None };
                return Ok(Err(types::Failure::InvalidParams(fault)));
            }
        };
        let memory = arguments.memory as u64;
        if !store.data_mut().memory_limiter_mut().take_values(memory) {
            return Err(NoMemoryForValues.into());
        }
        let called = instance.get_func(&mut *store, function.index);
        let called = called.ok_or_else(|| wasmtime::format_err!("the instance has no function `{name}`"))?;
        let mut values = vec![Val::Bool(false); usize::from(function.result.is_some())];
        let ended = called.call_async(&mut *store, &arguments.values, &mut values).await;
        drop(arguments);
        store.data_mut().memory_limiter_mut().return_values(memory);
        ended?;
        let outcome = match (&function.result, values.first()) {
            (Some(ty), Some(value)) => results::call_result(ty, value, limit)?,
            (Some(_) | None, _) => results::text_result(NO_VALUE.to_owned()),
        };
        Ok(Ok(tools::CallOutcome::Done(outcome)))
    }
}

/// All exported functions, with an index for looking each up in an instance.
fn candidates(pre: &InstancePre<StoreState>) -> Result<Vec<Candidate>, LoadError> {
    let component = pre.component();
    let engine = pre.engine();
    let mut found = Vec::new();
    let mut add = |candidate| {
        found.push(candidate);
        if found.len() > MAX_FUNCTIONS {
            let reason = format!("the component exports more than {MAX_FUNCTIONS} functions");
            return Err(LoadError::InvalidDescription { reason, low: None });
        }
        Ok(())
    };
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(ty) => {
                let Some(index) = component.get_export_index(None, name) else { continue };
                add(Candidate { interface: None, function: name.to_owned(), ty, index })?;
            }
            ComponentItem::ComponentInstance(instance) if !name.starts_with("wasi:") => {
                let Some(interface) = component.get_export_index(None, name) else { continue };
                for (function, item) in instance.exports(engine) {
                    let ComponentItem::ComponentFunc(ty) = item.ty else { continue };
                    let Some(index) = component.get_export_index(Some(&interface), function) else {
                        continue;
                    };
                    let function = function.to_owned();
                    add(Candidate { interface: Some(name.to_owned()), function, ty, index })?;
                }
            }
            ComponentItem::ComponentInstance(_)
            | ComponentItem::CoreFunc(_)
            | ComponentItem::Module(_)
            | ComponentItem::Component(_)
            | ComponentItem::Type(_)
            | ComponentItem::Resource(_) => {}
        }
    }
    Ok(found)
}

/// The name of each function's tool: its own name if no other function has it, or else `interface.function`. Functions
/// whose names are still equal are refused, because a call couldn't choose one.
fn tool_names(candidates: &[Candidate]) -> Vec<Result<String, RefusedFunction>> {
    let mut counts = HashMap::<&str, u32>::new();
    for candidate in candidates {
        *counts.entry(candidate.base_name()).or_default() += 1;
    }
    let name = |candidate: &Candidate| {
        let base = candidate.base_name();
        match &candidate.interface {
            Some(interface) if counts[base] > 1 => format!("{}.{base}", short_interface(interface)),
            Some(_) | None => base.to_owned(),
        }
    };
    let names: Vec<String> = candidates.iter().map(name).collect();
    let mut counts = HashMap::<&str, u32>::new();
    for name in &names {
        *counts.entry(name).or_default() += 1;
    }
    let is_unique: Vec<bool> = names.iter().map(|name| counts[&**name] == 1).collect();
    let refuse = |name, candidate: &Candidate| {
        let interface = candidate.interface.as_deref().unwrap_or_default();
        let reason = format!("several exported functions have this name, one of them in `{interface}`");
        RefusedFunction { name, reason }
    };
    let named = names.into_iter().zip(is_unique).zip(candidates);
    named
        .map(|((name, unique), candidate)| if unique { Ok(name) } else { Err(refuse(name, candidate)) })
        .collect()
}

impl Candidate {
    /// The function's own name. A static function of a resource needs no resource, so it is named like any other.
    fn base_name(&self) -> &str {
        self.function.strip_prefix("[static]").unwrap_or(&self.function)
    }
}

/// The name of an interface without its package and version: `calc` of `docs:maths/calc@1.0.0`.
fn short_interface(name: &str) -> &str {
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    name.rsplit_once('/').map_or(name, |(_, name)| name)
}

/// The types of a function's parameters and result.
type Signature = (Vec<(String, ValueType)>, Option<ValueType>);

fn signature(ty: &ComponentFunc, budget: &mut TypeBudget) -> Result<Signature, UnmappedType> {
    if ty.async_() {
        return Err(UnmappedType::asynchronous());
    }
    let params = ty.params().map(|(name, ty)| {
        let read = ValueType::read(&ty, budget).map_err(|error| error.of(format!("parameter `{name}`")))?;
        Ok((name.to_owned(), read))
    });
    let params = params.collect::<Result<_, _>>()?;
    let result = ty.results().next();
    let result = result.map(|ty| ValueType::read(&ty, budget).map_err(|error| error.of("result".to_owned())));
    Ok((params, result.transpose()?))
}

/// The memory of one value, in bytes, apart from its text or its elements.
const VALUE_BYTES: usize = size_of::<Val>();

#[cfg(test)]
mod tests;
