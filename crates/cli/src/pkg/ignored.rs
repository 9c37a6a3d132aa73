//! Where kpt reads a `.krmignore` otherwise.

use lanai_krm::Package;
use lanai_krm::ignore::{Dialect, Difference};
use lanai_krm::package::is_resource_name;

use crate::io::Io;

/// How many files are named.
const SHOWN: usize = 5;

/// Warns of resource files that kpt would ignore and we do not, or the other way round. Whoever asked for kpt's reading
/// needs no warning.
pub(crate) fn warn(package: &Package, dialect: Dialect, io: &mut Io<'_>) {
    match dialect {
        Dialect::Kpt => return,
        Dialect::Gitignore => {}
    }
    // Rules that are refused are an error of whoever reads by them.
    let Ok(differences) = package.ignore_differences() else { return };
    let resources = |difference: &&Difference| is_resource_name(difference.path.file_name());
    let differences: Vec<&Difference> = differences.iter().filter(resources).collect();
    for difference in differences.iter().take(SHOWN) {
        io.tell(&format!("[Warn] {difference}"));
    }
    let more = differences.len().saturating_sub(SHOWN);
    if more > 0 {
        io.tell(&format!("[Warn] and so for {more} more file(s)"));
    }
}
