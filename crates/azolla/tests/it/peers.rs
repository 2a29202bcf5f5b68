//! Asking azollas of other machines: two homes over real HTTP, and servers that are dead, slow, lying or without end
//! (P16, M-4). `azolla doctor --probe` asks every azolla of the registry, so it shows what came back.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use azolla_protocol::Timestamp;
use serde_json::{Value, json};

use crate::{
    server::{Server, query},
    world::World,
};

/// A home without a repository that asks `az-far` at a URL with a token.
fn desk(url: &str, token: &str) -> World {
    let world = World::new();
    world.azolla(&["init"]).ok();
    let added = ["peer", "add", "az-far", "--url", url];
    world.azolla_with(&world.path(""), &added, token).ok();
    world
}

/// Returns what came of asking `az-far`, and whether it is all right.
fn ask(world: &World) -> (bool, String) {
    let answer = world.azolla(&["doctor", "--probe", "--json"]);
    let document: Value = serde_json::from_str(&answer.stdout).unwrap();
    let lines = document["data"].as_array().unwrap();
    let line = lines.iter().find(|line| line["what"] == "ask az-far").unwrap_or_else(|| panic!("{lines:#?}"));
    (line["ok"].as_bool().unwrap(), line["state"].as_str().unwrap().to_owned())
}

fn refused(world: &World) -> String {
    let (ok, state) = ask(world);
    assert!(!ok, "{state}");
    state
}

/// A home with the azolla `az-far`, which lets `az-taskmgmt` of another machine ask; returns the token for it.
fn shop() -> (World, String) {
    let world = World::new();
    let far = world.repository("far");
    world.azolla_in(&far, &["init"]).ok();
    // Its own az-taskmgmt is another one: a peer that only asks may have the same name.
    let token = world.azolla(&["peer", "add", "az-taskmgmt"]).ok();
    (world, token.trim().to_owned())
}

#[test]
fn m2_m4_two_machines_ask_over_http() {
    let (shop, token) = shop();
    let created = shop.azolla(&["objective", "new", "Round half up", "--azolla", "az-far"]).ok();
    let id = created.split_whitespace().find(|word| word.starts_with("obj-")).unwrap().to_owned();
    let server = Server::start(&shop);
    let url = format!("http://{}", server.address);
    let world = desk(&url, &token);
    assert_eq!(ask(&world), (true, "it answers az-taskmgmt".to_owned()));
    // Twice: every query has an id of its own.
    assert_eq!(ask(&world), (true, "it answers az-taskmgmt".to_owned()));
    assert_eq!(server.metric("azolla_queries_total{status=\"OK\"}"), 2);
    // What is asked for arrives: orientation here names the objective there.
    let told = world.azolla(&["manifest"]).ok();
    assert!(told.contains(&format!("Round half up (az-far, {id})")), "{told}");
    // P16: a wrong key, a key that was changed, one that is gone.
    shop.azolla(&["peer", "rotate", "az-taskmgmt"]).ok();
    assert_eq!(refused(&world), "it does not take our token");
    let file = world.home().join("peers/az-far.token");
    std::fs::write(&file, "").unwrap();
    assert!(refused(&world).contains("holds no key: it is empty"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(&world).contains("can be read by others"));
    std::fs::remove_file(&file).unwrap();
    assert!(refused(&world).contains("cannot be read"));
    drop(server);
    // Nobody there.
    std::fs::write(&file, &token).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(refused(&world).starts_with("no connection"));
}

#[test]
fn m2_an_azolla_of_the_same_machine_is_asked_by_the_same_rules() {
    let world = World::new();
    let far = world.repository("far");
    world.azolla_in(&far, &["init"]).ok();
    assert_eq!(ask(&world), (true, "it answers az-taskmgmt".to_owned()));
    // Without its store it is unavailable, and nothing is made.
    std::fs::remove_file(world.home().join("azollas/az-far.sqlite")).unwrap();
    assert!(refused(&world).starts_with("there is no store at"));
    assert!(!world.home().join("azollas/az-far.sqlite").exists());
}

/// What a server does with one request, whose body it is given.
type Behaviour = Box<dyn Fn(Value, &mut TcpStream) + Send>;

/// A server that does what a test says, until the test ends.
fn fake(behaviour: Behaviour) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if let Some(body) = request(&mut stream) {
                behaviour(body, &mut stream);
            }
        }
    });
    address
}

/// Reads a request and returns its body.
fn request(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let count = stream.read(&mut part).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return Some(body);
        }
    }
}

fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A true answer to a query, to be made untrue.
fn answer(query: &Value, results: Value) -> Value {
    json!({"response_id": "rsp-1", "query_id": query["query_id"], "target_azolla_id": query["target_azolla_id"],
           "status": "OK", "results": results, "created_at": "2026-11-01T08:00:00.000Z"})
}

fn pause(azolla_id: &str) -> Value {
    json!({"objective_id": "obj-1", "azolla_id": azolla_id, "reason": "BLOCKED",
           "prioritized_actions": ["Look"], "created_at": "2026-11-01T08:00:00.000Z"})
}

/// A server that answers with a document made from the query.
fn answering(made: impl Fn(&Value) -> Value + Send + 'static) -> SocketAddr {
    fake(Box::new(move |query, stream| {
        let _ = stream.write_all(http("200 OK", &made(&query).to_string()).as_bytes());
    }))
}

#[test]
fn p16_m4_a_lying_server_is_unavailable_and_nothing_of_it_counts() {
    type Lie = fn(&Value) -> Value;
    let truth = |query: &Value| answer(query, json!([pause("az-far")]));
    assert!(ask(&desk(&format!("http://{}", answering(truth)), "t")).0, "an answer that is true is taken");
    let lies: [(Lie, &str); 12] = [
        (|_| json!({}), "no substrate_query_response"),
        (|_| json!([]), "no substrate_query_response"),
        (|query| with(answer(query, json!([])), "more", json!(1)), "no substrate_query_response"),
        (|query| with(answer(query, json!([])), "status", json!("MAYBE")), "no substrate_query_response"),
        (
            |query| with(answer(query, json!([pause("az-far")])), "status", json!("DENIED")),
            "no substrate_query_response",
        ),
        (|query| with(answer(query, json!([])), "query_id", json!("qry-other")), "another query"),
        (
            |query| with(answer(query, json!([])), "target_azolla_id", json!("az-other")),
            "another azolla answered",
        ),
        (|query| answer(query, json!([pause("az-other")])), "belongs to another azolla"),
        (|query| answer(query, json!([with(pause("az-far"), "reason", json!("BORED"))])), "no pause_state"),
        (
            |query| answer(query, json!([with(pause("az-far"), "prioritized_actions", json!([]))])),
            "no pause_state",
        ),
        (|query| answer(query, json!([{"objective_id": "obj-1"}])), "no pause_state"),
        (|query| answer(query, json!([pause("az-far"), pause("az-far")])), "more than was asked for"),
    ];
    let server = |lie: Lie| desk(&format!("http://{}", answering(lie)), "t");
    for (lie, reason) in lies {
        let told = refused(&server(lie));
        assert!(told.contains(reason), "{told} is not about {reason}");
    }
    let denied = |query: &Value| {
        let same_time = with(answer(query, json!([])), "created_at", query["created_at"].clone());
        with(same_time, "status", json!("DENIED"))
    };
    assert_eq!(refused(&desk(&format!("http://{}", answering(denied)), "t")), "it refused the query");
}

/// A query that does not count by the clock of the other machine is refused like any other; the two times tell why.
#[test]
fn t33_a_refusal_by_a_machine_with_another_clock_says_so() {
    let denied = |query: &Value| {
        let earlier = with(answer(query, json!([])), "created_at", json!("2020-01-01T00:00:00.000Z"));
        with(earlier, "status", json!("DENIED"))
    };
    let told = refused(&desk(&format!("http://{}", answering(denied)), "t"));
    assert_eq!(told, "it refused the query: its clock and ours are more than 5 minutes apart");
}

fn with(mut document: Value, key: &str, value: Value) -> Value {
    document[key] = value;
    document
}

#[test]
fn p16_m4_a_server_of_another_version_or_that_cuts_off_is_unavailable() {
    let (sent, other) = mpsc::channel();
    let elsewhere = fake(Box::new(move |_, _| sent.send(()).unwrap()));
    let cases: [(String, &str); 6] = [
        (http("404 Not Found", "{}"), "it answered with HTTP 404"),
        (http("500 Internal Server Error", "{}"), "it answered with HTTP 500"),
        (http("200 OK", "<html>hello</html>"), "no substrate_query_response"),
        (
            format!("HTTP/1.1 302 Found\r\nlocation: http://{elsewhere}/\r\ncontent-length: 0\r\n\r\n"),
            "HTTP 302",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"response_id\":".to_owned(),
            "its answer was cut off",
        ),
        ("this is no HTTP\r\n\r\n".to_owned(), "the connection broke"),
    ];
    for (bytes, reason) in cases {
        let address = fake(Box::new(move |_, stream| drop(stream.write_all(bytes.as_bytes()))));
        let told = refused(&desk(&format!("http://{address}"), "canary-token"));
        assert!(told.contains(reason), "{told} is not about {reason}");
        assert!(!told.contains("canary-token"));
    }
    assert!(other.try_recv().is_err(), "a redirect was followed");
}

/// 10 GB, one gigabyte announced, and a document that is only too large: none of it is read to its end.
#[test]
fn p16_m4_an_answer_without_end_costs_a_bounded_part_of_it() {
    let (sent, total) = mpsc::channel();
    let endless = fake(Box::new(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let chunk = format!("10000\r\n{}\r\n", "[".repeat(0x10000));
        let mut bytes = 0_u64;
        let _ = stream.write_all(head.as_bytes());
        while bytes < 10_000_000_000 && stream.write_all(chunk.as_bytes()).is_ok() {
            bytes += 0x10000;
        }
        sent.send(bytes).unwrap();
    }));
    assert!(refused(&desk(&format!("http://{endless}"), "t")).contains("more than 1048576 bytes"));
    let bytes = total.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(bytes < 64 << 20, "{bytes} bytes were taken");
    let announced = fake(Box::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n[");
    }));
    assert!(refused(&desk(&format!("http://{announced}"), "t")).contains("more than 1048576 bytes"));
}

#[test]
fn p16_m4_a_slow_server_is_unavailable_after_its_time() {
    // The connection is kept until the other side has had enough.
    let silent = fake(Box::new(|_, stream| drop(stream.read(&mut [0; 1]))));
    let dripping = fake(Box::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{");
        let _ = stream.read(&mut [0; 1]);
    }));
    for address in [silent, dripping] {
        let world = desk(&format!("http://{address}"), "t");
        world.configure("[limits]\npeer_query_ms = 300");
        let begun = Instant::now();
        // The one who asks and the one who sends have the same limit; either may be over first.
        let told = refused(&world);
        assert!(told.starts_with("it did not answer "), "{told}");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

/// What a peer, or the way to one, does wrong in a round.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// A query that was answered already, byte by byte.
    Replay,
    /// A query of a clock that is so many minutes behind, or ahead.
    Skew(i64),
    /// A token with another character at this place.
    Key(usize),
    /// An answer that ends before this part of it, of a thousand.
    Cut(usize),
}

/// Draws numbers from a seed (splitmix64).
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    fn wrong(&mut self) -> Wrong {
        // Five minutes apart still count.
        let minutes = i64::try_from(6 + self.below(100_000)).unwrap();
        let place = usize::try_from(self.below(1_000)).unwrap();
        match self.below(5) {
            0 => Wrong::Replay,
            1 => Wrong::Skew(minutes),
            2 => Wrong::Skew(-minutes),
            3 => Wrong::Key(place),
            _ => Wrong::Cut(place),
        }
    }
}

/// P16, T33, M-4: whatever is drawn is DENIED, 401 or unavailable, without data, and the next good query is answered.
#[test]
fn p16_t33_whatever_goes_wrong_between_peers_nobody_is_told_anything_untrue() {
    let rounds = std::env::var("AZOLLA_PEER_ROUNDS").map_or(20, |n| n.parse().expect("a number of rounds"));
    let (shop, token) = shop();
    shop.azolla(&["objective", "new", "Round half up", "--azolla", "az-far"]).ok();
    let server = Server::start(&shop);
    let cut = Arc::new(Mutex::new(None));
    let desk = desk(&format!("http://{}", cutting(Arc::clone(&cut))), "t");
    let good = |id: String| {
        let asked = query(&id, "az-taskmgmt", "az-far", "objective", json!({}));
        let answer = server.ask(&token, &asked).json();
        assert_eq!((&answer["status"], &answer["query_id"]), (&json!("OK"), &asked["query_id"]), "{answer}");
        assert_eq!(answer["results"].as_array().map(Vec::len), Some(1), "{answer}");
        asked
    };
    let mut answered = good("first".to_owned());
    let mut drawn = Drawn(16);
    for round in 0..rounds {
        let wrong = drawn.wrong();
        let mut asked = query(&format!("wrong-{round}"), "az-taskmgmt", "az-far", "objective", json!({}));
        match wrong {
            Wrong::Replay => assert_denied(&server, &token, &answered, round),
            Wrong::Skew(minutes) => {
                let at: Timestamp = asked["created_at"].as_str().unwrap().parse().unwrap();
                asked["created_at"] = json!(at.plus_ms(minutes * 60_000).to_string());
                assert_denied(&server, &token, &asked, round);
            }
            Wrong::Key(place) => {
                let mut other = token.clone().into_bytes();
                let at = place % other.len();
                other[at] = if other[at] == b'0' { b'1' } else { b'0' };
                let reply = server.ask(std::str::from_utf8(&other).unwrap(), &asked);
                assert_eq!(reply.status, 401, "round {round}: {wrong:?}: {reply:?}");
                assert!(!reply.body.contains("Round half up"), "round {round}: {reply:?}");
            }
            Wrong::Cut(place) => {
                *cut.lock().unwrap() = Some(place);
                let told = refused(&desk);
                assert!(
                    ["cut off", "the connection broke"].iter().any(|reason| told.contains(reason)),
                    "round {round}: {wrong:?}: {told}"
                );
                *cut.lock().unwrap() = None;
                assert_eq!(ask(&desk), (true, "it answers az-taskmgmt".to_owned()), "round {round}");
            }
        }
        answered = good(format!("good-{round}"));
    }
}

fn assert_denied(server: &Server<'_>, token: &str, query: &Value, round: usize) {
    let reply = server.ask(token, query);
    let answer = reply.json();
    assert_eq!(
        (reply.status, &answer["status"]),
        (200, &json!("DENIED")),
        "round {round}: {query} {reply:?}"
    );
    assert_eq!(answer["results"], json!([]), "round {round}: {query}");
}

/// A server that tells the truth, as far as the part of it, of a thousand, that is set.
fn cutting(cut: Arc<Mutex<Option<usize>>>) -> SocketAddr {
    fake(Box::new(move |query, stream| {
        let whole = http("200 OK", &answer(&query, json!([pause("az-far")])).to_string());
        let end = cut.lock().unwrap().map_or(whole.len(), |place| whole.len() * place / 1_000);
        let _ = stream.write_all(&whole.as_bytes()[..end]);
    }))
}

#[test]
fn t26_m4_two_machines_ask_over_tls_and_know_each_other_by_certificate() {
    let (shop, token) = shop();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (shop.path("cert.pem"), shop.path("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    shop.configure(&format!("[http]\ntls_cert = {cert:?}\ntls_key = {key:?}"));
    let told = shop.azolla(&["up", "--listen", "127.0.0.1:0"]).refused(1);
    assert!(told.contains("can be read by everybody"), "{told}");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    // With a certificate every address will do.
    let server = Server::start_with(&shop, &["up", "--listen", "0.0.0.0:0", "--roles", "http"]);
    assert!(server.said.contains("listens at https://0.0.0.0:"), "{}", server.said);
    let port = server.address.rsplit(':').next().unwrap();
    let world = |host: &str, ca: Option<&str>| {
        let world = World::new();
        world.azolla(&["init"]).ok();
        let url = format!("https://{host}:{port}");
        let mut added = vec!["peer", "add", "az-far", "--url", &url];
        added.extend(ca.iter().flat_map(|ca| ["--ca-file", ca]));
        world.azolla_with(&world.path(""), &added, &token).ok();
        world
    };
    let ca = cert.to_str().unwrap();
    assert_eq!(ask(&world("localhost", Some(ca))), (true, "it answers az-taskmgmt".to_owned()));
    // Another name than that of the certificate, a certificate that nobody vouches for, a file that is none.
    assert!(refused(&world("127.0.0.1", Some(ca))).starts_with("no connection"));
    assert!(refused(&world("localhost", None)).starts_with("no connection"));
    let no_certificate = key.to_str().unwrap();
    assert!(refused(&world("localhost", Some(no_certificate))).contains("holds no certificate"));
    // Who speaks no TLS gets nothing.
    let mut plain = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes);
    assert!(!String::from_utf8_lossy(&bytes).contains("HTTP/1.1 200"), "{bytes:?}");
    assert_eq!(server.end(), Some(0));
}
