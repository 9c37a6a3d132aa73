//! What is printed, and the same as JSON.

use std::env;
use std::error::Error;
use std::fs;
use std::time::Duration;

use serde_json::{Map, Value, json};

/// The environment variable that names the file for JSON.
const JSON: &str = "LANAI_BENCH_JSON";

/// Prints while it collects: a run takes minutes, and each line is worth reading when it comes.
#[derive(Default)]
pub(crate) struct Report {
    parts: Map<String, Value>,
    part: String,
}

impl Report {
    /// Begins a part; what follows belongs to it.
    pub fn part(&mut self, name: &str, title: &str) {
        println!("\n## {title}");
        name.clone_into(&mut self.part);
        self.parts.entry(name).or_insert_with(|| json!([]));
    }

    /// Something that took time over a number of bytes.
    pub fn timed(&mut self, input: &str, what: &str, bytes: usize, time: Duration) {
        let speed = crate::clock::speed(bytes, time);
        println!("{input:<10} {what:<54} {:>9.2} ms {speed:>10.1} MB/s", time.as_secs_f64() * 1e3);
        self.keep(json!({"input": input, "what": what, "seconds": time.as_secs_f64(), "mb_s": speed}));
    }

    /// A speed that another program measured.
    pub fn told(&mut self, input: &str, what: &str, bytes: usize, speed: f64) {
        let seconds = crate::clock::real(bytes) / 1e6 / speed;
        println!("{input:<10} {what:<54} {:>9.2} ms {speed:>10.1} MB/s", seconds * 1e3);
        self.keep(json!({"input": input, "what": what, "seconds": seconds, "mb_s": speed}));
    }

    /// How many times one thing is another.
    pub fn ratio(&mut self, input: &str, what: &str, ratio: f64, aim: &str) {
        println!("{input:<10} {what:<54} {ratio:>9.2} x  {aim}");
        self.keep(json!({"input": input, "ratio_of": what, "ratio": ratio, "aim": aim}));
    }

    /// A peak of memory.
    pub fn memory(&mut self, input: &str, what: &str, kib: usize) {
        println!("{input:<10} {what:<54} {:>9.1} MiB", crate::clock::real(kib) / 1024.0);
        self.keep(json!({"input": input, "what": what, "peak_rss_kib": kib}));
    }

    /// Something that did not run, and why.
    pub fn skipped(&mut self, what: &str, why: &str) {
        println!("SKIPPED: {what}: {why}");
        self.keep(json!({"skipped": what, "why": why}));
    }

    /// Anything else, as JSON only.
    pub fn keep(&mut self, value: Value) {
        if let Some(Value::Array(part)) = self.parts.get_mut(&self.part) {
            part.push(value);
        }
    }

    /// Writes the JSON, if somebody asked for it.
    pub fn write_json(self) -> Result<(), Box<dyn Error>> {
        let Some(file) = env::var_os(JSON) else { return Ok(()) };
        let text = serde_json::to_string_pretty(&Value::Object(self.parts))?;
        if file == "-" {
            println!("{text}");
            return Ok(());
        }
        fs::write(&file, text).map_err(|error| format!("cannot write \"{}\": {error}", file.display()))?;
        Ok(())
    }
}

/// A line for the reader.
pub(crate) fn say(text: &str) {
    println!("{text}");
}
