//! Results.

use lanai_krm::Resource;
use lanai_krm::resource::annotation;
use lanai_krm::result::{Field, File, ResourceRef, ResultItem, Severity};
use lanai_yaml::Path;
use lanai_yaml::path::Segment;

/// A result without severity, which printers show as information.
pub fn plain(message: impl Into<String>) -> ResultItem {
    ResultItem { message: message.into(), ..ResultItem::default() }
}

/// Nothing is wrong.
pub fn info(message: impl Into<String>) -> ResultItem {
    ResultItem { severity: Some(Severity::Info), ..plain(message) }
}

/// Something may be wrong.
pub fn warning(message: impl Into<String>) -> ResultItem {
    ResultItem { severity: Some(Severity::Warning), ..plain(message) }
}

/// Something is wrong.
pub fn error(message: impl Into<String>) -> ResultItem {
    ResultItem { severity: Some(Severity::Error), ..plain(message) }
}

/// What a result is about.
pub trait About: Sized {
    /// It is about this resource.
    #[must_use]
    fn about(self, resource: &Resource) -> Self;
    /// It is about this field.
    #[must_use]
    fn at(self, path: &str) -> Self;
    /// It is about the file of this resource, if the resource says which that is.
    #[must_use]
    fn in_file_of(self, resource: &Resource) -> Self;
}

impl About for ResultItem {
    fn about(self, resource: &Resource) -> Self {
        Self { resource_ref: Some(ResourceRef::from(&resource.id())), ..self }
    }

    fn at(self, path: &str) -> Self {
        Self { field: Some(Field { path: path.into(), ..Field::default() }), ..self }
    }

    fn in_file_of(self, resource: &Resource) -> Self {
        let file = resource.path().map(|path| File {
            path: path.into_owned(),
            index: resource.index().unwrap_or_default(),
            ..File::default()
        });
        Self { file, ..self }
    }
}

/// A path as results spell it: `spec.list[0].key`, whatever letters are in the keys.
pub fn dotted(path: &Path) -> String {
    let parts = path.segments().iter().enumerate().map(|(at, segment)| match segment {
        Segment::Key(key) if at == 0 => key.clone(),
        Segment::Key(key) => format!(".{key}"),
        Segment::Index(index) => format!("[{index}]"),
        Segment::Match { key, value } => format!("[{key}={value}]"),
        Segment::Append => "[]".into(),
    });
    parts.collect()
}

/// `Resource(apiVersion=v1, kind=ConfigMap, namespace=a, name=b)`.
pub fn resource_text(resource: &Resource) -> String {
    let text = |field: Option<std::borrow::Cow<'_, str>>| field.unwrap_or_default().into_owned();
    format!(
        "Resource(apiVersion={}, kind={}, namespace={}, name={})",
        text(resource.api_version()),
        text(resource.kind()),
        text(resource.namespace()),
        text(resource.name())
    )
}

/// Whether an annotation belongs to readers and writers of packages, not to users.
pub fn is_bookkeeping(key: &str) -> bool {
    key.starts_with("internal.config.kubernetes.io/")
        || matches!(key, annotation::LEGACY_PATH | annotation::LEGACY_INDEX | annotation::LEGACY_ID)
}
