//! A PostgreSQL server of the run's own, with a proxy before it for each machine, and what can happen to both.

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use crate::{
    postgres::{PrivateCluster, TestDatabase, fresh_database_in},
    proxy::{Proxy, Upstream},
};

/// The server and the ways to it.
pub(super) struct Database {
    // In the order in which they end: nothing asks a server that is gone.
    proxies: Vec<Proxy>,
    database: TestDatabase,
    cluster: PrivateCluster,
    runtime: Runtime,
}

impl Database {
    /// Starts a server, durable as in production, and a proxy for each machine.
    pub(super) fn start(machines: usize) -> anyhow::Result<Self> {
        let runtime = Runtime::new()?;
        let cluster = PrivateCluster::start()?;
        let (database, proxies) = runtime.block_on(async {
            let database = fresh_database_in(cluster.url()).await?;
            let upstream = Upstream::of(database.url())?;
            let mut proxies = Vec::new();
            for _ in 0..machines {
                proxies.push(Proxy::start(upstream.clone()).await?);
            }
            anyhow::Ok((database, proxies))
        })?;
        Ok(Self { proxies, database, cluster, runtime })
    }

    /// Returns the address that a machine is given.
    pub(super) fn url_for(&self, machine: usize) -> anyhow::Result<String> {
        self.proxies[machine].url(self.database.url())
    }

    /// Returns the proxy of a machine.
    pub(super) fn proxy(&self, machine: usize) -> &Proxy {
        &self.proxies[machine]
    }

    /// Connects past the proxies.
    pub(super) fn connect(&self) -> anyhow::Result<Client> {
        self.runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(self.database.url(), NoTls).await?;
            tokio::spawn(connection);
            Ok(client)
        })
    }

    /// Reads rows of text past the proxies.
    pub(super) fn rows(&self, client: &Client, sql: &str) -> anyhow::Result<Vec<Vec<String>>> {
        let rows = self.runtime.block_on(client.query(sql, &[]))?;
        Ok(rows.iter().map(|row| (0..row.len()).map(|column| row.get(column)).collect()).collect())
    }

    /// Runs a statement past the proxies.
    pub(super) fn execute(&self, sql: &str) -> anyhow::Result<()> {
        let client = self.connect()?;
        Ok(self.runtime.block_on(client.batch_execute(sql))?)
    }

    /// Kills the server and starts it again.
    pub(super) fn crash(&self) -> anyhow::Result<()> {
        self.cluster.kill()?;
        self.cluster.restart()
    }

    /// Ends sessions of the database from outside, and returns how many.
    pub(super) fn terminate(&self, sessions: u64) -> anyhow::Result<usize> {
        let sql = format!(
            "SELECT CAST(pg_terminate_backend(pid) AS TEXT) FROM (SELECT pid FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT {sessions}) AS chosen"
        );
        let client = self.connect()?;
        Ok(self.rows(&client, &sql)?.len())
    }
}
