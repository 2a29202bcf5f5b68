//! Azollas of other machines, as far as HTTP shows them: each listens on a port of its own and answers after a while.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context;
use azolla_protocol::{AzollaId, Timestamp};
use azolla_testkit::cycle;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Peers that answer.
pub(crate) struct Servers {
    /// Each with its address, the slowest first.
    pub(crate) peers: Vec<(AzollaId, String)>,
    questions: Arc<Mutex<Vec<Question>>>,
    tasks: Vec<JoinHandle<()>>,
}

/// One question about pause_states: an orientation has one for each peer.
#[derive(Clone, Copy)]
pub(crate) struct Question {
    asked: Instant,
    answered: Instant,
}

impl Servers {
    /// Starts `count` of them. The slowest takes `slowest`, the others between a third of that and all of it.
    pub(crate) async fn start(count: usize, slowest: Duration) -> anyhow::Result<Self> {
        let questions = Arc::new(Mutex::new(Vec::new()));
        let (mut peers, mut tasks) = (Vec::new(), Vec::new());
        for number in 0..count {
            let id = AzollaId::new(format!("az-peer-{number:03}"))?;
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let time = slowest - slowest * 2 / 3 * u32::try_from(number % 10)? / 10;
            peers.push((id.clone(), format!("http://{}", listener.local_addr()?)));
            tasks.push(tokio::spawn(listen(listener, id, time, questions.clone())));
        }
        Ok(Self { peers, questions, tasks })
    }

    /// Returns, since the last time: from the first question to the last answer, and the longest single answer.
    pub(crate) fn span(&self) -> anyhow::Result<(usize, Duration, Duration)> {
        let questions = std::mem::take(&mut *self.questions.lock().unwrap_or_else(PoisonError::into_inner));
        let first = questions.iter().map(|question| question.asked).min().context("nobody asked")?;
        let last = questions.iter().map(|question| question.answered).max().context("nobody asked")?;
        let longest = questions.iter().map(|question| question.answered - question.asked).max();
        Ok((questions.len(), last - first, longest.unwrap_or_default()))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn listen(listener: TcpListener, id: AzollaId, time: Duration, questions: Arc<Mutex<Vec<Question>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (id, questions) = (id.clone(), questions.clone());
        // A connection that breaks off is the program's to tell.
        tokio::spawn(async move { answer(stream, &id, time, &questions).await });
    }
}

async fn answer(
    mut stream: TcpStream,
    id: &AzollaId,
    time: Duration,
    questions: &Mutex<Vec<Question>>,
) -> anyhow::Result<()> {
    let query = read(&mut stream).await?;
    let asked = Instant::now();
    tokio::time::timeout(time, std::future::pending::<()>()).await.unwrap_or_default();
    let body = response(id, &query)?.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await?;
    if query["artifact_type"] == "pause_state" {
        let answered = Instant::now();
        questions.lock().unwrap_or_else(PoisonError::into_inner).push(Question { asked, answered });
    }
    stream.shutdown().await?;
    Ok(())
}

/// Reads a request to its end and returns its body.
async fn read(stream: &mut TcpStream) -> anyhow::Result<Value> {
    let mut bytes = Vec::new();
    loop {
        anyhow::ensure!(stream.read_buf(&mut bytes).await? > 0, "the request was cut off");
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.context("a request without a length")?.trim().parse()?;
        if bytes.len() >= end + 4 + length {
            return Ok(serde_json::from_slice(&bytes[end + 4..])?);
        }
    }
}

/// What an azolla with one objective that waits for a yes says.
fn response(id: &AzollaId, query: &Value) -> anyhow::Result<Value> {
    let at: Timestamp = "2026-11-14T08:00:00.000Z".parse()?;
    let objective_id = azolla_protocol::ObjectiveId::new(format!("obj-{}", &id.as_str()[3..]))?;
    let results = match (query["artifact_type"].as_str(), query["filter"]["status"].as_str()) {
        (Some("pause_state"), _) => {
            let pause = cycle::pause_state(&objective_id, azolla_protocol::PauseReason::RunComplete, at);
            vec![json!(azolla_protocol::PauseState { azolla_id: id.clone(), ..pause })]
        }
        (_, Some("NEW")) => {
            let objective = cycle::objective(&objective_id, azolla_protocol::ObjectiveStatus::New, at);
            vec![json!(azolla_protocol::Objective { azolla_id: id.clone(), ..objective })]
        }
        _ => Vec::new(),
    };
    Ok(json!({
        "response_id": "rsp-bench", "query_id": query["query_id"], "target_azolla_id": id, "status": "OK",
        "results": results, "created_at": at,
    }))
}
