//! A loopback TCP proxy in front of PostgreSQL that loses answers, requests and whole connections on order, and has
//! the server refuse a statement.
//!
//! It reads the framing of the wire protocol, so that a fault hits a chosen statement and not a chosen byte
//! (C-9: the outcome of a commit is unknown when the connection is cut).

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::config::Host;

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// A TCP address.
    Tcp(SocketAddr),
    /// The path of a socket file.
    Unix(PathBuf),
}

impl From<SocketAddr> for Upstream {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<&Path> for Upstream {
    fn from(path: &Path) -> Self {
        Self::Unix(path.to_owned())
    }
}

impl Upstream {
    /// Returns where the server of a `postgres://` address listens.
    pub fn of(url: &str) -> anyhow::Result<Self> {
        let config: tokio_postgres::Config = url.parse().context("the address of a PostgreSQL server")?;
        let port = config.get_ports().first().copied().unwrap_or(5432);
        match config.get_hosts().first() {
            Some(Host::Unix(directory)) => Ok(Self::Unix(directory.join(format!(".s.PGSQL.{port}")))),
            Some(Host::Tcp(host)) if host == "localhost" => Ok(Self::Tcp(([127, 0, 0, 1], port).into())),
            Some(Host::Tcp(host)) => Ok(Self::Tcp((host.parse::<std::net::IpAddr>()?, port).into())),
            None => bail!("{url} names no host"),
        }
    }
}

/// A running proxy. Its connections end with the value.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy on a free port of the loopback interface, on the runtime of the caller.
    pub async fn start(upstream: impl Into<Upstream>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("binding a loopback port")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let accepting = tokio::spawn(accept(listener, upstream.into(), Arc::clone(&shared)));
        Ok(Self { address, shared, accepting })
    }

    /// Returns the address to connect to in place of the server's.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the `postgres://` address `direct` with the server replaced by this proxy.
    pub fn url(&self, direct: &str) -> anyhow::Result<String> {
        let (scheme, rest) = direct.split_once("://").context("not of the form postgres://…")?;
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let user = authority.rsplit_once('@').map(|(user, _)| format!("{user}@")).unwrap_or_default();
        Ok(format!("{scheme}://{user}{}/{database}?sslmode=disable", self.address))
    }

    /// Loses the answer to the next COMMIT: the server gets it and answers, then both connections are cut
    /// and the client has nothing. Once; connections made afterwards work.
    pub fn cut_after_commit(&self) {
        self.arm(Statement::Commit, Fault::LoseAnswer);
    }

    /// Loses the next COMMIT itself: both connections are cut and the server never sees it. Once.
    pub fn cut_before_commit(&self) {
        self.arm(Statement::Commit, Fault::LoseRequest);
    }

    /// Loses the answer to the next statement whose text contains `part`: for a statement that commits by
    /// itself. Once.
    pub fn cut_after(&self, part: &str) {
        self.arm(Statement::Containing(part.to_owned()), Fault::LoseAnswer);
    }

    /// Loses the next statement whose text contains `part`. Once.
    pub fn cut_before(&self, part: &str) {
        self.arm(Statement::Containing(part.to_owned()), Fault::LoseRequest);
    }

    /// Has the server answer the next statement that is sent as text and contains `part` with an ERROR, before it
    /// does anything, as it does to one that is cancelled or gets no memory. The session goes on. Once.
    pub fn refuse(&self, part: &str) {
        self.arm(Statement::SentAsText(part.to_owned()), Fault::Refuse);
    }

    /// Delivers nothing more in either direction, on old and new connections, and keeps them open: a
    /// partition of the network.
    pub fn black_hole(&self) {
        self.shared.black_hole.send_replace(true);
    }

    /// Ends the black hole, with what was held back delivered, and disarms a fault that has not happened.
    pub fn restore(&self) {
        self.lock_armed().take();
        self.shared.black_hole.send_replace(false);
    }

    /// Delays every answer, as a network does. Then what a client sends without waiting arrives before the first
    /// answer leaves, however its writes are cut up, and round trips count exactly.
    pub fn delay(&self, delay: Duration) {
        self.shared.delay_ms.store(delay.as_millis() as u64, Ordering::SeqCst);
    }

    /// Returns how often a client asked and waited for the answer, over all connections so far. Statements that
    /// are sent together are one round trip; opening a connection is none.
    pub fn round_trips(&self) -> u64 {
        self.shared.round_trips.load(Ordering::SeqCst)
    }

    /// Returns what the server said in the answers that were lost: the tag of each completed statement
    /// (`COMMIT`), or `ERROR`. A test asserts on it, for a cut that never happened proves nothing.
    pub fn lost_answers(&self) -> Vec<String> {
        lock(&self.shared.lost).clone()
    }

    /// Returns how many connections were cut.
    pub fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    fn arm(&self, statement: Statement, fault: Fault) {
        *self.lock_armed() = Some((statement, fault));
    }

    fn lock_armed(&self) -> MutexGuard<'_, Option<(Statement, Fault)>> {
        lock(&self.shared.armed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

#[derive(Debug, Default)]
struct Shared {
    black_hole: watch::Sender<bool>,
    armed: Mutex<Option<(Statement, Fault)>>,
    round_trips: AtomicU64,
    delay_ms: AtomicU64,
    cuts: AtomicU64,
    lost: Mutex<Vec<String>>,
}

impl Shared {
    /// Takes the armed fault if `text`, which a message of this kind runs, is the statement that it waits for.
    fn fault_at(&self, kind: u8, text: &str) -> Option<Fault> {
        lock(&self.armed).take_if(|(statement, _)| statement.is(kind, text)).map(|(_, fault)| fault)
    }

    async fn wait_as_a_network_would(&self) {
        let delay = Duration::from_millis(self.delay_ms.load(Ordering::SeqCst));
        if !delay.is_zero() {
            let _ = tokio::time::timeout(delay, std::future::pending::<()>()).await;
        }
    }

    async fn until_delivering(&self) {
        // An error means that the sender is gone, and it lives in `self`.
        drop(self.black_hole.subscribe().wait_for(|black_hole| !black_hole).await);
    }
}

/// What happens to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    LoseAnswer,
    LoseRequest,
    Refuse,
}

#[derive(Debug)]
enum Statement {
    Commit,
    Containing(String),
    SentAsText(String),
}

impl Statement {
    fn is(&self, kind: u8, text: &str) -> bool {
        match self {
            Self::Commit => commits(text),
            Self::Containing(part) => text.contains(part.as_str()),
            Self::SentAsText(part) => kind == QUERY && text.contains(part.as_str()),
        }
    }
}

/// Whether the last statement of a text is a COMMIT, in one of its spellings.
fn commits(text: &str) -> bool {
    let last = text.split(';').map(str::trim).rfind(|statement| !statement.is_empty());
    let verb = last.and_then(|statement| statement.split_whitespace().next()).unwrap_or_default();
    verb.eq_ignore_ascii_case("COMMIT") || verb.eq_ignore_ascii_case("END")
}

async fn accept(listener: TcpListener, upstream: Upstream, shared: Arc<Shared>) {
    // Its connections end with it, when the proxy aborts this task.
    let mut links = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while links.try_join_next().is_some() {}
        let (upstream, shared) = (upstream.clone(), Arc::clone(&shared));
        // An error of a connection is one that its client sees as well: the connection closes.
        links.spawn(async move { link(client, upstream, shared).await.unwrap_or_default() });
    }
}

async fn link(client: TcpStream, upstream: Upstream, shared: Arc<Shared>) -> io::Result<()> {
    client.set_nodelay(true)?;
    match upstream {
        Upstream::Tcp(address) => {
            let server = TcpStream::connect(address).await?;
            server.set_nodelay(true)?;
            pump(client, server, shared).await
        }
        Upstream::Unix(path) => pump(client, UnixStream::connect(path).await?, shared).await,
    }
}

/// Forwards both ways until one side closes or the connection is cut; dropping the sockets closes both.
async fn pump(
    client: TcpStream,
    server: impl AsyncRead + AsyncWrite + Unpin,
    shared: Arc<Shared>,
) -> io::Result<()> {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = tokio::io::split(server);
    let link = Link { shared: &shared, progress: Mutex::default() };
    let end = tokio::select! {
        end = link.requests(from_client, to_server) => end?,
        end = link.answers(from_server, to_client) => end?,
    };
    if matches!(end, End::Cut) {
        shared.cuts.fetch_add(1, Ordering::SeqCst);
    }
    Ok(())
}

enum End {
    Closed,
    Cut,
}

/// One client's connection and its counterpart to the server.
struct Link<'a> {
    shared: &'a Shared,
    progress: Mutex<Progress>,
}

/// How far a connection is. The server closes each group of requests with one ReadyForQuery, so counting
/// groups on one side and ReadyForQuery on the other tells which request an answer belongs to.
#[derive(Default)]
struct Progress {
    groups_asked: u64,
    groups_answered: u64,
    /// The group whose answer is lost.
    lost_group: Option<u64>,
    groups_delivered: u64,
    /// Up to which group a round trip has been counted.
    groups_counted: u64,
}

impl Link<'_> {
    /// A round trip begins when a client that has all its answers asks again. What it sends before the next answer
    /// belongs to the same one. Wake-ups between processes are nobody's wait, so they are not counted.
    fn count_round_trip(&self, statement: Option<&str>) {
        let mut progress = lock(&self.progress);
        let begins = progress.groups_asked == progress.groups_delivered
            && progress.groups_counted <= progress.groups_asked
            && statement.is_some_and(|text| !text.contains("pg_notify"));
        if begins {
            progress.groups_counted = progress.groups_asked + 1;
            self.shared.round_trips.fetch_add(1, Ordering::SeqCst);
        }
    }

    async fn requests(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> io::Result<End> {
        let mut reader = Requests::default();
        let mut prepared = HashMap::new();
        while let Some(messages) = reader.0.more(&mut from).await? {
            self.shared.until_delivering().await;
            let mut delivered = Vec::new();
            for mut message in messages {
                let statement = message.statement(&mut prepared);
                self.count_round_trip(statement.as_deref());
                let fault = statement.and_then(|text| self.shared.fault_at(message.kind, &text));
                if fault == Some(Fault::LoseRequest) {
                    to.write_all(&delivered).await?;
                    return Ok(End::Cut);
                }
                if fault == Some(Fault::Refuse) {
                    message.spoil();
                }
                let mut progress = lock(&self.progress);
                if fault == Some(Fault::LoseAnswer) {
                    // A Query and a Bind are answered by the ReadyForQuery of the group they are in.
                    progress.lost_group = Some(progress.groups_asked + 1);
                }
                progress.groups_asked += u64::from(message.ends_group());
                drop(progress);
                delivered.extend_from_slice(&message.bytes);
            }
            to.write_all(&delivered).await?;
            to.flush().await?;
        }
        Ok(End::Closed)
    }

    async fn answers(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> io::Result<End> {
        let mut reader = Reader { typed: true, pending: Vec::new() };
        while let Some(messages) = reader.more(&mut from).await? {
            self.shared.until_delivering().await;
            let mut delivered = Vec::new();
            let mut cut = false;
            for message in messages {
                let mut progress = lock(&self.progress);
                let lost = progress.lost_group == Some(progress.groups_answered + 1);
                if message.kind == READY_FOR_QUERY {
                    progress.groups_answered += 1;
                    cut |= lost;
                }
                drop(progress);
                if lost {
                    lock(&self.shared.lost).extend(message.outcome());
                } else {
                    delivered.extend_from_slice(&message.bytes);
                }
            }
            self.shared.wait_as_a_network_would().await;
            {
                let mut progress = lock(&self.progress);
                progress.groups_delivered = progress.groups_answered;
            }
            to.write_all(&delivered).await?;
            to.flush().await?;
            if cut {
                return Ok(End::Cut);
            }
        }
        Ok(End::Closed)
    }
}

const STARTUP: u8 = 0;
const QUERY: u8 = b'Q';
const PARSE: u8 = b'P';
const BIND: u8 = b'B';
const SYNC: u8 = b'S';
const COMMAND_COMPLETE: u8 = b'C';
const ERROR_RESPONSE: u8 = b'E';
const READY_FOR_QUERY: u8 = b'Z';

/// One message of the wire protocol: a type byte, then a length that counts itself, then the body. The first
/// message of a client has no type byte.
#[derive(Debug)]
struct Message {
    kind: u8,
    bytes: Vec<u8>,
}

impl Message {
    /// Returns the fields of the body, each of which ends with a zero byte in the messages read here.
    fn fields(&self) -> impl Iterator<Item = String> {
        let body = self.bytes.get(5..).unwrap_or_default();
        body.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned())
    }

    /// Returns the text of the statement that this request runs, and notes those that it prepares: a Parse
    /// runs nothing yet.
    fn statement(&self, prepared: &mut HashMap<String, String>) -> Option<String> {
        let mut fields = self.fields();
        match self.kind {
            QUERY => fields.next(),
            PARSE => {
                let (name, text) = (fields.next()?, fields.next()?);
                prepared.insert(name, text);
                None
            }
            BIND => {
                let (_portal, name) = (fields.next()?, fields.next()?);
                prepared.get(&name).cloned()
            }
            _ => None,
        }
    }

    /// Makes the text of a Query something that is no SQL.
    fn spoil(&mut self) {
        if let Some(first) = self.bytes.get_mut(5) {
            *first = b'?';
        }
    }

    /// Whether the server answers this request with a ReadyForQuery.
    fn ends_group(&self) -> bool {
        matches!(self.kind, STARTUP | QUERY | SYNC)
    }

    /// Returns what an answer says about a statement's outcome.
    fn outcome(&self) -> Option<String> {
        match self.kind {
            COMMAND_COMPLETE => self.fields().next(),
            ERROR_RESPONSE => Some("ERROR".to_owned()),
            _ => None,
        }
    }
}

/// Cuts a stream of bytes into messages.
struct Reader {
    /// Whether the next message has a type byte.
    typed: bool,
    pending: Vec<u8>,
}

/// The reader of a client's side, which opens without a type byte.
struct Requests(Reader);

impl Default for Requests {
    fn default() -> Self {
        Self(Reader { typed: false, pending: Vec::new() })
    }
}

impl Reader {
    /// Returns the next complete messages, at least one, or nothing at the end of the stream.
    async fn more(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Vec<Message>>> {
        loop {
            let mut messages = Vec::new();
            while let Some(message) = self.take()? {
                messages.push(message);
            }
            if !messages.is_empty() {
                return Ok(Some(messages));
            }
            if from.read_buf(&mut self.pending).await? == 0 {
                return Ok(None);
            }
        }
    }

    fn take(&mut self) -> io::Result<Option<Message>> {
        let prefix = usize::from(self.typed);
        let Some(length) = self.pending.get(prefix..prefix + 4) else { return Ok(None) };
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
        if length < 4 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not the protocol of PostgreSQL"));
        }
        if self.pending.len() < prefix + length {
            return Ok(None);
        }
        let rest = self.pending.split_off(prefix + length);
        let bytes = std::mem::replace(&mut self.pending, rest);
        let kind = if self.typed { bytes[0] } else { STARTUP };
        self.typed = true;
        Ok(Some(Message { kind, bytes }))
    }
}

/// Locks; a panic of another test's assertion under the lock leaves the plain values behind it usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_by_the_last_statement() {
        for text in ["COMMIT", "commit;", " END ", "INSERT INTO t VALUES (1); COMMIT ;", "COMMIT AND CHAIN"] {
            assert!(commits(text), "{text}");
        }
        for text in ["", ";", "BEGIN", "SELECT 'COMMIT'", "COMMIT; BEGIN", "COMMITS"] {
            assert!(!commits(text), "{text}");
        }
    }

    #[test]
    fn messages_are_cut_wherever_the_stream_is() {
        let stream = [&[0, 0, 0, 6, 1, 2][..], b"Q\0\0\0\x0bCOMMIT\0", b"S\0\0\0\x04"].concat();
        for split in 0..=stream.len() {
            let mut reader = Requests::default().0;
            let mut kinds = Vec::new();
            for part in [&stream[..split], &stream[split..]] {
                reader.pending.extend_from_slice(part);
                while let Some(message) = reader.take().unwrap() {
                    kinds.push(message.kind);
                }
            }
            assert_eq!(kinds, [STARTUP, QUERY, SYNC], "split at {split}");
        }
    }

    #[test]
    fn a_prepared_statement_runs_when_it_is_bound() {
        let mut prepared = HashMap::new();
        let message = |kind, body: &[u8]| Message { kind, bytes: [&[kind, 0, 0, 0, 0], body].concat() };
        assert_eq!(message(PARSE, b"s1\0COMMIT\0\0\0").statement(&mut prepared), None);
        assert_eq!(message(BIND, b"\0s1\0\0\0").statement(&mut prepared).as_deref(), Some("COMMIT"));
        assert_eq!(message(BIND, b"\0s2\0\0\0").statement(&mut prepared), None);
    }
}
