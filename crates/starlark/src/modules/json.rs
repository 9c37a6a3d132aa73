//! `encoding/json.star` and `encoding/yaml.star`.

use anyhow::Context as _;
use lanai_yaml::Document;
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::{Heap, Value};

use crate::engine::Bound;
use crate::value::{self, Floats, Reader, Room};

/// The members of `json`.
#[starlark_module]
pub fn json(builder: &mut GlobalsBuilder) {
    /// The value as JSON on one line, keys in alphabetical order.
    fn encode<'v>(
        #[starlark(require = pos)] x: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<String> {
        Ok(made(x, Floats::AsTheyAre, eval)?.to_string())
    }

    /// The value as JSON on several lines.
    fn encode_indent<'v>(
        #[starlark(require = pos)] x: Value<'v>,
        #[starlark(require = named, default = "")] prefix: &str,
        #[starlark(require = named, default = "\t")] indent: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<String> {
        indented(&made(x, Floats::AsTheyAre, eval)?, prefix, indent)
    }

    /// A text of JSON, written on several lines.
    fn indent(
        #[starlark(require = pos)] text: &str,
        #[starlark(require = named, default = "")] prefix: &str,
        #[starlark(require = named, default = "\t")] indent: &str,
    ) -> anyhow::Result<String> {
        let value: Json = serde_json::from_str(text).context("json.indent")?;
        indented(&value, prefix, indent)
    }

    /// The value of a text of JSON; the default, where there is one, for what is none.
    fn decode<'v>(
        #[starlark(require = pos)] text: &str,
        #[starlark(require = pos)] default: Option<Value<'v>>,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        match (serde_json::from_str::<Json>(text), default) {
            (Ok(json), _) => Ok(value::to_script(&json, heap)),
            (Err(_), Some(default)) => Ok(default),
            (Err(error), None) => Err(error).context("json.decode"),
        }
    }
}

/// The members of `yaml`.
#[starlark_module]
pub fn yaml(builder: &mut GlobalsBuilder) {
    /// The value as YAML, keys in alphabetical order.
    fn dumps<'v>(
        #[starlark(require = pos)] obj: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<String> {
        let json = made(obj, Floats::WholeWhereTheyAre, eval)?;
        Ok(value::document(&json).context("yaml.dumps")?.to_string())
    }

    /// The value of a document of YAML.
    fn loads<'v>(#[starlark(require = pos)] source: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let document = Document::parse(source).context("yaml.loads")?;
        let json = value::of_node(document.root()).context("yaml.loads")?;
        Ok(value::to_script(&json, heap))
    }
}

fn made(value: Value<'_>, floats: Floats, eval: &Evaluator<'_, '_, '_>) -> anyhow::Result<Json> {
    let room = Room { max_depth: Bound::Depth.of(eval), max_output: Bound::Output.of(eval) };
    let mut json = Reader::new(floats, room).read(value)?;
    json.sort_all_objects();
    Ok(json)
}

fn indented(json: &Json, prefix: &str, indent: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(json, &mut serializer)?;
    let text = String::from_utf8(bytes)?;
    Ok(text.lines().collect::<Vec<_>>().join(&format!("\n{prefix}")))
}
