//! The types of the key table.

/// One key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: ValueKind,
    /// True if it is required.
    pub required: bool,
    /// The default as TOML. `None` means that `doc` describes it.
    pub default: Option<&'static str>,
    /// Its description.
    pub doc: &'static str,
}

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub enum ValueKind {
    /// The number 1.
    Version,
    /// An integer.
    Integer(NumberRange),
    /// A string such as `30s`. The range is in seconds.
    Duration(NumberRange),
    /// A string such as `64MiB`, or a number of bytes. The range is in bytes.
    Size(NumberRange),
    /// `true` or `false`.
    Boolean,
    /// `true`, `false`, or a name with the characters of plugins' names. Its description has an article.
    NameOrBoolean(&'static str),
    /// A string. Its description has an article.
    String(&'static str),
    /// A path relative to the file, with an example.
    Path(&'static str),
    /// A string, or a table with these keys. The description of the string has an article.
    StringOrTable(&'static str, &'static [Key]),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// `{ env = … }` or `{ file = … }`.
    Secret,
    /// An array of such values.
    Array(&'static ValueKind),
    /// A table with these keys.
    Table(&'static [Key]),
    /// A table with any keys and such values.
    Named(&'static ValueKind),
    /// A table that only the plugin interprets.
    Settings,
}

/// The content of tables and arrays of a kind.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// No content: neither a table nor an array, or a reference to a secret.
    Nothing,
    /// These keys.
    Keys(&'static [Key]),
    /// These keys, or a string instead of the table.
    StringOrKeys(&'static [Key]),
    /// Any keys with such values.
    Named(&'static ValueKind),
    /// An array of such values.
    Items(&'static ValueKind),
    /// Anything.
    Settings,
}

/// The smallest size without a unit, in bytes: `memory = 32` probably doesn't mean bytes.
pub const MIN_SIZE_WITHOUT_UNIT: u64 = 4096;

/// The range of a number.
#[derive(Debug, Clone, Copy)]
pub struct NumberRange {
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
    /// The reason why zero is invalid. `None` means that it is valid.
    pub zero_reason: Option<&'static str>,
}

impl NumberRange {
    /// At least 1, with the reason why zero is invalid.
    pub(crate) const fn positive(zero: &'static str) -> Self {
        Self { min: 1, max: u64::MAX, zero_reason: Some(zero) }
    }

    /// At least 0.
    pub(crate) const fn any() -> Self {
        Self { min: 0, max: u64::MAX, zero_reason: None }
    }
}

impl ValueKind {
    /// The content of its tables and arrays.
    #[must_use]
    pub fn content(&self) -> Content {
        match self {
            Self::Table(keys) => Content::Keys(keys),
            Self::StringOrTable(_, keys) => Content::StringOrKeys(keys),
            Self::Named(value) => Content::Named(value),
            Self::Array(item) => Content::Items(item),
            Self::Settings => Content::Settings,
            Self::Version
            | Self::Integer(_)
            | Self::Duration(_)
            | Self::Size(_)
            | Self::Boolean
            | Self::NameOrBoolean(_)
            | Self::String(_)
            | Self::Path(_)
            | Self::OneOf(_)
            | Self::Secret => Content::Nothing,
        }
    }

    /// The description with an article, as a phrase after "must be".
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Version => "the number 1".to_owned(),
            Self::Integer(_) => "an integer".to_owned(),
            Self::Duration(_) => "a duration such as \"30s\"".to_owned(),
            Self::Size(_) => "a size such as \"64MiB\", or a number of bytes".to_owned(),
            Self::Boolean => "`true` or `false`".to_owned(),
            Self::NameOrBoolean(what) => format!("`true`, `false` or {what}"),
            Self::String(what) => (*what).to_owned(),
            Self::Path(_) => "a path".to_owned(),
            Self::StringOrTable(what, _) => format!("{what}, or a table"),
            Self::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                match words.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => words.concat(),
                }
            }
            Self::Secret => "`{ env = \"NAME\" }` or `{ file = \"path\" }`".to_owned(),
            Self::Array(_) => "an array".to_owned(),
            Self::Table(_) | Self::Named(_) | Self::Settings => "a table".to_owned(),
        }
    }

    /// An example as TOML, with the required keys of a table.
    #[must_use]
    pub fn example(&self) -> String {
        match self {
            Self::Version => "1".to_owned(),
            Self::Integer(range) => range.min.max(8).to_string(),
            Self::Duration(_) => "\"30s\"".to_owned(),
            Self::Size(_) => "\"64MiB\"".to_owned(),
            Self::Boolean | Self::NameOrBoolean(_) => "true".to_owned(),
            Self::String(what) | Self::StringOrTable(what, _) => {
                what.find('"').map_or("\"…\"", |start| &what[start..]).to_owned()
            }
            Self::Path(example) => format!("{example:?}"),
            Self::OneOf(words) => format!("{:?}", words.first().copied().unwrap_or_default()),
            Self::Secret => "{ env = \"NAME\" }".to_owned(),
            Self::Array(item) => format!("[{}]", item.example()),
            Self::Table(keys) => {
                let mut shown: Vec<&Key> = keys.iter().filter(|key| key.required).collect();
                if shown.is_empty() {
                    shown.extend(keys.first());
                }
                let members: Vec<String> =
                    shown.iter().map(|key| format!("{} = {}", key.name, key.kind.example())).collect();
                format!("{{ {} }}", members.join(", "))
            }
            Self::Named(value) => format!("{{ name = {} }}", value.example()),
            Self::Settings => "{ key = \"value\" }".to_owned(),
        }
    }
}

/// An optional key whose default `doc` describes.
pub(crate) const fn key(name: &'static str, kind: ValueKind, doc: &'static str) -> Key {
    Key { name, kind, required: false, default: None, doc }
}

/// An optional key with a default.
pub(crate) const fn optional(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, required: false, default: Some(default), doc }
}

/// A required key.
pub(crate) const fn required(name: &'static str, kind: ValueKind, doc: &'static str) -> Key {
    Key { name, kind, required: true, default: None, doc }
}
