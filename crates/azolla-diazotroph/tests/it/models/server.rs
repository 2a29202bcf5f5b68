//! A small HTTP server: each connection gets one answer, byte by byte as a test says, and what was asked is kept.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// What the server does, in order, once it has read a request.
#[derive(Clone)]
pub(crate) enum Step {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends bytes one at a time.
    Drip(Vec<u8>),
    /// Sends the same bytes one at a time, again and again, until the other side ends the connection.
    DripOn(Vec<u8>),
    /// Sends the same bytes again and again, up to so many bytes.
    Flood(Vec<u8>, u64),
    /// Ends the connection as if it had been cut.
    Reset,
    /// Keeps the connection open, and says nothing, until the other side ends it.
    Hang,
}

/// All that happens on one connection. Its end closes it.
pub(crate) type Answer = Vec<Step>;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The first line and the headers.
    pub(crate) head: String,
    /// The document.
    pub(crate) body: Value,
}

#[derive(Default)]
struct Seen {
    asked: Mutex<Vec<Asked>>,
    flooded: AtomicU64,
    /// Connections that the other side ended while the server kept them open.
    left: Notify,
}

pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts; connections are answered in order, and those beyond the list like the last.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let task = tokio::spawn(serve(listener, answers, Arc::clone(&seen)));
        Self { address, seen, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.seen.asked.lock().unwrap().clone()
    }

    /// Bytes that were sent by flooding.
    pub(crate) fn flooded(&self) -> u64 {
        self.seen.flooded.load(Ordering::Relaxed)
    }

    /// Waits for the other side to end a connection that is kept open.
    pub(crate) async fn left(&self) {
        self.seen.left.notified().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, answers: Vec<Answer>, seen: Arc<Seen>) {
    for number in 0.. {
        let (stream, _) = listener.accept().await.unwrap();
        let answer = answers[number.min(answers.len() - 1)].clone();
        tokio::spawn(connection(stream, answer, Arc::clone(&seen)));
    }
}

async fn connection(mut stream: TcpStream, answer: Answer, seen: Arc<Seen>) {
    let Some(asked) = request(&mut stream).await else { return };
    seen.asked.lock().unwrap().push(asked);
    for step in answer {
        let done = match step {
            Step::Send(bytes) => stream.write_all(&bytes).await,
            Step::Drip(bytes) => drip(&mut stream, &bytes).await,
            Step::DripOn(bytes) => {
                while drip(&mut stream, &bytes).await.is_ok() {}
                seen.left.notify_one();
                return;
            }
            Step::Flood(unit, total) => flood(&mut stream, &unit, total, &seen).await,
            Step::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
            Step::Hang => {
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest).await;
                seen.left.notify_one();
                return;
            }
        };
        if done.is_err() {
            return;
        }
    }
}

async fn drip(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    for byte in bytes {
        stream.write_all(&[*byte]).await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn flood(stream: &mut TcpStream, unit: &[u8], total: u64, seen: &Seen) -> std::io::Result<()> {
    let many = unit.repeat((64 * 1024 / unit.len()).max(1));
    let mut sent = 0;
    while sent < total {
        stream.write_all(&many).await?;
        sent += many.len() as u64;
        seen.flooded.fetch_add(many.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Reads one request; none if there was not even a whole one.
async fn request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse().unwrap())
        })
        .unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    Some(Asked { head, body })
}

/// An answer with a status and a body of known length.
pub(crate) fn status(code: u16, headers: &str, body: &str) -> Answer {
    let head = format!(
        "HTTP/1.1 {code} Status\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    vec![Step::Send([head.as_bytes(), body.as_bytes()].concat())]
}

/// The head of a stream that ends with its connection.
pub(crate) fn head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec()
}

/// A stream with this body.
pub(crate) fn stream(body: impl AsRef<[u8]>) -> Answer {
    vec![Step::Send([head().as_slice(), body.as_ref()].concat())]
}

/// A stream with this body, after which more happens.
pub(crate) fn stream_then(body: impl AsRef<[u8]>, then: Step) -> Answer {
    let mut answer = stream(body);
    answer.push(then);
    answer
}
