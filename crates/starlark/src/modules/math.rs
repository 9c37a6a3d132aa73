//! `math.star`.

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;

/// The members of `math`.
pub fn members(builder: &mut GlobalsBuilder) {
    builder.set("pi", std::f64::consts::PI);
    builder.set("e", std::f64::consts::E);
    functions(builder);
    angles(builder);
}

#[starlark_module]
fn functions(builder: &mut GlobalsBuilder) {
    fn ceil(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<i64> {
        whole("ceil", x.0.ceil())
    }
    fn floor(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<i64> {
        whole("floor", x.0.floor())
    }
    fn round(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.round())
    }
    fn fabs(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.abs())
    }
    fn copysign(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0.copysign(y.0))
    }
    fn r#mod(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0 % y.0)
    }
    fn remainder(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0 - y.0 * (x.0 / y.0).round_ties_even())
    }
    fn pow(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0.powf(y.0))
    }
    fn sqrt(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sqrt())
    }
    fn exp(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.exp())
    }
    fn log(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] base: Option<UnpackFloat>,
    ) -> anyhow::Result<f64> {
        Ok(match base {
            None => x.0.ln(),
            Some(base) => x.0.ln() / base.0.ln(),
        })
    }
    fn hypot(
        #[starlark(require = pos)] x: UnpackFloat,
        #[starlark(require = pos)] y: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(x.0.hypot(y.0))
    }
}

#[starlark_module]
fn angles(builder: &mut GlobalsBuilder) {
    fn degrees(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.to_degrees())
    }
    fn radians(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.to_radians())
    }
    fn sin(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sin())
    }
    fn cos(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.cos())
    }
    fn tan(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.tan())
    }
    fn asin(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.asin())
    }
    fn acos(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.acos())
    }
    fn atan(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.atan())
    }
    fn atan2(
        #[starlark(require = pos)] y: UnpackFloat,
        #[starlark(require = pos)] x: UnpackFloat,
    ) -> anyhow::Result<f64> {
        Ok(y.0.atan2(x.0))
    }
    fn sinh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.sinh())
    }
    fn cosh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.cosh())
    }
    fn tanh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.tanh())
    }
    fn asinh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.asinh())
    }
    fn acosh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.acosh())
    }
    fn atanh(#[starlark(require = pos)] x: UnpackFloat) -> anyhow::Result<f64> {
        Ok(x.0.atanh())
    }
}

/// A whole number that fits.
#[allow(clippy::cast_possible_truncation, reason = "it is checked")]
fn whole(function: &str, x: f64) -> anyhow::Result<i64> {
    // 2^63 is the first float that does not fit.
    if x.abs() < 9_223_372_036_854_775_808.0 {
        Ok(x as i64)
    } else {
        anyhow::bail!("math.{function}: {x} is no whole number of 64 bits")
    }
}
