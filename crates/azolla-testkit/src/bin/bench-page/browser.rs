//! A running `azolla up`, and an operator's browser as far as HTTP shows it: a session, and requests with a clock.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

use crate::home::Home;

/// The server of a home with a session of the operator; it ends when this is dropped.
pub(crate) struct Browser {
    server: Child,
    address: String,
    cookie: String,
}

/// An answer.
pub(crate) struct Answer {
    /// The milliseconds from the first byte of the request to the first byte of the answer.
    pub(crate) first_byte: f64,
    status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns what the values of an attribute are, as far as they lead to this server.
    pub(crate) fn leads_to(&self, attribute: &str) -> Vec<String> {
        let begins = format!(" {attribute}=\"/");
        let paths = self.body.split(&begins).skip(1).filter_map(|rest| rest.split_once('"'));
        paths.map(|(path, _)| format!("/{}", path.replace("&amp;", "&"))).collect()
    }
}

impl Browser {
    /// Starts the server of a home and begins a session.
    pub(crate) fn open(home: &Home) -> anyhow::Result<Self> {
        let mut command = home.command(&["up", "--listen", "127.0.0.1:0", "--roles", "http"]);
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = server.stdout.take().context("stdout is piped")?;
        let mut browser = Self { server, address: String::new(), cookie: String::new() };
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            if let Some(url) = line.strip_prefix("listens at http://") {
                browser.address = url.to_owned();
            }
            if line.contains("Ctrl-C") {
                break;
            }
        }
        ensure!(!browser.address.is_empty(), "the server did not start");
        browser.log_in(&std::fs::read_to_string(home.path().join("operator.token"))?)?;
        Ok(browser)
    }

    fn log_in(&mut self, token: &str) -> anyhow::Result<()> {
        let form = format!("token={}", token.trim());
        let more = format!(
            "Origin: http://{}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
            self.address,
            form.len()
        );
        let answer = self.send(&format!("POST /login HTTP/1.1\r\n{more}"), &form)?;
        let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
        let refused = || format!("no session was begun: {} {}", answer.status, answer.body);
        self.cookie = cookie.with_context(refused)?.to_owned();
        Ok(())
    }

    /// Loads a page, or what a page needs.
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Answer> {
        let answer = self.send(&format!("GET {path} HTTP/1.1\r\nCookie: {}\r\n", self.cookie), "")?;
        ensure!(answer.status == 200, "{path}: {}\n{}", answer.head, answer.body);
        Ok(answer)
    }

    fn send(&self, head: &str, body: &str) -> anyhow::Result<Answer> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let request = format!("{head}Host: {}\r\nConnection: close\r\n\r\n{body}", self.address);
        let mut bytes = vec![0; 64 * 1024];
        let start = Instant::now();
        stream.write_all(request.as_bytes())?;
        let count = stream.read(&mut bytes)?;
        let first_byte = start.elapsed().as_secs_f64() * 1e3;
        bytes.truncate(count);
        stream.read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes)?;
        let (head, body) = text.split_once("\r\n\r\n").context("an answer has a head")?;
        let status = head.split(' ').nth(1).context("an answer has a status")?.parse()?;
        Ok(Answer { first_byte, status, head: head.to_owned(), body: body.to_owned() })
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
