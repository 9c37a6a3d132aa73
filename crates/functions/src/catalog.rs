//! Which functions there are.

use crate::Function;
use crate::apply_replacements::ApplyReplacements;
use crate::apply_setters::ApplySetters;
use crate::create_setters::CreateSetters;
use crate::delete_annotations::DeleteAnnotations;
use crate::drop_comments::DropComments;
use crate::ensure_name_substring::EnsureNameSubstring;
use crate::format::Format;
use crate::gen_pkg_context::GenPkgContext;
use crate::list_setters::ListSetters;
use crate::no_op::NoOp;
use crate::remove_local_config_resources::RemoveLocalConfigResources;
use crate::search_replace::SearchReplace;
use crate::set_annotations::SetAnnotations;
use crate::set_enforcement_action::SetEnforcementAction;
use crate::set_image::SetImage;
use crate::set_labels::SetLabels;
use crate::set_namespace::SetNamespace;
use crate::set_project_id::SetProjectId;
use crate::upsert_resource::UpsertResource;

/// The folders of the registries in which the images of the public catalog stand.
pub const PREFIXES: &[&str] = &["gcr.io/kpt-fn/", "ghcr.io/kptdev/krm-functions-catalog/"];

/// All functions, by name.
pub fn catalog() -> &'static [&'static dyn Function] {
    &[
        &ApplyReplacements,
        &ApplySetters,
        &CreateSetters,
        &DeleteAnnotations,
        &DropComments,
        &EnsureNameSubstring,
        &Format,
        &GenPkgContext,
        &ListSetters,
        &NoOp,
        &RemoveLocalConfigResources,
        &SearchReplace,
        &SetAnnotations,
        &SetEnforcementAction,
        &SetImage,
        &SetLabels,
        &SetNamespace,
        &SetProjectId,
        &UpsertResource,
    ]
}

/// The function of a name or an image, of all that are in this crate. See [`find_in`].
pub fn find(image: &str) -> Option<&'static dyn Function> {
    find_in(catalog(), image)
}

/// The function of a name or an image.
///
/// An image is a name, with one of [`PREFIXES`] or without, and a tag or none. A tag that the function does not stand for
/// finds nothing; no tag, and the tag `latest`, find the function. A digest finds nothing: it means exactly one program.
pub fn find_in(functions: &[&'static dyn Function], image: &str) -> Option<&'static dyn Function> {
    let rest = PREFIXES.iter().find_map(|prefix| image.strip_prefix(prefix)).unwrap_or(image);
    let (name, tag) = rest.split_once(':').map_or((rest, None), |(name, tag)| (name, Some(tag)));
    let is_named = |function: &&&dyn Function| function.name() == name || function.aliases().contains(&name);
    let function = *functions.iter().find(is_named)?;
    let fits = tag.is_none_or(|tag| tag == "latest" || function.tags().contains(&tag));
    fits.then_some(function)
}
