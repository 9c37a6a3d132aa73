//! What functions that are programs are kept from.

use lanai_process::{Cage, CageLimits, Command, Limits, Network, Policy, User};

use super::report::Check;
use crate::io::Io;
use crate::places;

const NAME: &str = "cage";

/// Puts a program that does nothing into a cage, and says what the cage could hold.
pub(crate) fn check(io: &Io<'_>) -> Check {
    let mend = "see docs/evaluators.md; user namespaces and Landlock are settings of the kernel";
    let Some(launcher) = &io.program else {
        return Check::warning(NAME, "this program is not a file, so that it makes no cages", mend);
    };
    let cage = Cage {
        launcher: launcher.clone(),
        policy: Policy::BestEffort,
        network: Network::None,
        user: User::Nobody,
        views: Vec::new(),
        limits: CageLimits::default(),
        temporary: places::variable("TMPDIR", io).unwrap_or_else(|| "/tmp".into()),
    };
    let program = ["/usr/bin/true", "/bin/true"].into_iter().find(|path| std::path::Path::new(path).exists());
    let Some(program) = program else {
        return Check::ok(NAME, "not tried: there is no program \"true\"");
    };
    match Command::new(program).run_caged(&cage, &[], &Limits::DEFAULT, |_| {}) {
        Err(error) => Check::problem(NAME, format!("functions that are programs cannot run: {error}"), mend),
        Ok(caged) => {
            let shortfalls: Vec<String> =
                caged.held.shortfalls(Network::None).iter().map(ToString::to_string).collect();
            let landlock = match caged.held.landlock {
                Some(version) => format!("Landlock {version}"),
                None => "no Landlock".to_owned(),
            };
            if shortfalls.is_empty() {
                Check::ok(NAME, format!("functions that are programs are kept from everything ({landlock})"))
            } else {
                Check::warning(NAME, format!("{} ({landlock})", shortfalls.join(", ")), mend)
            }
        }
    }
}
