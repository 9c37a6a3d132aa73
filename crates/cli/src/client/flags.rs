//! What can be typed about the connection, as kubectl has it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

/// Where the server is, and who asks.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Connection {
    /// The namespace
    #[arg(short, long, global = true, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// The file that says where the server is [default: KUBECONFIG, ~/.kube/config, or the server of the data directory]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
    /// The data directory of a server on this machine, which is asked then
    #[arg(long, global = true, value_name = "FOLDER", value_hint = ValueHint::DirPath, conflicts_with = "kubeconfig")]
    pub data_dir: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// The cluster of the kubeconfig
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub cluster: Option<String>,
    /// The user of the kubeconfig
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub user: Option<String>,
    /// The address of the server
    #[arg(short, long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// The token to show
    #[arg(long, global = true, value_name = "TOKEN", hide_short_help = true)]
    pub token: Option<String>,
    /// The user to act as
    #[arg(long = "as", global = true, value_name = "USER")]
    pub acting_as: Option<String>,
    /// A group to act as; can be given several times
    #[arg(long = "as-group", global = true, value_name = "GROUP", hide_short_help = true)]
    pub as_groups: Vec<String>,
    /// The uid to act as
    #[arg(long, global = true, value_name = "UID", hide_short_help = true)]
    pub as_uid: Option<String>,
    /// The certificate of the authority of the server
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub certificate_authority: Option<PathBuf>,
    /// The certificate to show
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub client_certificate: Option<PathBuf>,
    /// Its key
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub client_key: Option<PathBuf>,
    /// Take any certificate of the server: whoever is in between can read and change all
    #[arg(long, global = true, hide_short_help = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// The name in the certificate of the server
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub tls_server_name: Option<String>,
    /// How long one request may take, as 30s or 2m; 0 is for ever
    #[arg(long, global = true, value_name = "DURATION", default_value = "0", hide_default_value = true, value_parser = timeout)]
    pub request_timeout: Timeout,
    /// Nothing is kept between commands; taken because kubectl has it
    #[arg(long, global = true, value_name = "FOLDER", hide = true)]
    pub cache_dir: Option<PathBuf>,
    /// Answers are never compressed; taken because kubectl has it
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub disable_compression: Option<bool>,
    /// Output is never cut; taken because porchctl has it
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub truncate_output: Option<bool>,
    /// Taken because porchctl has it
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub stack_trace: Option<bool>,
    /// Say which requests are sent, from 6 on
    #[arg(
        short = 'v',
        long = "v",
        global = true,
        value_name = "LEVEL",
        hide_short_help = true,
        default_value_t = 0,
        hide_default_value = true
    )]
    pub verbosity: u8,
}

/// How long a request may take; none is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timeout(pub Option<Duration>);

fn timeout(text: &str) -> Result<Timeout, String> {
    let seconds = text.parse::<u64>().ok().map(Duration::from_secs);
    let given = match seconds {
        Some(given) => given,
        None => duration(text)?,
    };
    Ok(Timeout((!given.is_zero()).then_some(given)))
}

/// Reads a duration as Go writes it: `1h30m`, `90s`, `1.5s`, `200ms`.
///
/// # Errors
/// When it is none.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 6] =
        [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
    let refused = || format!("\"{text}\" is no duration; write one as 30s, 5m or 1h30m");
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(refused)?;
        let number: f64 = rest[..digits].parse().map_err(|_| refused())?;
        let unit = UNITS.iter().find(|(name, _)| rest[digits..].starts_with(name)).ok_or_else(refused)?;
        seconds += number * unit.1;
        rest = &rest[digits + unit.0.len()..];
    }
    if text.is_empty() {
        return Err(refused());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let check = |text: &str, expected: Option<u64>| {
            let read = duration(text).ok().map(|read| u64::try_from(read.as_millis()).unwrap());
            assert_eq!(read, expected, "{text}");
        };
        check("30s", Some(30_000));
        check("1h30m", Some(5_400_000));
        check("1.5s", Some(1_500));
        check("200ms", Some(200));
        for wrong in ["", "5", "s", "-5s", "5 s", "1d", "1..5s", "99999999999999999999999h"] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_timeout_of_nothing_is_for_ever() {
        assert_eq!(timeout("0"), Ok(Timeout(None)));
        assert_eq!(timeout("0s"), Ok(Timeout(None)));
        assert_eq!(timeout("5"), Ok(Timeout(Some(Duration::from_secs(5)))));
        assert_eq!(timeout("1m"), Ok(Timeout(Some(Duration::from_mins(1)))));
        assert!(timeout("soon").is_err());
    }
}
