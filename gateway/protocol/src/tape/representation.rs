//! The tape as the validator's representation of values.

use std::borrow::Cow;
use std::ops::ControlFlow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};
use serde_json::{Map, Number, Value};

use super::equality::{equals, equals_node, has_equal_elements};
use super::{JsonTape, TapeChildren, TapeContainer, TapeNode, is_number};

/// The maximum number of members of an object in an error.
const MAX_REPORTED_MEMBERS: usize = 100;

/// The representation for the validator.
#[derive(Debug)]
pub(crate) struct TapeJson;

/// The members of an object.
#[derive(Debug)]
pub(crate) struct TapeMembers<'a>(TapeChildren<'a>);

impl Json for TapeJson {
    type Node<'a> = TapeNode<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    const KEYS_PER_LOOKUP: usize = 2;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(TapeNode<'_>) -> T) -> T {
        f(TapeNode::String(string))
    }
}

impl<'a> Node<'a, TapeJson> for TapeNode<'a> {
    type Object = TapeContainer<'a>;
    type Array = TapeContainer<'a>;
    type Number = Number;

    fn as_object(&self) -> Option<TapeContainer<'a>> {
        self.container().filter(|container| container.is_object())
    }

    fn as_array(&self) -> Option<TapeContainer<'a>> {
        self.container().filter(|container| !container.is_object())
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.string()
    }

    fn as_number(&self) -> Option<Number> {
        self.number()
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.first_byte() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        TapeNode::is_null(*self)
    }

    fn is_number(&self) -> bool {
        is_number(self.first_byte())
    }

    fn json_type(&self) -> JsonType {
        match self.first_byte() {
            b'{' => JsonType::Object,
            b'[' => JsonType::Array,
            b'"' => JsonType::String,
            b't' | b'f' => JsonType::Boolean,
            first if is_number(first) => JsonType::Number,
            _ => JsonType::Null,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equals(*self, expected)
    }

    /// The value as far as errors need it: containers have no content, only the first names of an object. Everything
    /// else would make an error as large as a parsed tree.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(match self.json_type() {
            JsonType::Object => {
                let members = self.container().into_iter().flat_map(TapeContainer::members);
                let names = members.take(MAX_REPORTED_MEMBERS).filter_map(|(name, _)| name.string());
                Value::Object(names.map(|name| (name.into_owned(), Value::Null)).collect::<Map<_, _>>())
            }
            JsonType::Array => Value::Array(Vec::new()),
            JsonType::String => self.string().unwrap_or_default().into(),
            JsonType::Boolean => (self.first_byte() == b't').into(),
            JsonType::Number | JsonType::Integer => self.number().map_or(Value::Null, Value::Number),
            JsonType::Null => Value::Null,
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(match self {
            Self::Entry { tape, index } => {
                NodeIdentity::tagged(std::ptr::from_ref::<JsonTape<'a>>(tape).addr(), *index)
            }
            Self::String(text) => NodeIdentity::new(text.as_ptr().addr()),
        })
    }
}

impl<'a> Object<'a, TapeJson> for TapeContainer<'a> {
    type Node = TapeNode<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = TapeMembers<'a>;

    fn len(&self) -> usize {
        self.indexed_members().map_or_else(|| self.members().count(), |count| count as usize)
    }

    fn is_empty(&self) -> bool {
        self.children().next().is_none()
    }

    fn get(&self, key: &String) -> Option<TapeNode<'a>> {
        self.member(key)
    }

    fn members(&self) -> TapeMembers<'a> {
        TapeMembers(self.children())
    }

    fn try_for_each_name_node<B>(
        &self,
        (): &mut (),
        f: impl FnMut(TapeNode<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        TapeContainer::members(*self).map(|(name, _)| name).try_for_each(f)
    }
}

impl<'a> Iterator for TapeMembers<'a> {
    type Item = (Cow<'a, str>, TapeNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.0.next()?;
        Some((name.string().unwrap_or_default(), self.0.next()?))
    }
}

impl<'a> Array<'a, TapeJson> for TapeContainer<'a> {
    type Node = TapeNode<'a>;
    type ElementsIter = TapeChildren<'a>;

    fn len(&self) -> usize {
        self.elements().count()
    }

    fn elements(&self) -> TapeChildren<'a> {
        self.children()
    }

    fn is_unique(&self) -> bool {
        !has_equal_elements(*self, equals_node)
    }
}
