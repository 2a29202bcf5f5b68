//! A small server that speaks chat completions and Anthropic Messages: each connection gets one reply, byte by byte as a
//! test says, and what was asked is kept.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

use serde_json::json;

/// The two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    OpenAi,
    Anthropic,
}

pub(crate) const KINDS: [Kind; 2] = [Kind::OpenAi, Kind::Anthropic];

impl Kind {
    /// Its name in the configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// A stream with this text, which 35 tokens were sent for and which has 7.
    pub(crate) fn says(self, text: &str) -> Reply {
        let body = match self {
            Self::OpenAi => {
                let delta = json!({"model": "m-1", "choices": [{"index": 0, "delta": {"content": text}}]});
                let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
                let usage = json!({"choices": [], "usage": {"prompt_tokens": 35, "completion_tokens": 7}});
                format!("data: {delta}\n\ndata: {finish}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
            }
            Self::Anthropic => {
                let events = [
                    json!({"type": "message_start", "message":
                           {"model": "m-1", "usage": {"input_tokens": 35, "output_tokens": 1}}}),
                    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
                    json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}),
                    json!({"type": "message_stop"}),
                ];
                let line = |event: &serde_json::Value| {
                    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
                };
                events.iter().map(line).collect()
            }
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        Reply::Bytes(format!("{head}{body}").into_bytes())
    }
}

/// What a connection gets once its request was read.
#[derive(Clone)]
pub(crate) enum Reply {
    /// These bytes, and its end.
    Bytes(Vec<u8>),
    /// Nothing, while the server is there.
    Silence,
}

impl Reply {
    /// An answer with a status, further header lines and a document.
    pub(crate) fn status(code: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {code} Status\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             connection: close\r\n{headers}\r\n"
        );
        Self::Bytes(format!("{head}{body}").into_bytes())
    }
}

struct State {
    replies: Vec<Reply>,
    /// Head and body of each request.
    asked: Vec<String>,
    /// Connections that get nothing.
    silent: Vec<TcpStream>,
}

/// A server on this machine. Its last reply is given again and again.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Server {
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { replies, asked: Vec::new(), silent: Vec::new() };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let served = Arc::clone(&shared);
        // It ends with the test's process: a connection that nobody makes does no harm.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&served);
                thread::spawn(move || serve(stream.unwrap(), &shared));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Gives other replies from now on.
    pub(crate) fn reply(&self, replies: Vec<Reply>) {
        self.shared.0.lock().unwrap().replies = replies;
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.0.lock().unwrap().asked.clone()
    }

    /// Waits for so many requests in all.
    pub(crate) fn until_asked(&self, count: usize) {
        let (state, changed) = &*self.shared;
        let few = |state: &mut State| state.asked.len() < count;
        let (_state, late) =
            changed.wait_timeout_while(state.lock().unwrap(), Duration::from_secs(60), few).unwrap();
        assert!(!late.timed_out(), "there was no request {count}");
    }

    /// The section of a provider that asks this server. `more` is put at its end.
    pub(crate) fn section(&self, name: &str, kind: Kind, more: &str) -> String {
        let path = if kind == Kind::OpenAi { "/v1" } else { "" };
        format!(
            "[provider.{name}]\nkind = \"{}\"\nmodel = \"m-1\"\nbase_url = \"http://{}{path}\"\n{more}\n",
            kind.name(),
            self.address
        )
    }
}

fn serve(mut stream: TcpStream, shared: &(Mutex<State>, Condvar)) {
    let Some(asked) = request(&mut stream) else { return };
    let (state, changed) = shared;
    let reply = {
        let mut state = state.lock().unwrap();
        state.asked.push(asked);
        changed.notify_all();
        if state.replies.len() > 1 { state.replies.remove(0) } else { state.replies[0].clone() }
    };
    match reply {
        // Who asked may be gone: that is its business.
        Reply::Bytes(bytes) => drop(stream.write_all(&bytes)),
        Reply::Silence => state.lock().unwrap().silent.push(stream),
    }
}

/// Reads one whole request; none if the other side ended before.
fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut some = [0; 16 * 1024];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
            });
            if bytes.len() >= head.len() + 4 + length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut some) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&some[..count]),
        }
    }
}
