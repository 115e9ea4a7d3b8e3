//! Sections of a YAML file whose keys are declared by a kind of store.
//!
//! A section is read by its [`KeySet`]: an undeclared key or a value of another shape is an error of the YAML reader, with
//! its line.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_saphyr::Spanned;

use crate::diagnostic::Diagnostics;

/// A text of a file, with the line that it is on.
pub type Text = Spanned<String>;

/// The line of a text, from 1.
#[must_use]
pub fn line(text: &Text) -> u64 {
    text.referenced.line()
}

/// A key of a section.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// The name.
    pub name: &'static str,
    /// The shape of the value.
    pub shape: Shape,
}

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A text or a number.
    Text,
    /// A list of texts.
    List,
    /// A section with these keys.
    Section(KeySet),
    /// A section with any keys, whose values have this shape.
    Map(&'static Self),
    /// Anything, which is not kept.
    Ignored,
}

/// The keys of a section, and their names again, as errors list them.
#[derive(Clone, Copy, Debug)]
pub struct KeySet {
    keys: &'static [KeySpec],
    names: &'static [&'static str],
}

/// A value of a section.
#[derive(Clone, Debug)]
pub enum Node {
    /// A text or a number.
    Text(Text),
    /// A list of texts.
    List(Vec<Text>),
    /// A section.
    Section(Section),
}

/// Keys and their values, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Section(Vec<(String, Node)>);

impl KeySpec {
    /// A key with a text.
    #[must_use]
    pub const fn text(name: &'static str) -> Self {
        Self { name, shape: Shape::Text }
    }

    /// The names of keys, for [`KeySet::new`].
    #[must_use]
    pub const fn names<const N: usize>(keys: &[Self; N]) -> [&'static str; N] {
        let mut names = [""; N];
        let mut at = 0;
        while at < N {
            names[at] = keys[at].name;
            at += 1;
        }
        names
    }
}

impl KeySet {
    /// The keys with these names.
    #[must_use]
    pub const fn new(keys: &'static [KeySpec], names: &'static [&'static str]) -> Self {
        Self { keys, names }
    }
}

impl Node {
    /// The line of its first text; `None` if it has none.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Text(text) => Some(line(text)),
            Self::List(texts) => texts.first().map(line),
            Self::Section(section) => section.0.iter().find_map(|(_, node)| node.line()),
        }
    }

    /// All texts in the value.
    #[must_use]
    pub fn texts(&self) -> Vec<&Text> {
        match self {
            Self::Text(text) => vec![text],
            Self::List(texts) => texts.iter().collect(),
            Self::Section(section) => section.texts(),
        }
    }

    /// The same with each text replaced.
    fn map_texts(&self, replace: &impl Fn(&str) -> String) -> Self {
        let map = |text: &Text| {
            let mut mapped = text.clone();
            mapped.value = replace(&text.value);
            mapped
        };
        match self {
            Self::Text(text) => Self::Text(map(text)),
            Self::List(texts) => Self::List(texts.iter().map(map).collect()),
            Self::Section(section) => Self::Section(section.map_texts(replace)),
        }
    }
}

impl Section {
    /// Reads a section with these keys.
    ///
    /// # Errors
    /// The section has a key that is not declared, or a value of another shape.
    pub fn deserialize<'de, D: Deserializer<'de>>(keys: KeySet, deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("section", keys.names, SectionVisitor(Keys::Declared(keys)))
    }

    /// The keys and their values.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(key, node)| (key.as_str(), node))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().find(|(name, _)| *name == key).map(|(_, node)| node)
    }

    /// The text of a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&Text> {
        let Node::Text(text) = self.get(key)? else { return None };
        Some(text)
    }

    /// The list of a key.
    #[must_use]
    pub fn list(&self, key: &str) -> Option<&[Text]> {
        let Node::List(texts) = self.get(key)? else { return None };
        Some(texts)
    }

    /// The section of a key.
    #[must_use]
    pub fn section(&self, key: &str) -> Option<&Self> {
        let Node::Section(section) = self.get(key)? else { return None };
        Some(section)
    }

    /// All texts in it.
    #[must_use]
    pub fn texts(&self) -> Vec<&Text> {
        self.0.iter().flat_map(|(_, node)| node.texts()).collect()
    }

    /// The same with each text replaced.
    pub fn map_texts(&self, replace: &impl Fn(&str) -> String) -> Self {
        Self(self.0.iter().map(|(key, node)| (key.clone(), node.map_texts(replace))).collect())
    }
}

impl<'de> DeserializeSeed<'de> for Shape {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        match self {
            Self::Text => Text::deserialize(deserializer).map(Node::Text),
            Self::List => Vec::deserialize(deserializer).map(Node::List),
            Self::Section(keys) => Section::deserialize(keys, deserializer).map(Node::Section),
            Self::Map(shape) => deserializer.deserialize_map(SectionVisitor(Keys::Any(*shape))).map(Node::Section),
            Self::Ignored => IgnoredAny::deserialize(deserializer).map(|_| Node::Section(Section::default())),
        }
    }
}

#[derive(Clone, Copy)]
enum Keys {
    Declared(KeySet),
    Any(Shape),
}

struct SectionVisitor(Keys);

impl<'de> Visitor<'de> for SectionVisitor {
    type Value = Section;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys with values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Section, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, shape)) = map.next_key_seed(KeySeed(self.0))? {
            entries.push((key, map.next_value_seed(shape)?));
        }
        Ok(Section(entries))
    }
}

struct KeySeed(Keys);

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = (String, Shape);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            Keys::Declared(_) => deserializer.deserialize_identifier(self),
            Keys::Any(shape) => Ok((String::deserialize(deserializer)?, shape)),
        }
    }
}

impl Visitor<'_> for KeySeed {
    type Value = (String, Shape);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let Keys::Declared(KeySet { keys, names }) = self.0 else { return Err(E::custom("a key")) };
        let known = keys.iter().find(|known| known.name == key);
        known.map(|known| (key.to_owned(), known.shape)).ok_or_else(|| E::unknown_field(key, names))
    }
}

/// A problem with a key of a store. Its text names keys, and quotes a value only if the value can hold no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreProblem(Box<str>);

impl From<&str> for StoreProblem {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for StoreProblem {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// The problems found in the keys of stores.
pub type StoreDiagnostics = Diagnostics<StoreProblem>;

/// The part of a configured source that its kind of store reads.
#[derive(Debug)]
pub struct StoreSection<'a> {
    /// The address under `store`.
    pub address: &'a Text,
    /// The source's keys. Keys that the kind does not declare are ignored.
    pub keys: &'a Section,
    /// The line of the source.
    pub line: u64,
    /// The folder that relative paths start at.
    pub base_dir: &'a Path,
    /// The problems found so far.
    pub diagnostics: &'a mut StoreDiagnostics,
}

impl StoreSection<'_> {
    /// The parsed address of the store; a problem with it is noted.
    pub fn address<T>(&mut self, parse: impl FnOnce(&str) -> Result<T, StoreProblem>) -> Option<T> {
        self.diagnostics.keep(line(self.address), parse(&self.address.value))
    }

    /// The value of a key with a text, parsed; a problem with it is noted.
    pub fn parsed<T>(&mut self, key: &str, parse: impl FnOnce(&str) -> Result<T, StoreProblem>) -> Option<T> {
        let text = self.keys.text(key)?;
        self.diagnostics.keep(line(text), parse(&text.value))
    }

    /// The file that a key names.
    #[must_use]
    pub fn path(&self, key: &str) -> Option<PathBuf> {
        self.keys.text(key).map(|text| self.base_dir.join(&text.value))
    }
}
