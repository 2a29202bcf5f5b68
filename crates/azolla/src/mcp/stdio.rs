//! MCP over stdin and stdout. Both are pumped by threads of their own: whatever they are (a pipe, a socket, a terminal), a
//! read or a write that never returns holds nothing up when the program is asked to end.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream as StdStream,
    time::Duration,
};

use anyhow::Context;
use rmcp::{serve_server, service::ServerInitializeError};
use tokio::{
    net::UnixStream,
    sync::{oneshot, watch},
    time::timeout,
};

use super::Server;
use crate::failure::Failure;

/// How long the last answers may take to be read by a client that has closed its end, and where we are to stop.
const LAST_ANSWERS_LIMIT: Duration = Duration::from_secs(5);
const STOP_LIMIT: Duration = Duration::from_secs(1);

/// Answers the client at stdin until it closes that, or until the program is asked to stop.
pub(crate) async fn serve(server: Server, mut stopping: watch::Receiver<bool>) -> anyhow::Result<()> {
    let input = input().context("stdin cannot be read")?;
    let (output, written) = output().context("stdout cannot be written")?;
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

/// Returns what comes from stdin.
fn input() -> std::io::Result<UnixStream> {
    let (inside, mut outside) = pair()?;
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // Either end may close; with this one's, the other sees the end.
        let _ = pump(&mut std::io::stdin().lock(), &mut outside);
    })?;
    Ok(inside)
}

/// Returns what goes to stdout, and what tells that all of it has.
fn output() -> std::io::Result<(UnixStream, oneshot::Receiver<()>)> {
    let (inside, mut outside) = pair()?;
    let (done, written) = oneshot::channel();
    std::thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        let _ = pump(&mut outside, &mut std::io::stdout().lock());
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
fn pump(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&buffer[..count])?;
        to.flush()?;
    }
}
