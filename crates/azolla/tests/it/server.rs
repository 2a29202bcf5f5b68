//! A running `azolla up`, and requests to it byte by byte.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::world::World;

/// A running server, ended when it is dropped.
pub(crate) struct Server<'a> {
    world: &'a World,
    child: Child,
    /// Where it listens, such as `127.0.0.1:40001`.
    pub(crate) address: String,
    /// What it printed before it was ready.
    pub(crate) said: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns a header, which has to be there once.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut found = self.head.lines().filter_map(|line| line.split_once(": "));
        found.find(|(key, _)| key.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    /// Returns the code of the error that it is.
    pub(crate) fn error(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/json", "{self:?}");
        (self.status, self.json()["error"]["code"].as_str().unwrap().to_owned())
    }
}

impl<'a> Server<'a> {
    /// Starts the server of a home on any port.
    pub(crate) fn start(world: &'a World) -> Self {
        Self::start_with(world, &["up", "--listen", "127.0.0.1:0", "--roles", "http"])
    }

    pub(crate) fn start_with(world: &'a World, arguments: &[&str]) -> Self {
        Self::start_with_variables(world, arguments, &[])
    }

    pub(crate) fn start_with_variables(
        world: &'a World,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = world.command(&world.path(""), arguments);
        command.envs(variables.iter().copied());
        Self::started(world, command)
    }

    /// Starts the server of a home in a directory.
    pub(crate) fn start_in(world: &'a World, directory: &Path) -> Self {
        let arguments = ["up", "--listen", "127.0.0.1:0", "--roles", "http"];
        Self::started(world, world.command(directory, &arguments))
    }

    fn started(world: &'a World, mut command: Command) -> Self {
        command.env("AZOLLA_HOME", world.home());
        let log = File::create(world.path("up.log")).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = String::new();
        let mut address = String::new();
        for line in lines.by_ref() {
            let line = line.unwrap();
            if let Some((_, at)) = line.strip_prefix("listens at ").and_then(|url| url.split_once("://")) {
                address = at.to_owned();
            }
            said.push_str(&format!("{line}\n"));
            if line.contains("Ctrl-C") {
                break;
            }
        }
        assert!(!address.is_empty() || said.contains("Ctrl-C"), "{}", world.log());
        Self { world, child, address, said }
    }

    /// Sends exactly these bytes and reads until the server closes.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect();
        // A server that has seen enough closes before it has read all.
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a request with these header lines; `Host` and the rest of what is needed is added.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|line| line.to_ascii_lowercase().starts_with("host:")) {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
            if !headers.iter().any(|line| line.to_ascii_lowercase().starts_with("content-type:")) {
                head.push_str("Content-Type: application/json\r\n");
            }
        }
        for line in headers {
            head.push_str(&format!("{line}\r\n"));
        }
        self.raw(format!("{head}\r\n{body}").as_bytes())
    }

    /// Sends a request as the operator.
    pub(crate) fn operator(&self, method: &str, path: &str, body: &str) -> Reply {
        let token = format!("Authorization: Bearer {}", self.world.operator_token());
        self.send(method, path, &[&token], body)
    }

    /// Sends a query with a peer's token.
    pub(crate) fn ask(&self, token: &str, query: &Value) -> Reply {
        let path = format!("/v1/azollas/{}/substrate/query", query["target_azolla_id"].as_str().unwrap());
        let token = format!("Authorization: Bearer {token}");
        self.send("POST", &path, &[&token], &query.to_string())
    }

    /// Returns one value of `/metrics`.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let metrics = self.send("GET", "/metrics", &[], "").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0, |value| value.parse().unwrap())
    }

    /// Ends it as a person would, and returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl World {
    pub(crate) fn operator_token(&self) -> String {
        std::fs::read_to_string(self.home().join("operator.token")).unwrap().trim().to_owned()
    }

    /// What the server wrote to stderr.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("up.log")).unwrap()
    }
}

/// Reads an answer until the connection is closed.
pub(crate) fn read(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    // What came before a reset counts.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Reply { status, head: head.replace("\r\n", "\n"), body: body.to_owned() }
}

/// A query that is made now.
pub(crate) fn query(id: &str, source: &str, target: &str, artifact_type: &str, filter: Value) -> Value {
    use azolla_protocol::Clock;
    json!({"query_id": format!("qry-{id}"), "source_azolla_id": source, "target_azolla_id": target,
           "artifact_type": artifact_type, "filter": filter,
           "created_at": azolla_substrate::SystemClock.now().to_string()})
}
