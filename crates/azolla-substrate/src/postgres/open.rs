//! Opens an azolla's schema on a server: the lock, migrations after a backup, whose Substrate it is.

use azolla_protocol::AzollaId;
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use tokio_postgres::{Client, Config, config::Host, error::SqlState};

use super::{
    address::{Address, CONNECT_LIMIT},
    fault::fault,
    sql,
};
use crate::{
    error::SubstrateError,
    migration::{Migration, missing, older},
    read::Identity,
    substrate::Opening,
};

/// The oldest server that has every function we call.
const SERVER_VERSION_MIN: i64 = 130_000;

/// Connections per process: the server shares one sync between those that commit together.
const CONNECTIONS_MAX: usize = 16;

/// Connects, brings the schema up to the newest of `migrations`, and returns whose it is.
pub(super) async fn open_schema(
    address: &Address,
    azolla_id: &AzollaId,
    opening: &Opening,
    migrations: &[Migration],
) -> Result<Identity, SubstrateError> {
    let client = connect(address).await?;
    check_server(&client).await?;
    // One transaction: a crash anywhere leaves what was there before. Dropping the client rolls back.
    run(&client, sql::LIMITS).await?;
    run(&client, sql::BEGIN).await?;
    client.execute(sql::LOCK_OPENING, &[&azolla_id.as_str()]).await.map_err(fault)?;
    make_schema(&client, azolla_id, opening).await?;
    run(&client, &sql::session(azolla_id)).await?;
    migrate(&client, azolla_id, migrations).await?;
    let identity = identify(&client, opening).await?;
    run(&client, sql::COMMIT).await?;
    Ok(identity)
}

/// Looks whether the schema is there, at the newest of `migrations`, and belongs to `expected`. Writes nothing.
pub(super) async fn check_readable(
    address: &Address,
    expected: &Identity,
    migrations: &[Migration],
) -> Result<(), SubstrateError> {
    let azolla_id = &expected.azolla_id;
    let client = connect(address).await?;
    check_server(&client).await?;
    run(&client, sql::READ_ONLY).await?;
    if client.query_opt(sql::FIND_VERSION, &[&azolla_id.as_str()]).await.map_err(fault)?.is_none() {
        return Opening::Existing.create().map(drop);
    }
    run(&client, &sql::session(azolla_id)).await?;
    let version: i64 = client.query_one(sql::READ_VERSION, &[]).await.map_err(fault)?.get(0);
    if !missing(migrations, version)?.is_empty() {
        return Err(older(version));
    }
    identify(&client, &Opening::OrCreate(expected.clone())).await.map(drop)
}

/// Opens one connection whose messages a task carries until it is dropped.
pub(super) async fn connect(address: &Address) -> Result<Client, SubstrateError> {
    let connected = address.config.connect(address.tls.clone()).await;
    let (client, connection) = connected.map_err(|error| unreachable(&address.config, error))?;
    tokio::spawn(connection);
    Ok(client)
}

/// The pool of connections into one azolla's schema.
pub(super) fn make_pool(
    address: &Address,
    azolla_id: &AzollaId,
    version: usize,
) -> Result<Pool, SubstrateError> {
    let session =
        format!("{}; {}; {}", sql::READ_ONLY, sql::session(azolla_id), sql::enter(azolla_id, version));
    let start = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
        let session = session.clone();
        Box::pin(async move { client.batch_execute(&session).await.map_err(HookError::Backend) })
    });
    let fast = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let limits =
        Timeouts { wait: Some(CONNECT_LIMIT), create: Some(CONNECT_LIMIT), recycle: Some(CONNECT_LIMIT) };
    Pool::builder(Manager::from_config(address.config.clone(), address.tls.clone(), fast))
        .max_size(CONNECTIONS_MAX)
        // The last one used is the one whose statements are prepared and whose server process is warm.
        .queue_mode(QueueMode::Lifo)
        .runtime(Runtime::Tokio1)
        .timeouts(limits)
        .post_create(start)
        .build()
        .map_err(|error| SubstrateError::Unavailable(error.into()))
}

fn unreachable(config: &Config, error: tokio_postgres::Error) -> SubstrateError {
    if error.code().is_some() {
        return fault(error);
    }
    if let Some(problem) = tls_problem(&error) {
        return problem;
    }
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let ports: Vec<_> = config.get_ports().iter().map(ToString::to_string).collect();
    let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
    SubstrateError::unusable(
        format!(
            "no PostgreSQL answers at {} port {}: {reason}",
            hosts.collect::<Vec<_>>().join(", "),
            if ports.is_empty() { "5432".into() } else { ports.join(", ") }
        ),
        "start the server, or correct the store's address",
    )
}

/// Reads why the two did not come to an encrypted connection.
fn tls_problem(error: &tokio_postgres::Error) -> Option<SubstrateError> {
    let source = std::error::Error::source(error)?;
    if source.to_string() == "server does not support TLS" {
        return Some(SubstrateError::unusable(
            "the server of the store has no TLS",
            "turn it on there, or say ?sslmode=disable in the store's address if nobody else is on the network between",
        ));
    }
    let cause = source.downcast_ref::<std::io::Error>()?.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match cause {
        rustls::Error::InvalidCertificate(_) => SubstrateError::unusable(
            format!("the certificate of the store's server is not valid for it: {cause}"),
            "name its authority, or the certificate itself, in the store's address: ?sslrootcert=/path/to/ca.crt",
        ),
        _ => SubstrateError::unusable(
            format!("no TLS with the server of the store: {cause}"),
            "correct its settings, or the store's address",
        ),
    })
}

async fn check_server(client: &Client) -> Result<(), SubstrateError> {
    let row = client.query_one(sql::SERVER, &[]).await.map_err(fault)?;
    let (version, encoding): (i64, String) = (row.get(0), row.get(1));
    if version < SERVER_VERSION_MIN {
        return Err(SubstrateError::unusable("the server is older than PostgreSQL 13", "upgrade it"));
    }
    if encoding != "UTF8" {
        return Err(SubstrateError::unusable(
            format!("the database's encoding is {encoding}"),
            "create a database with ENCODING 'UTF8'",
        ));
    }
    Ok(())
}

async fn make_schema(client: &Client, azolla_id: &AzollaId, opening: &Opening) -> Result<(), SubstrateError> {
    if client.query_opt(sql::FIND_SCHEMA, &[&azolla_id.as_str()]).await.map_err(fault)?.is_none() {
        opening.create()?;
        run(client, &sql::make_schema(azolla_id)).await?;
    }
    Ok(())
}

async fn migrate(
    client: &Client,
    azolla_id: &AzollaId,
    migrations: &[Migration],
) -> Result<(), SubstrateError> {
    if client.query_opt(sql::FIND_VERSION, &[&azolla_id.as_str()]).await.map_err(fault)?.is_none() {
        if client.query_opt(sql::FIND_TABLES, &[&azolla_id.as_str()]).await.map_err(fault)?.is_some() {
            return Err(SubstrateError::unusable(
                format!("the schema {azolla_id} holds tables of another program"),
                "name another database, or another azolla",
            ));
        }
        run(client, sql::MAKE_VERSION).await?;
    }
    let version: i64 = client.query_one(sql::READ_VERSION, &[]).await.map_err(fault)?.get(0);
    let missing = missing(migrations, version)?;
    if missing.is_empty() {
        return Ok(());
    }
    if version > 0 {
        let locked = client.execute(sql::LOCK_UPGRADE, &[&azolla_id.as_str()]).await;
        locked.map_err(|error| match error.code() {
            Some(&SqlState::LOCK_NOT_AVAILABLE) => SubstrateError::unusable(
                "the store has to be upgraded, but other programs use it",
                "end them, then start this one again",
            ),
            _ => fault(error),
        })?;
        run(client, &sql::back_up(azolla_id, version)).await?;
    }
    for migration in missing {
        run(client, migration.postgres).await?;
    }
    let newest = i64::try_from(migrations.len()).expect("migrations are few");
    client.execute(sql::WRITE_VERSION, &[&newest]).await.map(drop).map_err(fault)
}

async fn identify(client: &Client, opening: &Opening) -> Result<Identity, SubstrateError> {
    match client.query_opt(crate::sql::AZOLLA, &[]).await.map_err(fault)? {
        Some(row) => {
            let row = super::flight::row(&row).map_err(fault)?;
            opening.expect(Identity { azolla_id: row.parsed(0)?, azolla_type: row.parsed(1)? })
        }
        None => {
            let identity = opening.create()?;
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
                [&identity.azolla_id.as_str(), &identity.azolla_type.as_str()];
            client.execute(crate::sql::INSERT_AZOLLA, &values).await.map_err(fault)?;
            Ok(identity)
        }
    }
}

async fn run(client: &Client, text: &str) -> Result<(), SubstrateError> {
    client.batch_execute(text).await.map_err(fault)
}
