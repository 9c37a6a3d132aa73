//! Connections that come back.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

use crate::Error;

/// What goes wrong between here and the server.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The server, or the way to it.
    #[error(transparent)]
    Server(#[from] tokio_postgres::Error),
    /// The tables were made by a newer program.
    #[error("the tables have version {found}, and this program knows up to {known}")]
    TooNew {
        /// Of the tables.
        found: usize,
        /// The newest that this program knows.
        known: usize,
    },
}

impl Fault {
    /// A failure that has changed nothing.
    pub(crate) fn harmless(&self) -> Error {
        let Self::Server(error) = self else { return Error::Unavailable { cause: self.to_string() } };
        harmless(error)
    }
}

/// A failure that has changed nothing.
pub(crate) fn harmless(error: &tokio_postgres::Error) -> Error {
    use tokio_postgres::error::SqlState;
    // What the server says is in the source.
    let cause = error.as_db_error().map_or_else(|| chain(error), ToString::to_string);
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => Error::Full { cause },
        Some(code) if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
            Error::Damaged { what: cause }
        }
        _ => Error::Unavailable { cause },
    }
}

pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// Where the server is, and where in it the tables are.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) schema: String,
}

/// One connection, with the statements that were prepared on it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl Session {
    /// Connects. The connection ends when this is dropped.
    pub(crate) async fn connect(address: &Address) -> Result<Self, Fault> {
        let (client, connection) = address.config.connect(NoTls).await?;
        // Ends with the client, or tells it the error.
        tokio::spawn(async move { drop(connection.await) });
        Self::begin(client, address).await
    }

    /// Prepares a client whose connection somebody drives.
    pub(crate) async fn begin(client: Client, address: &Address) -> Result<Self, Fault> {
        // Every read follows an index in the order of its answer. Without statistics, as behind many writes, the server would
        // rather hash and sort all values.
        let settings = "SET enable_hashjoin = off; SET enable_mergejoin = off";
        client.batch_execute(&format!("SET search_path = {}; {settings}", address.schema)).await?;
        Ok(Self { client, statements: Mutex::default() })
    }

    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(known) = self.statements.lock().await.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.lock().await.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn query(
        &self,
        sql: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.client.query(&statement, arguments).await
    }

    pub(crate) async fn execute(
        &self,
        sql: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.client.execute(&statement, arguments).await
    }
}

/// A place for a connection that is made when it is needed, and again when it was lost.
#[derive(Debug)]
pub(crate) struct Link {
    address: Address,
    session: Mutex<Option<Arc<Session>>>,
}

impl Link {
    pub(crate) fn new(address: Address) -> Self {
        Self { address, session: Mutex::new(None) }
    }

    pub(crate) async fn session(&self) -> Result<Arc<Session>, Error> {
        let mut place = self.session.lock().await;
        if let Some(session) = place.as_ref().filter(|session| !session.client.is_closed()) {
            return Ok(session.clone());
        }
        let session = Arc::new(Session::connect(&self.address).await.map_err(|fault| fault.harmless())?);
        *place = Some(session.clone());
        Ok(session)
    }

    /// Asks, and asks once more on a new connection if the old one was lost.
    pub(crate) async fn query(
        &self,
        sql: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let first = self.session().await?;
        match first.query(sql, arguments).await {
            Ok(rows) => Ok(rows),
            Err(_) if first.client.is_closed() => {
                self.session().await?.query(sql, arguments).await.map_err(|error| harmless(&error))
            }
            Err(error) => Err(harmless(&error)),
        }
    }
}
