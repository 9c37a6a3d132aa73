//! kyaml on the same input, measured by the oracle.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What the oracle measured: the best of its rounds.
pub(crate) struct Measured {
    pub read: f64,
    pub write: f64,
    pub peak_kib: usize,
}

/// Whether kyaml edits each document between reading and writing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    Nothing,
    Edits,
}

/// How often the oracle runs. Each run is the best of five rounds; Go's collector uses the other core, so that kyaml
/// suffers more than we do when the machine is not idle.
const RUNS: usize = 3;

/// Runs the oracle and takes the best of its runs, the lowest peak included; `None` where there is none.
pub(crate) fn measure(file: &Path, between: Between) -> Result<Option<Measured>, Box<dyn Error>> {
    let Some(oracle) = lanai_testkit::oracle() else { return Ok(None) };
    let mut args = vec!["bench".into()];
    if between == Between::Edits {
        args.push("--edit".into());
    }
    args.push(file.as_os_str().to_owned());
    let mut best = Measured { read: 0.0, write: 0.0, peak_kib: usize::MAX };
    for _ in 0..RUNS {
        let measured = parse(&run(&oracle, &args)?)?;
        best.read = best.read.max(measured.read);
        best.write = best.write.max(measured.write);
        best.peak_kib = best.peak_kib.min(measured.peak_kib);
    }
    Ok(Some(best))
}

fn parse(output: &str) -> Result<Measured, Box<dyn Error>> {
    let report: Value = serde_json::from_str(output)?;
    let number =
        |name: &str| report[name].as_f64().ok_or_else(|| format!("the oracle does not tell \"{name}\""));
    let peak = report["peak_rss_kib"].as_u64().ok_or("the oracle does not tell its peak")?;
    Ok(Measured {
        read: number("read_mb_s")?,
        write: number("write_mb_s")?,
        peak_kib: usize::try_from(peak)?,
    })
}

/// Runs a program to its end and gives what it prints.
#[allow(clippy::disallowed_methods, reason = "benchmarks may start what they measure; the product may not")]
pub(crate) fn run(program: &Path, args: &[std::ffi::OsString]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).args(args).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("\"{}\" failed: {why}", program.display()).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
