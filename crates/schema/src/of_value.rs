//! A schema that is not that of a whole resource.

use lanai_openapi::built_in;
use lanai_yaml::NodeRef;

use crate::custom;
use crate::definitions;
use crate::limits::Limits;
use crate::schema::Schema;
use crate::walk::{Finding, UnknownFields, Walk};

/// The schema of a value, as definitions of custom resources and templates of policies write it.
#[derive(Clone, Debug)]
pub struct ValueSchema(Schema);

impl ValueSchema {
    /// Reads a schema. What of it cannot be read, or is beyond a limit, is not checked. `None` for what is no mapping.
    pub fn read(schema: NodeRef<'_>, limits: &Limits) -> Option<Self> {
        definitions::read_schema(schema, limits).map(Self)
    }

    /// Checks a value; gives what is wrong, each field before what is in it. Fields that the schema does not know are passed
    /// over.
    pub fn check(&self, value: NodeRef<'_>, limits: &Limits) -> Vec<Finding> {
        let mut walk = Walk::new(UnknownFields::Accepted, limits);
        custom::resource(&mut walk, built_in(), value, &self.0);
        walk.end()
    }
}
