//! What a configuration asks for.

use std::fmt;

use lanai_yaml::{Kind, NodeRef};

use super::select::Select;
use crate::config::{self, Wrong};
use crate::sites::describe;

/// One replacement.
pub struct Replacement {
    /// Where the value comes from.
    pub source: Option<Source>,
    /// The value itself.
    pub value: Option<String>,
    /// Where it goes.
    pub targets: Vec<Target>,
}

/// Where a value comes from.
pub struct Source {
    /// The resource.
    pub select: Select,
    /// The field.
    pub field_path: Option<String>,
    /// Which part of it.
    pub options: Options,
}

/// Where a value goes.
pub struct Target {
    /// The resources.
    pub select: Option<Select>,
    /// Resources that are left out.
    pub reject: Vec<Select>,
    /// The fields.
    pub field_paths: Vec<String>,
    /// Which part of them.
    pub options: Options,
}

/// Which part of a text is meant, and what happens where there is none.
pub struct Options {
    /// What stands between parts.
    pub delimiter: Option<String>,
    /// The number of the part.
    pub index: i64,
    /// What happens to missing fields.
    pub origin: Origin,
}

/// Whether fields must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// They must.
    Existing,
    /// They are added.
    Create,
}

impl Replacement {
    /// Reads one.
    ///
    /// # Errors
    /// When something in it is of the wrong type.
    pub fn read(node: NodeRef<'_>) -> Result<Self, Wrong> {
        need_mapping(node, "replacements[]")?;
        let source = config::mapping(node, "source")?.map(Source::read).transpose()?;
        let targets = config::list(node, "targets")?;
        let targets =
            targets.into_iter().flat_map(NodeRef::items).map(Target::read).collect::<Result<_, _>>()?;
        Ok(Self { source, value: config::scalar(node, "sourceValue")?, targets })
    }
}

impl Source {
    fn read(node: NodeRef<'_>) -> Result<Self, Wrong> {
        let field_path = config::scalar(node, "fieldPath")?.filter(|path| !path.is_empty());
        Ok(Self { select: Select::read(node)?, field_path, options: Options::read(node)? })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.select)?;
        if let Some(path) = &self.field_path {
            write!(f, ":{path}")?;
        }
        let Options { delimiter, index, origin } = &self.options;
        let delimiter = delimiter.as_deref().unwrap_or_default();
        match origin {
            Origin::Existing if delimiter.is_empty() => Ok(()),
            Origin::Existing => write!(f, ":{delimiter}({index}), create=false"),
            Origin::Create => write!(f, ":{delimiter}({index}), create=true"),
        }
    }
}

impl Target {
    fn read(node: NodeRef<'_>) -> Result<Self, Wrong> {
        need_mapping(node, "targets[]")?;
        let reject = config::list(node, "reject")?.into_iter().flat_map(NodeRef::items);
        let reject = reject.map(|node| need_mapping(node, "reject[]").and_then(|()| Select::read(node)));
        let paths = config::list(node, "fieldPaths")?.into_iter().flat_map(NodeRef::items);
        let path = |node: NodeRef<'_>| {
            let text = crate::sites::text(node).map(std::borrow::Cow::into_owned);
            text.ok_or(Wrong { path: "fieldPaths[]".into(), found: describe(node), expected: "a text" })
        };
        Ok(Self {
            select: config::mapping(node, "select")?.map(Select::read).transpose()?,
            reject: reject.collect::<Result<_, _>>()?,
            field_paths: paths.map(path).collect::<Result<_, _>>()?,
            options: Options::read(node)?,
        })
    }
}

impl Options {
    fn read(node: NodeRef<'_>) -> Result<Self, Wrong> {
        let usual = Self { delimiter: None, index: 0, origin: Origin::Existing };
        let Some(options) = config::mapping(node, "options")? else { return Ok(usual) };
        let index = config::scalar(options, "index")?.unwrap_or_else(|| "0".into());
        let wrong = |path: &str, expected| Wrong { path: path.into(), found: "something else", expected };
        let index = index.parse().map_err(|_| wrong("options.index", "a whole number"))?;
        let origin = match config::scalar(options, "create")?.as_deref() {
            Some("true") => Origin::Create,
            Some("false") | None => Origin::Existing,
            Some(_) => return Err(wrong("options.create", "true or false")),
        };
        Ok(Self { delimiter: config::scalar(options, "delimiter")?, index, origin })
    }
}

fn need_mapping(node: NodeRef<'_>, path: &str) -> Result<(), Wrong> {
    if node.target().kind() == Kind::Mapping {
        return Ok(());
    }
    Err(Wrong { path: path.into(), found: describe(node), expected: "a mapping" })
}
