//! Which objects may match, found with as little reading as the indexes allow.

use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::query::{Start, revision as read_revision, signed};
use crate::{Filter, Requirement, Revision, Subject, Test};

/// Entries of the index that are counted to compare requirements.
const ENOUGH: u32 = 1_000;

/// How objects are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// All of the prefix.
    All,
    /// Those with one of these values of an attribute.
    With { name: String, values: Vec<String> },
    /// Those that have an attribute.
    Having { name: String },
}

type Take<'t> = &'t mut dyn FnMut(Revision) -> rusqlite::Result<ControlFlow<()>>;

impl Candidates {
    /// The requirement that the fewest objects meet, as far as a short look at the index tells.
    pub(crate) fn choose(connection: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let mut best = Self::All;
        let mut fewest = ENOUGH;
        for requirement in &filter.selector.requirements {
            let Some(candidates) = Self::of(requirement) else { continue };
            let found = candidates.estimate(connection, filter)?;
            if found < fewest || best == Self::All {
                fewest = found;
                best = candidates;
            }
        }
        Ok(best)
    }

    fn of(requirement: &Requirement) -> Option<Self> {
        let name = match &requirement.subject {
            Subject::Label(name) => format!("l:{name}"),
            Subject::Field(name) => format!("f:{name}"),
        };
        match &requirement.test {
            Test::Equals(value) => Some(Self::With { name, values: vec![value.clone()] }),
            Test::In(values) => Some(Self::With { name, values: values.iter().cloned().collect() }),
            Test::Exists => Some(Self::Having { name }),
            Test::NotIn(_) | Test::Absent => None,
        }
    }

    fn estimate(&self, connection: &Connection, filter: &Filter) -> rusqlite::Result<u32> {
        let mut arguments = vec![text(filter.prefix.first()), text(&filter.prefix.end())];
        let Some(keys) = self.keys_sql(&mut arguments) else { return Ok(ENOUGH) };
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM ({keys}) WHERE key >= ?1 AND key < ?2 LIMIT {ENOUGH})"
        );
        connection.prepare_cached(&sql)?.query_row(params_from_iter(arguments), |row| row.get(0))
    }

    /// A statement that gives the keys of the index; none if all are meant.
    fn keys_sql(&self, arguments: &mut Vec<Value>) -> Option<String> {
        let mut place = |value: &str| {
            arguments.push(text(value));
            format!("?{}", arguments.len())
        };
        match self {
            Self::All => None,
            Self::With { name, values } => {
                let name = place(name);
                // One text for all of them: SQLite has a limit for the number of its arguments.
                let values = place(&serde_json::to_string(values).expect("texts can be written as JSON"));
                Some(format!(
                    "SELECT key FROM attribute WHERE name = {name} AND value IN (SELECT value FROM json_each({values}))"
                ))
            }
            Self::Having { name } => Some(format!("SELECT key FROM attribute WHERE name = {}", place(name))),
        }
    }

    /// Visits the versions that were there at a revision, in the order of their keys.
    pub(crate) fn visit(
        &self,
        connection: &Connection,
        start: &Start,
        end: &str,
        revision: Revision,
        head: Revision,
        take: Take<'_>,
    ) -> rusqlite::Result<()> {
        let (from, compare) = match start {
            Start::At(from) => (from, ">="),
            Start::Behind(from) => (from, ">"),
        };
        let mut arguments = vec![text(from), text(end)];
        let range = |column: &str| format!("{column} {compare} ?1 AND {column} < ?2");
        let keys = self.keys_sql(&mut arguments);
        let now = match &keys {
            None => format!("SELECT c.key, c.revision FROM current c WHERE {}", range("c.key")),
            Some(keys) => {
                format!(
                    "SELECT c.key, c.revision FROM ({keys}) a JOIN current c ON c.key = a.key WHERE {}",
                    range("a.key")
                )
            }
        };
        if revision == head {
            return each(connection, &format!("SELECT revision FROM ({now}) ORDER BY key"), arguments, take);
        }
        // What is not younger, and what was there before the first change of each key that changed since: SQLite merges two sorted streams.
        arguments.push(Value::Integer(signed(revision)));
        let at = arguments.len();
        let changed = range("key");
        let sql = format!(
            "SELECT revision, key FROM ({now}) WHERE revision <= ?{at}
             UNION ALL
             SELECT previous, key FROM (SELECT key, previous, min(revision) FROM version
                WHERE revision > ?{at} AND {changed} GROUP BY key) WHERE previous IS NOT NULL
             ORDER BY 2"
        );
        each(connection, &sql, arguments, take)
    }
}

fn each(connection: &Connection, sql: &str, arguments: Vec<Value>, take: Take<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(arguments))?;
    while let Some(row) = rows.next()? {
        if take(read_revision(row, 0)?)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}
