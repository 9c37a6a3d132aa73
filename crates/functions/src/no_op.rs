//! `no-op`.

use lanai_krm::ResourceList;

use crate::function::{Compared, Counterpart, Doc, Failure, Function};

/// Changes nothing.
pub struct NoOp;

impl Function for NoOp {
    fn name(&self) -> &'static str {
        "no-op"
    }

    fn tags(&self) -> &'static [&'static str] {
        &[]
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::Program {
            version: "kptdev/krm-functions-catalog, commit dc52cf09 (2026)",
            resources: Compared::Text,
        }
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Changes nothing and reports nothing. Good for trying out pipelines.",
            config: &[],
            example: "",
            deviations: &[],
        }
    }

    fn run(&self, _: &mut ResourceList) -> Result<(), Failure> {
        Ok(())
    }
}
