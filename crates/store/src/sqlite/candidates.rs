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
            // In this form SQLite knows that the keys come sorted.
            Self::With { name, values } if values.len() == 1 => {
                let (name, value) = (place(name), place(&values[0]));
                Some(format!("SELECT key FROM attribute WHERE name = {name} AND value = {value}"))
            }
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
        let at = (revision != head).then_some(revision);
        let Question { sql, arguments } = self.question(start, end, at);
        each(connection, &sql, arguments, take)
    }

    /// Asks for the revisions of what is there now, or of what was there at a revision.
    fn question(&self, start: &Start, end: &str, at: Option<Revision>) -> Question {
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
                    "SELECT a.key, c.revision FROM ({keys}) a JOIN current c ON c.key = a.key WHERE {}",
                    range("a.key")
                )
            }
        };
        let Some(revision) = at else {
            return Question { sql: format!("SELECT revision FROM ({now}) ORDER BY key"), arguments };
        };
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
        Question { sql, arguments }
    }
}

/// A statement with its arguments.
struct Question {
    sql: String,
    arguments: Vec<Value>,
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

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    /// How SQLite goes about a question.
    fn plan(connection: &Connection, question: &Question) -> Vec<String> {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", question.sql)).unwrap();
        let rows = statement.query_map(params_from_iter(&question.arguments), |row| row.get(3)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn no_list_goes_over_a_table_and_pages_of_one_value_sort_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, schema::MIGRATIONS).unwrap();
        let with = |values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            Candidates::With { name: "l:app".to_owned(), values }
        };
        for (candidates, is_sorted) in [
            (Candidates::All, true),
            (with(&["a"]), true),
            (with(&["a", "b"]), false),
            (Candidates::Having { name: "l:app".to_owned() }, false),
        ] {
            for start in [Start::At("a/x/".into()), Start::Behind("a/x/7".into())] {
                for at in [None, Some(Revision::new(7))] {
                    let plan = plan(&connection, &candidates.question(&start, "a/x0", at));
                    let case = format!("{candidates:?}, {start:?}, {at:?}: {plan:#?}");
                    // What was grouped, and the values that are asked for, are gone over; no table is.
                    for table in ["current", "version", "attribute", "c", "a"] {
                        let scan = format!("SCAN {table}");
                        let is_scan = |line: &String| *line == scan || line.starts_with(&format!("{scan} "));
                        assert!(!plan.iter().any(is_scan), "{case}");
                    }
                    let sorts = plan.iter().any(|line| line.contains("TEMP B-TREE FOR ORDER BY"));
                    assert!(!(sorts && is_sorted && at.is_none()), "{case}");
                }
            }
        }
    }
}
