//! What a live page is told, and that the stream ends when it has to.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::visitor::Visitor;
use crate::{server::Server, world::World};

/// A stream, event by event.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(visitor: &Visitor<'_>, path: &str) -> (String, Self) {
        let mut events = Self(BufReader::new(visitor.stream(path)));
        let mut head = String::new();
        loop {
            let line = events.line();
            if line.is_empty() {
                return (head, events);
            }
            head.push_str(&format!("{line}\n"));
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns the next lines up to an empty one, without the marks of the chunks; none at the end.
    fn next(&mut self) -> Option<Vec<String>> {
        let size = usize::from_str_radix(&self.line(), 16).unwrap_or(0);
        if size == 0 {
            return None;
        }
        let mut chunk = vec![0; size];
        self.0.read_exact(&mut chunk).unwrap();
        assert_eq!(self.line(), "");
        let text = String::from_utf8(chunk).unwrap();
        Some(text.trim_end().lines().map(str::to_owned).collect())
    }

    /// Waits for an event of a name, and returns what it says.
    fn wait(&mut self, name: &str) -> Value {
        loop {
            let event = self.next().expect("the stream goes on");
            if event.contains(&format!("event: {name}")) {
                let data = event.iter().find_map(|line| line.strip_prefix("data: ")).unwrap();
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

/// The mark that a page was read at.
fn mark(page: &str) -> String {
    page.split_once("data-mark=\"").unwrap().1.split_once('"').unwrap().0.to_owned()
}

#[test]
fn a_command_in_another_process_is_told_to_a_page() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let page = operator.get("/").body;
    let (head, mut events) = Events::open(&operator, &format!("/events?since={}", mark(&page)));
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.contains("content-type: text/event-stream\n"),
        "{head}"
    );
    assert!(head.contains("cache-control: no-store\n"), "{head}");
    let first = events.next().unwrap();
    assert_eq!(first, ["retry: 1000".to_owned(), format!("id: {}", mark(&page))]);
    assert_eq!(events.wait("step"), json!([]));
    let id = world.objective("Round half up", "it rounds");
    assert_eq!(events.wait("change"), json!({"azolla_id": "az-app"}));
    assert!(operator.get("/objectives").body.contains(&id));
    world.azolla(&["capture", "a note"]).ok();
    assert_eq!(events.wait("change"), json!({"azolla_id": "az-taskmgmt"}));
}

/// A browser that comes again is told what it missed, and nothing where it missed nothing.
#[test]
fn what_changed_before_the_stream_began_is_told_at_its_beginning() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let before = mark(&operator.get("/").body);
    let (_, mut watching) = Events::open(&operator, "/events");
    world.azolla(&["capture", "a note"]).ok();
    assert_eq!(watching.wait("change"), json!({"azolla_id": "az-taskmgmt"}));
    let (_, mut events) = Events::open(&operator, &format!("/events?since={before}"));
    events.next().unwrap();
    let missed: Vec<_> = [events.wait("change"), events.wait("change")].into();
    assert_eq!(missed.len(), 2, "every azolla: the mark does not say which");
    let after = mark(&operator.get("/").body);
    assert_ne!(before, after);
    let (_, mut events) = Events::open(&operator, &format!("/events?since={after}"));
    events.next().unwrap();
    assert!(events.next().unwrap().contains(&"event: step".to_owned()), "nothing was missed");
}

/// A page that says that an azolla is away is told when it is back, although nothing was written since.
#[test]
fn a_store_that_is_back_is_told_to_a_page() {
    let world = World::with_worker("true");
    world.objective("Round half up", "it rounds");
    let (store, aside) = (world.home().join("azollas/az-app.sqlite"), world.path("aside.sqlite"));
    std::fs::rename(&store, &aside).unwrap();
    std::fs::write(&store, "no database").unwrap();
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let page = operator.get("/objectives").body;
    assert!(page.contains("az-app cannot be read"), "{page}");
    let (_, mut events) = Events::open(&operator, &format!("/events?since={}", mark(&page)));
    std::fs::rename(&aside, &store).unwrap();
    assert_eq!(events.wait("change"), json!({"azolla_id": "az-app"}));
    assert!(operator.get("/objectives").body.contains("Round half up"));
}

#[test]
fn the_step_of_a_run_in_this_process_is_told() {
    let world = World::new();
    let app = world.repository("app");
    let go = world.path("go");
    // The worker waits until the test has seen it.
    let script =
        format!("cat > /dev/null; while [ ! -e {} ]; do sleep 0.05; done; echo two >> a.txt\n", go.display());
    let command = format!("sh {}", world.script("worker.sh", &script).display());
    world.azolla_in(&app, &["init", "--provider-command", &command]).ok();
    world.open_to_workers();
    let server = Server::start_with(&world, &["up", "--listen", "127.0.0.1:0"]);
    let operator = Visitor::operator(&world, &server);
    let (_, mut events) = Events::open(&operator, "/events");
    let id = world.objective("Add a line", "it is there");
    let version = operator.version("az-app", &id);
    let said = operator.done("approve", &[("azolla", "az-app"), ("objective", &id), ("version", &version)]);
    assert_eq!(said, format!("{id} is approved"), "nothing has to be typed where it works by itself");
    let step = loop {
        let steps = events.wait("step");
        if let Some(step) =
            steps.as_array().unwrap().iter().find(|step| step["step"] == "the worker is running")
        {
            break step.clone();
        }
    };
    assert_eq!((&step["azolla_id"], &step["objective_id"]), (&json!("az-app"), &json!(id)));
    assert!(step["elapsed_ms"].is_u64() && step["limit_ms"].is_u64(), "{step}");
    std::fs::write(&go, "").unwrap();
    while events.wait("step") != json!([]) {}
    let objective = world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    assert_eq!(objective["status"], "DONE");
    // What one looks at again does not take what the next page tells.
    operator.act("capture", &[("text", "a note")]);
    assert!(!operator.send("GET", "/", &["Azolla-Live: 1"], "").body.contains("the note is kept"));
    assert!(operator.get("/notes").body.contains("the note is kept"));
    assert!(!operator.get("/notes").body.contains("the note is kept"), "once");
}

#[test]
fn a_stream_ends_with_the_server_at_once() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let mut streams: Vec<_> = (0..3).map(|_| Events::open(&operator, "/events").1).collect();
    for events in &mut streams {
        events.wait("step");
    }
    let began = Instant::now();
    drop(operator);
    assert_eq!(server.end(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(4), "the server waits five seconds for what does not end");
    for mut events in streams {
        assert_eq!(events.next(), None, "in good order");
    }
}

#[test]
fn live_pages_of_one_session_are_bounded() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let mut streams: Vec<_> = (0..8).map(|_| Events::open(&operator, "/events").1).collect();
    for events in &mut streams {
        events.wait("step");
    }
    assert_eq!(operator.get("/events").status, 429);
    let other = Visitor::operator(&world, &server);
    assert!(Events::open(&other, "/events").0.starts_with("HTTP/1.1 200 "));
    // A place is free again once the server has seen that nobody reads: it finds out when it has something to tell.
    drop(streams);
    let reopened = (0..1_000).any(|n| {
        world.azolla(&["capture", &format!("note {n}")]).ok();
        let (head, _) = Events::open(&operator, "/events");
        head.starts_with("HTTP/1.1 200 ")
    });
    assert!(reopened);
}

/// More connections than one address may have, none of which sends a whole request: whoever does is answered at once, and
/// what is being answered goes on.
#[test]
fn t23_connections_that_wait_give_way_to_new_ones() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let (_, mut events) = Events::open(&operator, "/events");
    events.wait("step");
    let began = Instant::now();
    let mut idle: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    for (n, stream) in idle.iter_mut().enumerate() {
        // Some say nothing, some half of a head, some half of a form. One that is closed already takes nothing.
        let sent = match n % 3 {
            0 => String::new(),
            1 => "GET /healthz HTTP/1.1\r\nHost: loc".to_owned(),
            _ => format!(
                "POST /login HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: 100\r\n\r\ntoken=",
                server.address
            ),
        };
        let _ = stream.write_all(sent.as_bytes());
    }
    for _ in 0..20 {
        assert_eq!(server.send("GET", "/healthz", &[], "").status, 200);
    }
    assert!(began.elapsed() < Duration::from_secs(8), "before the limit of a head ends them");
    let mut end = Vec::new();
    let _ = idle[0].read_to_end(&mut end);
    assert_eq!(end, b"", "the one that waited longest was closed");
    world.azolla(&["capture", "a note"]).ok();
    assert_eq!(events.wait("change"), json!({"azolla_id": "az-taskmgmt"}));
}

/// Who logs out is told nothing more, in no window.
#[test]
fn a_stream_ends_with_its_session_at_once() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let (operator, other) = (Visitor::operator(&world, &server), Visitor::operator(&world, &server));
    let mut streams: Vec<_> = (0..2).map(|_| Events::open(&operator, "/events").1).collect();
    let (_, mut others) = Events::open(&other, "/events");
    for events in streams.iter_mut().chain([&mut others]) {
        events.wait("step");
    }
    let began = Instant::now();
    assert_eq!(operator.post("/logout", &[("csrf", &operator.csrf())]).status, 303);
    for events in &mut streams {
        while events.next().is_some() {}
    }
    assert!(began.elapsed() < Duration::from_secs(30), "a stream lasts a hundred seconds by itself");
    assert_eq!(operator.get("/events").status, 401, "and does not begin again");
    world.azolla(&["capture", "a note"]).ok();
    assert_eq!(others.wait("change"), json!({"azolla_id": "az-taskmgmt"}), "another session goes on");
}
