//! Connections that come back.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Connection, Row, Socket, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::Tls;
use crate::Error;
use crate::error::chain;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection says nothing before it is asked whether it is still there, and how often it is asked then.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

/// How long what was sent may stay without an answer of the network.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Statements that a connection keeps prepared at most.
const MAX_STATEMENTS: usize = 256;

/// What every connection asks for.
///
/// Every read follows an index in the order of its answer: without statistics, as behind many writes, the server would rather read, hash
/// and sort all values.
/// A commit is durable when it is answered, whatever the server's own settings are. Nobody waits for ever for a lock, and a transaction
/// whose process has gone does not hold the counter. There is no timeout for statements: one that fires while a commit waits for a standby would
/// have the server answer as if it had not.
const SETTINGS: &str = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off;
    SET jit = off;
    SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = off;
    SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '30s'; SET statement_timeout = 0;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')";

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

/// A failure of COMMIT. A server that says no has undone everything; one that is going away says nothing of the commit.
pub(crate) fn at_commit(error: &tokio_postgres::Error) -> Error {
    let is_no = error.as_db_error().is_some_and(|found| is_refusal(found.code(), found.parsed_severity()));
    if is_no { harmless(error) } else { Error::Unknown { cause: chain(error) } }
}

fn is_refusal(code: &SqlState, severity: Option<Severity>) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    // Connections that fail, and servers that are shut down.
    !matches!(class, "08" | "57") && severity == Some(Severity::Error)
}

/// True if a failure is about what was asked, and not about the server or the way to it: another request would not have failed.
pub(crate) fn is_about_the_request(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|found| {
        let class = found.code().code().get(..2).unwrap_or_default();
        // Connections, transactions that are over, resources, locks, shutdowns, and the system around the server.
        !matches!(class, "08" | "25" | "53" | "55" | "57" | "58")
    })
}

/// Where the server is, and where in it the tables are.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    config: Config,
    pub(crate) schema: String,
    tls: Tls,
}

/// What moves the bytes of a connection.
type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

impl Address {
    /// Sets what the address does not say. Only servers that can be written to are asked, whatever it says: what a standby shows is old.
    pub(crate) fn new(mut config: Config, schema: String, tls: Tls) -> Self {
        config.ssl_mode(tls.mode());
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        // A server whose sessions only read until they say otherwise is none the less one.
        let options = [config.get_options().unwrap_or_default(), "-c default_transaction_read_only=off"];
        let options = options.join(" ");
        config.options(options.trim());
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(TCP_USER_TIMEOUT);
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives(true).keepalives_idle(KEEPALIVE_IDLE);
            config.keepalives_interval(KEEPALIVE_INTERVAL).keepalives_retries(KEEPALIVE_RETRIES);
        }
        Self { config, schema, tls }
    }

    pub(crate) async fn connect(&self) -> Result<(Client, Driver), tokio_postgres::Error> {
        self.config.connect(self.tls.connector()).await
    }
}

/// One connection, with the statements that were prepared on it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    /// The server does not take writes any more.
    is_read_only: AtomicBool,
    /// Moves what is sent and received; ends with the client, or tells it the error.
    _driver: JoinHandle<()>,
}

impl Session {
    /// Connects. The connection ends when this is dropped.
    pub(crate) async fn connect(address: &Address) -> Result<Self, Fault> {
        let (client, connection) = address.connect().await?;
        let driver = tokio::spawn(async move { drop(connection.await) });
        client.batch_execute(&format!("SET search_path = {}; {SETTINGS}", address.schema)).await?;
        Ok(Self {
            client,
            statements: Mutex::default(),
            is_read_only: AtomicBool::new(false),
            _driver: driver,
        })
    }

    /// True if nothing more can be asked here.
    fn is_over(&self) -> bool {
        self.client.is_closed() || self.is_read_only.load(Ordering::Relaxed)
    }

    /// Looks at an answer: a server that has become a standby is left.
    fn looked_at<T>(&self, answer: Result<T, tokio_postgres::Error>) -> Result<T, tokio_postgres::Error> {
        answer.inspect_err(|error| {
            if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
                self.is_read_only.store(true, Ordering::Relaxed);
            }
        })
    }

    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(known) = self.statements.lock().await.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.lock().await;
        if statements.len() >= MAX_STATEMENTS {
            // Texts differ with selectors. What is needed again is prepared again.
            statements.clear();
        }
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn query(
        &self,
        sql: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.looked_at(self.client.query(&statement, arguments).await)
    }

    pub(crate) async fn execute(
        &self,
        sql: &str,
        arguments: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, tokio_postgres::Error> {
        let statement = self.prepare(sql).await?;
        self.looked_at(self.client.execute(&statement, arguments).await)
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
        if let Some(session) = place.as_ref().filter(|session| !session.is_over()) {
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
            Err(_) if first.is_over() => {
                self.session().await?.query(sql, arguments).await.map_err(|error| harmless(&error))
            }
            Err(error) => Err(harmless(&error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server says while it goes away is no answer to a commit.
    #[test]
    fn only_a_plain_error_undoes_a_commit() {
        let check = |code: SqlState, severity, expected: bool| {
            assert_eq!(is_refusal(&code, Some(severity)), expected, "{code:?} {severity:?}");
        };
        check(SqlState::UNIQUE_VIOLATION, Severity::Error, true);
        check(SqlState::DISK_FULL, Severity::Error, true);
        check(SqlState::ADMIN_SHUTDOWN, Severity::Fatal, false);
        check(SqlState::ADMIN_SHUTDOWN, Severity::Error, false);
        check(SqlState::CRASH_SHUTDOWN, Severity::Warning, false);
        check(SqlState::QUERY_CANCELED, Severity::Error, false);
        check(SqlState::CONNECTION_FAILURE, Severity::Error, false);
        check(SqlState::INTERNAL_ERROR, Severity::Panic, false);
        check(SqlState::INTERNAL_ERROR, Severity::Fatal, false);
    }

    #[test]
    fn an_address_keeps_what_it_says() {
        let quiet = Address::new("host=/run user=a".parse().unwrap(), "lanai".into(), Tls::Never);
        assert_eq!(quiet.config.get_connect_timeout(), Some(&CONNECT_TIMEOUT));
        // What a standby shows is old.
        assert_eq!(quiet.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        let any = "host=/run user=a target_session_attrs=any";
        let any = Address::new(any.parse().unwrap(), "lanai".into(), Tls::Never);
        assert_eq!(any.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite, "whatever it says");
        assert_eq!(quiet.config.get_keepalives_idle(), KEEPALIVE_IDLE);
        let said = "host=/run user=a connect_timeout=3 keepalives_interval=60 keepalives_idle=600";
        let said = Address::new(said.parse().unwrap(), "lanai".into(), Tls::Never);
        assert_eq!(said.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(said.config.get_keepalives_idle(), Duration::from_mins(10));
    }
}
