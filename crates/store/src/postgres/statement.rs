//! What is asked for, as SQL.

use tokio_postgres::types::ToSql;

use super::query::signed;
use crate::list::At;
use crate::{Filter, Requirement, Revision, Subject, Test};

pub(crate) type Argument = Box<dyn ToSql + Sync + Send>;

/// A statement and its arguments.
pub(crate) struct Builder {
    pub(crate) arguments: Vec<Argument>,
    compare: &'static str,
}

impl Builder {
    pub(crate) fn new(filter: &Filter, at: &At) -> Self {
        let first = filter.prefix.first();
        let (from, compare) = match at.after() {
            Some(after) if after.as_str() >= first => (after.as_str(), ">"),
            Some(_) | None => (first, ">="),
        };
        Self { arguments: vec![Box::new(from.to_owned()), Box::new(filter.prefix.end())], compare }
    }

    pub(crate) fn place(&mut self, argument: Argument) -> String {
        self.arguments.push(argument);
        format!("${}", self.arguments.len())
    }

    pub(crate) fn range(&self, column: &str) -> String {
        format!("{column} {} $1 AND {column} < $2", self.compare)
    }

    /// What is there now, by the index.
    pub(crate) fn now(&mut self, filter: &Filter) -> String {
        let conditions = self.conditions(filter);
        format!(
            "SELECT v.* FROM current c JOIN version v ON v.revision = c.revision
             WHERE {} {conditions} ORDER BY c.key",
            self.range("c.key")
        )
    }

    pub(crate) fn conditions(&mut self, filter: &Filter) -> String {
        filter.selector.requirements.iter().map(|requirement| self.condition(requirement)).collect()
    }

    fn condition(&mut self, requirement: &Requirement) -> String {
        let name = self.place(Box::new(match &requirement.subject {
            Subject::Label(name) => format!("l:{name}"),
            Subject::Field(name) => format!("f:{name}"),
        }));
        let entry = format!("EXISTS (SELECT 1 FROM attribute a WHERE a.key = c.key AND a.name = {name}");
        match &requirement.test {
            Test::Equals(value) => {
                format!(" AND {entry} AND a.value = {})", self.place(Box::new(value.clone())))
            }
            Test::In(values) => {
                let values: Vec<String> = values.iter().cloned().collect();
                format!(" AND {entry} AND a.value = ANY({}))", self.place(Box::new(values)))
            }
            Test::NotIn(values) => {
                let values: Vec<String> = values.iter().cloned().collect();
                format!(" AND NOT {entry} AND a.value = ANY({}))", self.place(Box::new(values)))
            }
            Test::Exists => format!(" AND {entry})"),
            Test::Absent => format!(" AND NOT {entry})"),
        }
    }

    /// What is not younger than a revision, and what was there before the first change of each key that changed since.
    pub(crate) fn past(&mut self, revision: Revision, filter: &Filter) -> String {
        let at = self.place(Box::new(signed(revision.get())));
        // What is not younger is as the index says; what changed since says itself how it was.
        let conditions = self.conditions(filter);
        let past_conditions: String =
            filter.selector.requirements.iter().map(|requirement| self.past_condition(requirement)).collect();
        format!(
            "SELECT v.* FROM (
                SELECT c.key, c.revision FROM current c WHERE {} AND c.revision <= {at} {conditions}
                UNION ALL
                SELECT f.key, f.previous FROM (SELECT DISTINCT ON (key) key, previous FROM version
                    WHERE revision > {at} AND {} ORDER BY key, revision) f
                    JOIN version v ON v.revision = f.previous {past_conditions}
             ) n JOIN version v ON v.revision = n.revision ORDER BY n.key",
            self.range("c.key"),
            self.range("key")
        )
    }

    fn past_condition(&mut self, requirement: &Requirement) -> String {
        let (map, name) = match &requirement.subject {
            Subject::Label(name) => ("l", name),
            Subject::Field(name) => ("f", name),
        };
        let name = self.place(Box::new(name.clone()));
        let value = format!("(v.attributes::jsonb -> '{map}' ->> {name}::text)");
        match &requirement.test {
            Test::Equals(wanted) => format!(" AND {value} = {}", self.place(Box::new(wanted.clone()))),
            Test::In(values) => {
                let values: Vec<String> = values.iter().cloned().collect();
                format!(" AND {value} = ANY({})", self.place(Box::new(values)))
            }
            Test::NotIn(values) => {
                let values: Vec<String> = values.iter().cloned().collect();
                format!(" AND ({value} IS NULL OR NOT {value} = ANY({}))", self.place(Box::new(values)))
            }
            Test::Exists => format!(" AND {value} IS NOT NULL"),
            Test::Absent => format!(" AND {value} IS NULL"),
        }
    }
}
