//! The runner options of a namespace: a `ConfigMap`.

use std::fmt;
use std::time::Duration;

use lanai_remote::Remote;
use lanai_runner::ExecLimits;
use lanai_types::ByteSize;
use lanai_types::quote::Quoted;
use serde_json::Value;

/// The name of the `ConfigMap`, in the namespace of the packages.
pub const NAME: &str = "lanai-runner";
/// The value of `endpoint` by which a namespace has no function runner, whatever the server has.
pub const NO_ENDPOINT: &str = "none";
/// The most Secrets that a namespace may name.
pub const MAX_PULL_SECRETS: usize = 16;

/// The keys that it may have.
const KEYS: [&str; 8] = [
    "endpoint",
    "functionTimeout",
    "maxFiles",
    "maxMemory",
    "maxOpenFiles",
    "maxOutput",
    "maxProcesses",
    "pullSecrets",
];

/// How much functions may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long one function may run, wherever it does.
    pub function_time: Duration,
    /// How much a program may take that runs here.
    pub exec: ExecLimits,
    /// How large a message to or from a function runner may be.
    pub max_message: ByteSize,
}

impl Limits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        function_time: ExecLimits::DEFAULT.max_time,
        exec: ExecLimits::DEFAULT,
        max_message: lanai_remote::MAX_MESSAGE,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a namespace wants to be different from what the server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which function runner it has.
    pub endpoint: Endpoint,
    /// The Secrets by which registries know it.
    pub pull_secrets: Vec<String>,
    /// The limits that hold in it: the server's, or lower ones.
    pub limits: Limits,
}

/// Which function runner a namespace has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// That of the server, if it has one.
    #[default]
    Server,
    /// None.
    None,
    /// This one.
    At(String),
}

/// Something that is wrong with runner options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `data.maxMemory`.
    pub field: String,
    /// What.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.what)
    }
}

impl Options {
    /// Those of a namespace that says nothing.
    pub fn of_server(limits: Limits) -> Self {
        Self { endpoint: Endpoint::Server, pull_secrets: Vec::new(), limits }
    }

    /// Reads the object. No limit may be above that of the server.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn parse(object: &Value, server: Limits) -> Result<Self, Vec<Problem>> {
        let mut reading = Reading { data: &object["data"], problems: Vec::new() };
        if object["binaryData"].as_object().is_some_and(|data| !data.is_empty()) {
            reading.tell("binaryData", "runner options are texts, in data");
        }
        for key in object["data"].as_object().into_iter().flat_map(|data| data.keys()) {
            if !KEYS.contains(&key.as_str()) {
                let known = KEYS.join(", ");
                reading.tell(&format!("data.{key}"), &format!("there is no such option; there are {known}"));
            }
        }
        let limits = reading.limits(server);
        let endpoint = reading.endpoint();
        let pull_secrets = reading.pull_secrets();
        let problems = reading.problems;
        if problems.is_empty() { Ok(Self { endpoint, pull_secrets, limits }) } else { Err(problems) }
    }
}

struct Reading<'a> {
    data: &'a Value,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn tell(&mut self, field: &str, what: &str) {
        self.problems.push(Problem { field: field.to_owned(), what: what.to_owned() });
    }

    fn limits(&mut self, server: Limits) -> Limits {
        let exec = server.exec;
        let function_time =
            self.at_most("functionTimeout", server.function_time, duration, |time| format!("{time:?}"));
        let max_memory = self.at_most("maxMemory", exec.max_memory, size, ByteSize::to_string);
        let max_output = self.at_most("maxOutput", exec.max_output, size, ByteSize::to_string);
        let max_files = self.at_most("maxFiles", exec.max_files, size, ByteSize::to_string);
        let max_processes = self.at_most("maxProcesses", exec.max_processes, number, u32::to_string);
        let max_open_files = self.at_most("maxOpenFiles", exec.max_open_files, number, u32::to_string);
        let max_time = exec.max_time.min(function_time);
        let exec =
            ExecLimits { max_time, max_memory, max_output, max_files, max_processes, max_open_files, ..exec };
        Limits { function_time, exec, max_message: server.max_message }
    }

    /// The value of a key that may lower a limit of the server.
    fn at_most<T: PartialOrd + Copy>(
        &mut self,
        key: &str,
        most: T,
        parse: impl Fn(&str) -> Result<T, String>,
        shown: impl Fn(&T) -> String,
    ) -> T {
        let Some(text) = self.data[key].as_str() else { return most };
        let wrong = match parse(text.trim()) {
            Ok(value) if value <= most => return value,
            Ok(_) => format!("{} is more than the {} that the server allows", Quoted(text), shown(&most)),
            Err(why) => format!("{}: {why}", Quoted(text)),
        };
        self.tell(&format!("data.{key}"), &wrong);
        most
    }

    fn endpoint(&mut self) -> Endpoint {
        let Some(text) = self.data["endpoint"].as_str() else { return Endpoint::Server };
        let address = text.trim();
        if address == NO_ENDPOINT {
            return Endpoint::None;
        }
        if let Err(why) = check_endpoint(address) {
            self.tell("data.endpoint", &format!("{}: {why}", Quoted(text)));
        }
        Endpoint::At(address.to_owned())
    }

    fn pull_secrets(&mut self) -> Vec<String> {
        let Some(text) = self.data["pullSecrets"].as_str() else { return Vec::new() };
        let names = text.split([',', ' ', '\n', '\t']).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        if names.len() > MAX_PULL_SECRETS {
            let what =
                format!("{} Secrets are more than the {MAX_PULL_SECRETS} that are allowed", names.len());
            self.tell("data.pullSecrets", &what);
        }
        names
    }
}

/// Whether a text is the address of a function runner: a host and a port.
///
/// # Errors
/// When it is none.
pub fn check_endpoint(address: &str) -> Result<(), String> {
    let wanted = "an address is host:port, as runner.example.com:9445; the transport is plain text";
    let port = address.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
    let is_one = matches!(port, Some((host, Ok(1..))) if !host.is_empty() && !host.contains(['/', '@', ' ']));
    if !is_one {
        return Err(wanted.to_owned());
    }
    Remote::check(address).map_err(|_| wanted.to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    let wanted = || "a time above 0 has a unit, as 90s or 2m".to_owned();
    let span: jiff::SignedDuration = text.parse().map_err(|_| wanted())?;
    let time = Duration::try_from(span).map_err(|_| wanted())?;
    if time.is_zero() { Err(wanted()) } else { Ok(time) }
}

fn size(text: &str) -> Result<ByteSize, String> {
    let wanted = || "a size above 0 has a unit, as 512Mi".to_owned();
    let size: ByteSize = text.parse().map_err(|_| wanted())?;
    if size.get() == 0 { Err(wanted()) } else { Ok(size) }
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("it is no whole number above 0".to_owned()),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(data: &Value) -> Result<Options, Vec<String>> {
        let told = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect();
        Options::parse(&json!({ "data": data }), Limits::DEFAULT).map_err(told)
    }

    #[test]
    fn a_namespace_that_says_nothing_has_what_the_server_has() {
        assert_eq!(parse(&json!({})), Ok(Options::of_server(Limits::DEFAULT)));
        assert_eq!(parse(&Value::Null), Ok(Options::of_server(Limits::DEFAULT)));
    }

    #[test]
    fn options_are_read() {
        let options = parse(&json!({
            "endpoint": "runner.shop.svc:9445", "pullSecrets": "one, two\nthree", "functionTimeout": "1m30s",
            "maxMemory": "512Mi", "maxOutput": "10 MiB", "maxFiles": "1Mi", "maxProcesses": "7", "maxOpenFiles": "32",
        }))
        .unwrap();
        assert_eq!(options.endpoint, Endpoint::At("runner.shop.svc:9445".into()));
        assert_eq!(options.pull_secrets, ["one", "two", "three"]);
        let Limits { function_time, exec, .. } = options.limits;
        assert_eq!((function_time, exec.max_time), (Duration::from_secs(90), Duration::from_secs(90)));
        assert_eq!((exec.max_memory, exec.max_output), (ByteSize::mib(512), ByteSize::mib(10)));
        assert_eq!((exec.max_files, exec.max_processes, exec.max_open_files), (ByteSize::mib(1), 7, 32));
        assert_eq!(parse(&json!({"endpoint": "none"})).unwrap().endpoint, Endpoint::None);
        assert_eq!(
            parse(&json!({"endpoint": "[::1]:9445"})).unwrap().endpoint,
            Endpoint::At("[::1]:9445".into())
        );
    }

    #[test]
    fn what_is_wrong_is_told_all_together() {
        let problems = parse(&json!({
            "endpoint": "https://runner", "functionTimeout": "5", "maxMemory": "lots", "maxProcesses": "0", "maxmemory": "1Gi",
        }))
        .unwrap_err();
        let check = |field: &str, words: &str| {
            let found = problems.iter().find(|problem| problem.starts_with(&format!("data.{field}: ")));
            assert!(found.is_some_and(|problem| problem.contains(words)), "{field}: {problems:?}");
        };
        check("endpoint", "\"https://runner\": an address is host:port");
        check("functionTimeout", "\"5\": a time above 0 has a unit, as 90s or 2m");
        check("maxMemory", "\"lots\": a size above 0 has a unit");
        check("maxProcesses", "\"0\": it is no whole number above 0");
        check("maxmemory", "there is no such option; there are endpoint, functionTimeout,");
        assert_eq!(problems.len(), 5);
        let binary =
            Options::parse(&json!({"binaryData": {"endpoint": "eA=="}}), Limits::DEFAULT).unwrap_err();
        assert_eq!(binary[0].field, "binaryData");
    }

    #[test]
    fn limits_go_up_to_those_of_the_server_and_no_further() {
        let check = |key: &str, most: &str, beyond: &str| {
            assert!(parse(&json!({ key: most })).is_ok(), "{key} {most}");
            let problems = parse(&json!({ key: beyond })).unwrap_err();
            assert!(problems[0].contains("that the server allows"), "{problems:?}");
        };
        check("functionTimeout", "300s", "300001ms");
        check("maxMemory", "1Gi", "1073741825");
        check("maxOutput", "256Mi", "268435457");
        check("maxFiles", "256Mi", "268435457");
        check("maxProcesses", "256", "257");
        check("maxOpenFiles", "1024", "1025");
        let names = |count: usize| vec!["s"; count].join(",");
        assert!(parse(&json!({"pullSecrets": names(MAX_PULL_SECRETS)})).is_ok());
        assert!(parse(&json!({"pullSecrets": names(MAX_PULL_SECRETS + 1)})).is_err());
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for bad in
            ["", "host", ":9445", "host:", "host:0", "host:70000", "a b:1", "u:p@h:1", "h/x:1", "http://h:1"]
        {
            assert!(check_endpoint(bad).is_err(), "{bad}");
        }
        for good in ["host:1", "10.0.0.1:9445", "[::1]:9445", "a.b.svc:65535"] {
            assert!(check_endpoint(good).is_ok(), "{good}");
        }
    }
}
