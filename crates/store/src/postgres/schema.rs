//! The tables in a schema of their own.

use tokio_postgres::Client;

use super::session::Fault;

/// Each step makes tables of one version from those of the version before; version 0 is an empty schema.
const MIGRATIONS: &[&str] = &[V1, V2, V3];

const V1: &str = r#"
CREATE TABLE meta (
    id int PRIMARY KEY CHECK (id = 1),
    head bigint NOT NULL,
    horizon bigint NOT NULL,
    fence bigint NOT NULL
);
INSERT INTO meta VALUES (1, 0, 0, 0);

CREATE TABLE version (
    revision bigint PRIMARY KEY,
    previous bigint,
    created bigint NOT NULL,
    tombstone boolean NOT NULL,
    key text COLLATE "C" NOT NULL,
    attributes text,
    blobs bytea,
    sealed bigint,
    checksum bigint NOT NULL,
    value bytea
);

CREATE TABLE current (
    key text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL
);

CREATE TABLE attribute (
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (name, value, key)
);
CREATE INDEX attribute_key ON attribute (key, name);

CREATE TABLE blob (
    digest bytea PRIMARY KEY,
    content bytea NOT NULL
);

CREATE TABLE blob_use (
    digest bytea NOT NULL REFERENCES blob,
    revision bigint NOT NULL,
    PRIMARY KEY (digest, revision)
);
CREATE INDEX blob_use_revision ON blob_use (revision);

CREATE TABLE lease (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    fence bigint NOT NULL,
    until bigint NOT NULL
);

CREATE TABLE seal_key (
    id bigint PRIMARY KEY
);
"#;

const V2: &str = "
ALTER TABLE meta ADD COLUMN stamp bigint;
ALTER TABLE version ADD COLUMN stamp bigint;
ALTER TABLE seal_key ADD COLUMN fingerprint bytea;
CREATE INDEX version_sealed ON version (revision) WHERE sealed IS NOT NULL;
";

/// The timeline of the server on which everything was written anew.
const V3: &str = "ALTER TABLE meta ADD COLUMN renewed bigint";

/// A number that no other lock of ours has: the first letters of the word.
const MIGRATION_LOCK: i64 = 0x6d69_6772;

/// Brings the tables to the newest version, in one transaction. Processes that start together do it one after another.
pub(crate) async fn migrate(client: &Client, schema: &str) -> Result<(), Fault> {
    client.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")).await?;
    let sql = format!(
        "CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path = {schema};
         CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)"
    );
    client.batch_execute(&sql).await?;
    let found = client.query_opt("SELECT version FROM schema_version", &[]).await?;
    let found = found.map_or(0, |row| usize::try_from(row.get::<_, i64>(0)).unwrap_or(usize::MAX));
    if found > MIGRATIONS.len() {
        client.batch_execute("ROLLBACK").await?;
        return Err(Fault::TooNew { found, known: MIGRATIONS.len() });
    }
    for step in &MIGRATIONS[found..] {
        client.batch_execute(step).await?;
    }
    let known = MIGRATIONS.len();
    let sql = format!("DELETE FROM schema_version; INSERT INTO schema_version VALUES ({known}); COMMIT");
    client.batch_execute(&sql).await?;
    Ok(())
}
