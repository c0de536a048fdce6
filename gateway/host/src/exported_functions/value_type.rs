//! The types of parameters and results, as far as they have a form in JSON.

use std::collections::HashMap;
use std::fmt;

use wasmtime::component::types::Type;

use crate::diagnostics::text;

/// The maximum nesting of a type.
const MAX_TYPE_DEPTH: usize = 32;
/// The memory of all types of a component, in bytes. A type that is used twice counts twice.
const MAX_TYPE_BYTES: usize = 4 << 20;
/// The memory of a type without its names and parts, in bytes.
const TYPE_BYTES: usize = 64;

/// Lists of up to this many names are searched without an index.
const MAX_SEARCHED_NAMES: usize = 32;

/// A type of values that have a form in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueType {
    Bool,
    Integer(IntegerType),
    Float32,
    Float64,
    Char,
    String,
    /// `list<u8>`.
    Bytes,
    List(Box<Self>),
    FixedLengthList(Box<Self>, u32),
    /// `list<tuple<string, T>>`: the entries of a map, with the type of the values.
    Entries(Box<Self>),
    /// `map<string, T>`, with the type of the values.
    Map(Box<Self>),
    Record(Vec<(String, Self)>),
    Tuple(Vec<Self>),
    /// The cases, each with the type of its payload.
    Variant(Vec<(String, Option<Self>)>),
    Enum(Vec<String>),
    Option(Box<Self>),
    Result(Box<ResultType>),
    Flags(Vec<String>),
}

/// The type of a result's two cases. `None` means that the case has no payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResultType {
    pub(crate) ok: Option<ValueType>,
    pub(crate) err: Option<ValueType>,
}

/// A type of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntegerType {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
}

impl IntegerType {
    /// The minimum and the maximum.
    pub(crate) fn range(self) -> (i128, i128) {
        match self {
            Self::S8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::S16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::S32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::S64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
        }
    }

    /// True if many JSON readers can't represent all of its values. These values can be decimal strings.
    pub(crate) fn is_64_bit(self) -> bool {
        matches!(self, Self::S64 | Self::U64)
    }
}

/// Finds names in the lists that are part of types. A list can be long and needed for many values, so a long one is
/// indexed when it is first used.
#[derive(Debug, Default)]
pub(super) struct NameIndexes<'t>(HashMap<usize, HashMap<&'t str, usize>>);

impl<'t> NameIndexes<'t> {
    /// The position of the item with this name in a list.
    pub(super) fn position<T>(
        &mut self,
        items: &'t [T],
        name_of: impl Fn(&'t T) -> &'t str,
        name: &str,
    ) -> Option<usize> {
        if items.len() <= MAX_SEARCHED_NAMES {
            return items.iter().position(|item| name_of(item) == name);
        }
        // Types that exist at the same time have different addresses.
        let index = self.0.entry(items.as_ptr().addr()).or_insert_with(|| {
            items.iter().enumerate().map(|(position, item)| (name_of(item), position)).collect()
        });
        index.get(name).copied()
    }
}

/// The memory that is left for the types of a component.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeBudget {
    left: usize,
}

impl Default for TypeBudget {
    fn default() -> Self {
        Self { left: MAX_TYPE_BYTES }
    }
}

impl TypeBudget {
    fn take(&mut self, bytes: usize) -> Result<(), UnmappedType> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            UnmappedType::new("types that are too large together with those of the other functions")
        })?;
        Ok(())
    }
}

/// A function that can't become a tool because of its types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnmappedType {
    /// The parameter or the result. `None` means the function itself.
    part: Option<String>,
    found: &'static str,
}

impl UnmappedType {
    fn new(found: &'static str) -> Self {
        Self { part: None, found }
    }

    /// An asynchronous function.
    pub(crate) fn asynchronous() -> Self {
        Self::new("async")
    }

    /// The same for this part of the function.
    pub(crate) fn of(self, part: String) -> Self {
        Self { part: Some(part), ..self }
    }
}

impl fmt::Display for UnmappedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Some(part) => {
                let part = text::clean_line(part, text::MAX_WORD_BYTES);
                write!(
                    f,
                    "its {part} contains {}, which JSON arguments and results can't contain",
                    self.found
                )
            }
            None => write!(f, "the function is {}, which the gateway doesn't support", self.found),
        }
    }
}

impl ValueType {
    /// Reads a type of a component.
    ///
    /// # Errors
    /// It contains a type without a form in JSON, is nested too deeply, or is too large.
    pub(crate) fn read(ty: &Type, budget: &mut TypeBudget) -> Result<Self, UnmappedType> {
        read(ty, budget, 0)
    }

    /// True if `null` is a value.
    pub(crate) fn is_option(&self) -> bool {
        matches!(self, Self::Option(_))
    }
}

fn read(ty: &Type, budget: &mut TypeBudget, depth: usize) -> Result<ValueType, UnmappedType> {
    if depth >= MAX_TYPE_DEPTH {
        return Err(UnmappedType::new("a type that is nested more than 32 levels deep"));
    }
    budget.take(TYPE_BYTES)?;
    let depth = depth + 1;
    Ok(match ty {
        Type::Bool => ValueType::Bool,
        Type::S8 => ValueType::Integer(IntegerType::S8),
        Type::U8 => ValueType::Integer(IntegerType::U8),
        Type::S16 => ValueType::Integer(IntegerType::S16),
        Type::U16 => ValueType::Integer(IntegerType::U16),
        Type::S32 => ValueType::Integer(IntegerType::S32),
        Type::U32 => ValueType::Integer(IntegerType::U32),
        Type::S64 => ValueType::Integer(IntegerType::S64),
        Type::U64 => ValueType::Integer(IntegerType::U64),
        Type::Float32 => ValueType::Float32,
        Type::Float64 => ValueType::Float64,
        Type::Char => ValueType::Char,
        Type::String => ValueType::String,
        Type::List(list) => list_of(read(&list.ty(), budget, depth)?),
        Type::FixedLengthList(list) => {
            ValueType::FixedLengthList(Box::new(read(&list.ty(), budget, depth)?), list.len())
        }
        Type::Map(map) => match map.key() {
            Type::String => ValueType::Map(Box::new(read(&map.value(), budget, depth)?)),
            _ => return Err(UnmappedType::new("a map whose keys aren't strings")),
        },
        Type::Record(record) => {
            let field = |field: wasmtime::component::types::Field<'_>| {
                budget.take(field.name.len())?;
                Ok((field.name.to_owned(), read(&field.ty, budget, depth)?))
            };
            ValueType::Record(record.fields().map(field).collect::<Result<_, _>>()?)
        }
        Type::Tuple(tuple) => {
            let types = tuple.types().map(|ty| read(&ty, budget, depth));
            ValueType::Tuple(types.collect::<Result<_, _>>()?)
        }
        Type::Variant(variant) => {
            let case = |case: wasmtime::component::types::Case<'_>| {
                budget.take(TYPE_BYTES + case.name.len())?;
                let payload = case.ty.map(|ty| read(&ty, budget, depth)).transpose()?;
                Ok((case.name.to_owned(), payload))
            };
            ValueType::Variant(variant.cases().map(case).collect::<Result<_, _>>()?)
        }
        Type::Enum(cases) => ValueType::Enum(names(cases.names(), budget)?),
        Type::Option(option) => ValueType::Option(Box::new(read(&option.ty(), budget, depth)?)),
        Type::Result(result) => {
            let ok = result.ok().map(|ty| read(&ty, budget, depth)).transpose()?;
            let err = result.err().map(|ty| read(&ty, budget, depth)).transpose()?;
            ValueType::Result(Box::new(ResultType { ok, err }))
        }
        Type::Flags(flags) => ValueType::Flags(names(flags.names(), budget)?),
        Type::Own(_) | Type::Borrow(_) => return Err(UnmappedType::new("a resource")),
        Type::Future(_) => return Err(UnmappedType::new("a future")),
        Type::Stream(_) => return Err(UnmappedType::new("a stream")),
        Type::ErrorContext => return Err(UnmappedType::new("an error context")),
    })
}

/// The type of a list with these elements.
pub(super) fn list_of(element: ValueType) -> ValueType {
    match element {
        ValueType::Integer(IntegerType::U8) => ValueType::Bytes,
        ValueType::Tuple(parts) => match <[ValueType; 2]>::try_from(parts) {
            Ok([ValueType::String, value]) => ValueType::Entries(Box::new(value)),
            Ok(parts) => ValueType::List(Box::new(ValueType::Tuple(parts.into()))),
            Err(parts) => ValueType::List(Box::new(ValueType::Tuple(parts))),
        },
        element => ValueType::List(Box::new(element)),
    }
}

fn names<'a>(
    names: impl Iterator<Item = &'a str>,
    budget: &mut TypeBudget,
) -> Result<Vec<String>, UnmappedType> {
    let name = |name: &str| {
        budget.take(size_of::<String>() + name.len())?;
        Ok(name.to_owned())
    };
    names.map(name).collect()
}
