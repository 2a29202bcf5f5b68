//! MCP over stdin and stdout, a message a line. Both are pumped by threads of their own: whatever they are (a pipe, a socket, a terminal), a
//! read or a write that never returns holds nothing up when the program is asked to end.

use std::{
    io::{BufRead, Read, Stdout, Write},
    os::unix::net::UnixStream as StdStream,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use rmcp::{serve_server, service::ServerInitializeError};
use tokio::{
    net::UnixStream,
    sync::{oneshot, watch},
    time::timeout,
};

use super::{
    Server,
    message::{is_json, no_message},
};
use crate::failure::Failure;

/// How long the last answers may take to be read by a client that has closed its end, and where we are to stop.
const LAST_ANSWERS_LIMIT: Duration = Duration::from_secs(5);
const STOP_LIMIT: Duration = Duration::from_secs(1);

/// Answers the client at stdin until it closes that, or until the program is asked to stop.
pub(crate) async fn serve(server: Server, mut stopping: watch::Receiver<bool>) -> anyhow::Result<()> {
    let lines = Arc::new(Mutex::new(Lines::new()));
    let input = input(lines.clone()).context("stdin cannot be read")?;
    let (output, written) = output(lines).context("stdout cannot be written")?;
    let (ended, limit) = tokio::select! {
        ended = answer(server, input, output) => (ended, LAST_ANSWERS_LIMIT),
        _ = stopping.wait_for(|stopping| *stopping) => (Ok(()), STOP_LIMIT),
    };
    // Everything that was answered is on its way; the thread ends when it is through.
    let _ = timeout(limit, written).await;
    ended
}

async fn answer(server: Server, input: UnixStream, output: UnixStream) -> anyhow::Result<()> {
    match serve_server(server, (input, output)).await {
        Ok(running) => {
            running.waiting().await?;
            Ok(())
        }
        // Nobody asked anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Failure::usage(format!("what came on stdin is not how MCP begins: {error}"))
            .hint("an MCP client starts this program; to set one up: azolla mcp install")
            .into()),
    }
}

/// Returns what comes from stdin. A line that is no JSON is answered here, for nobody else knows whom it was meant for.
fn input(output: Arc<Mutex<Lines>>) -> std::io::Result<UnixStream> {
    let (inside, mut outside) = pair()?;
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // Either end may close; with this one's, the other sees the end.
        let _ = take(&mut std::io::stdin().lock(), &mut outside, &output);
    })?;
    Ok(inside)
}

/// Passes on the lines that are JSON, and answers the others. One that is longer than any message is passed on in parts:
/// it is refused where messages are read.
fn take(from: &mut impl BufRead, to: &mut impl Write, output: &Mutex<Lines>) -> std::io::Result<()> {
    const LINE_BYTES_MAX: u64 = 8 << 20;
    let (mut line, mut was_open) = (Vec::new(), false);
    loop {
        line.clear();
        if from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let is_ended = line.last() == Some(&b'\n');
        let is_whole = is_ended && !was_open;
        was_open = !is_ended;
        // What is cut off by the end never came.
        match line.trim_ascii() {
            text if is_whole && !text.is_empty() && !is_json(text) => {
                output.lock().unwrap_or_else(PoisonError::into_inner).say(&no_message(text).to_string())?;
            }
            _ => to.write_all(&line)?,
        }
    }
}

/// Stdout, where two may write: answers come in pieces of any size, and what else is said stands between two lines.
struct Lines {
    out: Stdout,
    /// Whether the last line goes on.
    is_open: bool,
    /// What waits for its end.
    unsaid: Vec<u8>,
}

impl Lines {
    fn new() -> Self {
        Self { out: std::io::stdout(), is_open: false, unsaid: Vec::new() }
    }

    fn pass(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.out.write_all(bytes)?;
        self.is_open = bytes.last() != Some(&b'\n');
        self.close()
    }

    fn say(&mut self, line: &str) -> std::io::Result<()> {
        self.unsaid.extend_from_slice(line.as_bytes());
        self.unsaid.push(b'\n');
        self.close()
    }

    fn close(&mut self) -> std::io::Result<()> {
        if !self.is_open {
            self.out.write_all(&std::mem::take(&mut self.unsaid))?;
        }
        self.out.flush()
    }
}

/// Returns what goes to stdout, and what tells that all of it has.
fn output(lines: Arc<Mutex<Lines>>) -> std::io::Result<(UnixStream, oneshot::Receiver<()>)> {
    let (inside, mut outside) = pair()?;
    let (done, written) = oneshot::channel();
    std::thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        let _ = pump(&mut outside, &lines);
        // Whoever waits may be gone.
        let _ = done.send(());
    })?;
    Ok((inside, written))
}

fn pair() -> std::io::Result<(UnixStream, StdStream)> {
    let (inside, outside) = StdStream::pair()?;
    inside.set_nonblocking(true)?;
    Ok((UnixStream::from_std(inside)?, outside))
}

/// Passes on whatever comes as soon as it comes.
fn pump(from: &mut impl Read, to: &Mutex<Lines>) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.lock().unwrap_or_else(PoisonError::into_inner).pass(&buffer[..count])?;
    }
}
