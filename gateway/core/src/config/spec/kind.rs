//! The words in which keys are described.

/// One key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// How it is written.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// Whether the table is wrong without it.
    pub required: bool,
    /// The value that holds without it, as TOML; none where that takes a sentence, which `doc` then has.
    pub default: Option<&'static str>,
    /// What it is for.
    pub doc: &'static str,
}

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// The number 1.
    Version,
    /// A whole number.
    Integer(Number),
    /// A text such as `30s`; the range is in seconds.
    Duration(Number),
    /// A text such as `64MiB`, or a number of bytes; the range is in bytes.
    Size(Number),
    /// `true` or `false`.
    Boolean,
    /// `true`, `false`, or a name over the alphabet of plugins' names; what it names, with an article.
    NameOrBoolean(&'static str),
    /// A text; what it says, with an article.
    Text(&'static str),
    /// A path, which starts at the directory of the file; an example.
    Path(&'static str),
    /// A text, or a table with these keys that says more; what the text says, with an article.
    TextOrTable(&'static str, &'static [Key]),
    /// One of these texts.
    Word(&'static [&'static str]),
    /// `{ env = … }` or `{ file = … }`.
    Secret,
    /// A list of such values.
    List(&'static Kind),
    /// A table with these keys.
    Table(&'static [Key]),
    /// A table whose keys the operator chooses, with such values.
    Named(&'static Kind),
    /// A table whose keys and values are the plugin's own affair.
    Settings,
}

/// What the tables and lists of a kind hold.
#[derive(Debug, Clone, Copy)]
pub enum Inside {
    /// Nothing: it is neither, or a secret, whose table is never gone into.
    Nothing,
    /// These keys.
    Keys(&'static [Key]),
    /// These keys, unless a text stands for them.
    TextOrKeys(&'static [Key]),
    /// Keys that the operator chooses, with such values.
    Named(&'static Kind),
    /// A list of such values.
    Items(&'static Kind),
    /// Whatever the plugin makes of it.
    Settings,
}

/// A smaller size isn't taken without a unit, in bytes: whoever writes `memory = 32` doesn't mean bytes.
pub const LEAST_WITHOUT_UNIT: u64 = 4096;

/// What a number may be.
#[derive(Debug, Clone, Copy)]
pub struct Number {
    /// The largest that makes sense.
    pub most: u64,
    /// Why zero makes no sense; none where it does.
    pub zero: Option<&'static str>,
}

impl Number {
    /// Anything from 1 up; what would happen at zero.
    pub(in crate::config) const fn positive(zero: &'static str) -> Self {
        Self { most: u64::MAX, zero: Some(zero) }
    }

    /// Anything from 0 up.
    pub(in crate::config) const fn any() -> Self {
        Self { most: u64::MAX, zero: None }
    }
}

impl Kind {
    /// What its tables and lists hold.
    #[must_use]
    pub fn inside(&self) -> Inside {
        match self {
            Self::Table(keys) => Inside::Keys(keys),
            Self::TextOrTable(_, keys) => Inside::TextOrKeys(keys),
            Self::Named(value) => Inside::Named(value),
            Self::List(item) => Inside::Items(item),
            Self::Settings => Inside::Settings,
            Self::Version
            | Self::Integer(_)
            | Self::Duration(_)
            | Self::Size(_)
            | Self::Boolean
            | Self::NameOrBoolean(_)
            | Self::Text(_)
            | Self::Path(_)
            | Self::Word(_)
            | Self::Secret => Inside::Nothing,
        }
    }

    /// What is expected, with an article, to stand after "must be".
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Version => "the number 1".to_owned(),
            Self::Integer(_) => "a whole number".to_owned(),
            Self::Duration(_) => "a duration such as \"30s\"".to_owned(),
            Self::Size(_) => "a size such as \"64MiB\", or a number of bytes".to_owned(),
            Self::Boolean => "`true` or `false`".to_owned(),
            Self::NameOrBoolean(what) => format!("`true`, `false` or {what}"),
            Self::Text(what) => (*what).to_owned(),
            Self::Path(_) => "a path".to_owned(),
            Self::TextOrTable(what, _) => format!("{what}, or a table"),
            Self::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                match words.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => words.concat(),
                }
            }
            Self::Secret => "`{ env = \"NAME\" }` or `{ file = \"path\" }`".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) | Self::Named(_) | Self::Settings => "a table".to_owned(),
        }
    }

    /// A value such as may stand there, as TOML; of a table what it can't do without.
    #[must_use]
    pub fn example(&self) -> String {
        match self {
            Self::Version => "1".to_owned(),
            Self::Integer(_) => "8".to_owned(),
            Self::Duration(_) => "\"30s\"".to_owned(),
            Self::Size(_) => "\"64MiB\"".to_owned(),
            Self::Boolean | Self::NameOrBoolean(_) => "true".to_owned(),
            Self::Text(what) | Self::TextOrTable(what, _) => {
                what.find('"').map_or("\"…\"", |start| &what[start..]).to_owned()
            }
            Self::Path(example) => format!("{example:?}"),
            Self::Word(words) => format!("{:?}", words.first().copied().unwrap_or_default()),
            Self::Secret => "{ env = \"NAME\" }".to_owned(),
            Self::List(item) => format!("[{}]", item.example()),
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

/// A key that may be left out, with what happens then told in `doc`.
pub(in crate::config) const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: false, default: None, doc }
}

/// A key that may be left out, with the value that holds then.
pub(in crate::config) const fn optional(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, required: false, default: Some(default), doc }
}

/// A key that must be there.
pub(in crate::config) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: true, default: None, doc }
}
