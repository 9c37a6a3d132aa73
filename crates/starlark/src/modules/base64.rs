//! `encoding/base64.star`.

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;

/// The members of `base64`.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// The text in base64: `standard`, `standard_raw` (without padding), `url` or `url_raw`.
    fn encode(data: &str, #[starlark(default = "")] encoding: &str) -> anyhow::Result<String> {
        Ok(engine(encoding)?.encode(data))
    }

    /// The text of what is in base64.
    fn decode(data: &str, #[starlark(default = "")] encoding: &str) -> anyhow::Result<String> {
        let bytes = engine(encoding)?.decode(data).context("base64.decode")?;
        String::from_utf8(bytes).context("base64.decode: this is no text")
    }
}

fn engine(encoding: &str) -> anyhow::Result<GeneralPurpose> {
    match encoding {
        "" | "standard" => Ok(STANDARD),
        "standard_raw" => Ok(STANDARD_NO_PAD),
        "url" => Ok(URL_SAFE),
        "url_raw" => Ok(URL_SAFE_NO_PAD),
        other => anyhow::bail!("unsupported encoding format: {other}"),
    }
}
