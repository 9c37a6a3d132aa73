//! What a script can load.

mod base64;
#[allow(clippy::unnecessary_wraps, reason = "the engine asks for it")]
mod hash;
mod json;
#[allow(clippy::unnecessary_wraps, reason = "the engine asks for it")]
mod krmfn;
#[allow(clippy::unnecessary_wraps, reason = "the engine asks for it")]
mod math;
mod re;
#[allow(clippy::too_many_arguments, reason = "a date has many parts")]
mod time;

use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::{Evaluator, FileLoader};
use starlark::syntax::{AstModule, Dialect};
use starlark::values::FrozenHeapName;

/// The modules that there are.
const THERE: &[&str] = &[
    "encoding/base64.star",
    "encoding/json.star",
    "encoding/yaml.star",
    "hash.star",
    "krmfn.star",
    "math.star",
    "re.star",
    "struct.star",
    "time.star",
];

/// The modules of the catalog's function that there are not: they reach outside of the list, or read formats that
/// packages do not have.
const REFUSED: &[&str] =
    &["bsoup.star", "encoding/csv.star", "geo.star", "html.star", "http.star", "xlsx.star", "zipfile.star"];

/// Loads modules by name. Nothing is read from anywhere.
pub struct Loader;

impl FileLoader for Loader {
    fn load(&self, path: &str) -> starlark::Result<FrozenModule> {
        match path {
            "encoding/base64.star" => namespace("base64", base64::members),
            "encoding/json.star" => namespace("json", json::json),
            "encoding/yaml.star" => namespace("yaml", json::yaml),
            "hash.star" => namespace("hash", hash::members),
            "krmfn.star" => namespace("krmfn", krmfn::members),
            "math.star" => namespace("math", math::members),
            "re.star" => prelude("re.star", re::PRELUDE, re::native),
            "struct.star" => {
                let globals = Globals::extended_by(&[LibraryExtension::StructType]);
                FrozenModule::from_globals(&globals).map_err(Into::into)
            }
            "time.star" => prelude("time.star", time::PRELUDE, time::native),
            other if REFUSED.contains(&other) => Err(starlark::Error::new_other(anyhow::anyhow!(
                "the module \"{other}\" is not available here; there are {}",
                THERE.join(", ")
            ))),
            other => Err(starlark::Error::new_other(anyhow::anyhow!(
                "there is no module \"{other}\"; there are {}",
                THERE.join(", ")
            ))),
        }
    }
}

/// A module with one name, which has the members.
fn namespace(name: &str, members: fn(&mut GlobalsBuilder)) -> starlark::Result<FrozenModule> {
    let globals = GlobalsBuilder::new().with_namespace(name, members).build();
    FrozenModule::from_globals(&globals).map_err(Into::into)
}

/// A module that is written in the language itself, over functions of ours.
fn prelude(name: &str, source: &str, native: fn(&mut GlobalsBuilder)) -> starlark::Result<FrozenModule> {
    let globals = GlobalsBuilder::extended_by(&[LibraryExtension::StructType]);
    let globals = globals.with_namespace("native", native).build();
    let ast = AstModule::parse(name, source.to_owned(), &Dialect::Standard)?;
    Module::with_temp_heap(|module| {
        {
            let mut eval = Evaluator::new(&module);
            eval.eval_module(ast, &globals)?;
        }
        module.freeze_named(FrozenHeapName::User(Box::new(name.to_owned()))).map_err(Into::into)
    })
}
