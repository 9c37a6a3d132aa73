//! `no-op`.

use lanai_krm::ResourceList;

use crate::function::{Doc, Failure, Function};

/// Changes nothing.
pub struct NoOp;

impl Function for NoOp {
    fn name(&self) -> &'static str {
        "no-op"
    }

    fn tags(&self) -> &'static [&'static str] {
        &[]
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
