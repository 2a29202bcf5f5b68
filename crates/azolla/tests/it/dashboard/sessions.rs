//! Who gets in, for how long, and what opens what.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
};

use super::visitor::{FORM, Visitor, cookie_name, encoded, value_of};
use crate::{server::Server, world::World};

const PAGES: [&str; 6] = ["/", "/objectives", "/notes", "/manifests", "/runs", "/health"];

/// A server that prints a link although nobody is at a terminal.
fn linking(world: &World) -> Server<'_> {
    Server::start_with(world, &["up", "--listen", "127.0.0.1:0", "--roles", "http", "--open"])
}

/// Returns the link that it printed.
fn link(server: &Server<'_>) -> String {
    let line = server.said.lines().find_map(|line| line.strip_prefix("dashboard ")).unwrap().to_owned();
    let (_, path) = line.split_once(&server.address).unwrap();
    path.to_owned()
}

#[test]
fn r12_t24_no_page_is_shown_without_a_session() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let stranger = Visitor::stranger(&server);
    let bearer = format!("Authorization: Bearer {}", world.operator_token());
    let name = cookie_name(&server);
    let (short, unknown) = (format!("Cookie: {name}x"), format!("Cookie: {name}{}", "0".repeat(64)));
    for path in PAGES {
        for headers in [vec![], vec![&*bearer], vec![&*short], vec![short.strip_suffix("=x").unwrap()]] {
            let reply = stranger.send("GET", path, &headers, "");
            assert_eq!(reply.status, 303, "{path} {headers:?}");
            assert!(reply.header("location").starts_with("/login"), "{reply:?}");
            assert_eq!(reply.body, "");
        }
        assert_eq!(stranger.send("GET", path, &[&unknown], "").status, 303);
    }
    let deep = stranger.get("/objectives/az-app/obj-1?file=2");
    assert_eq!(deep.header("location"), "/login?next=%2Fobjectives%2Faz-app%2Fobj-1%3Ffile%3D2");
    assert_eq!(stranger.get("/events").status, 401);
    assert_eq!(stranger.send("GET", "/", &["Azolla-Live: 1"], "").status, 401);
    // A bearer token takes no act, whatever else is right.
    let origin = format!("Origin: http://{}", server.address);
    let fields = encoded(&[("act", "capture"), ("text", "a note"), ("once", "1"), ("csrf", "")]);
    assert_eq!(stranger.send("POST", "/act", &[&bearer, &origin, FORM], &fields).status, 401);
    assert_eq!(world.azolla(&["triage", "captures", "--json"]).json("captures"), serde_json::json!([]));
}

#[test]
fn t24_a_cookie_opens_pages_and_nothing_else() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    for path in PAGES {
        assert_eq!(operator.get(path).status, 200, "{path}");
        let head = operator.send("HEAD", path, &[], "");
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
    }
    for (method, path, body) in [
        ("GET", "/v1/resume", ""),
        ("GET", "/v1/azollas", ""),
        ("POST", "/v1/captures", "{\"text\":\"a note\"}"),
        ("POST", "/v1/azollas/az-taskmgmt/manifests", ""),
        ("POST", "/mcp", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
    ] {
        let origin = format!("Origin: http://{}", server.address);
        assert_eq!(operator.send(method, path, &[&origin], body).error().0, 401, "{path}");
    }
}

#[test]
fn a_session_begins_with_the_token_and_ends_when_one_logs_out() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let stranger = Visitor::stranger(&server);
    for wrong in ["", "x", &world.operator_token()[..63], &"0".repeat(64)] {
        let reply = stranger.log_in(wrong);
        assert_eq!((reply.status, reply.header("set-cookie")), (401, ""));
        assert!(
            reply.body.contains("That is not the operator&apos;s token.")
                || reply.body.contains("That is not the operator's token."),
            "{}",
            reply.body
        );
    }
    let reply = stranger.post("/login", &[("token", &world.operator_token()), ("next", "/notes")]);
    assert_eq!((reply.status, reply.header("location")), (303, "/notes"));
    let cookie = reply.header("set-cookie");
    assert!(cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"), "{cookie}");
    let operator = stranger.with_cookie_of(&reply);
    assert_eq!(operator.get("/login").header("location"), "/");
    assert_eq!(operator.log_in(&world.operator_token()).status, 303, "who is logged in may log in again");
    let other = Visitor::operator(&world, &server);
    let out = operator.post("/logout", &[("csrf", &operator.csrf())]);
    assert_eq!((out.status, out.header("location")), (303, "/login"));
    let ended = format!("{}; Path=/; Max-Age=0", cookie_name(&server));
    assert!(out.header("set-cookie").starts_with(&ended), "{out:?}");
    assert_eq!(operator.get("/").status, 303);
    assert_eq!(other.get("/").status, 200, "it is one session that ends");
}

/// A browser forgets a cookie thirty days after it got it: whatever uses the session gives it again.
#[test]
fn a_session_that_is_used_lasts_whatever_uses_it() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let csrf = operator.csrf();
    let home = rusqlite::Connection::open(world.home().join("home.sqlite")).unwrap();
    let days_ago = |days: u32| {
        let at = format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-{days} days')");
        home.execute(&format!("UPDATE session SET seen_at = {at}"), []).unwrap();
    };
    let head = |path: &str| {
        let mut lines = BufReader::new(operator.stream(path)).lines().map(Result::unwrap);
        lines.by_ref().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n").to_lowercase()
    };
    let given = format!("set-cookie: {}; path=/; max-age=2592000;", operator.cookie);
    days_ago(2);
    assert!(head("/events").contains(&given), "{}", head("/events"));
    assert!(!head("/events").contains("set-cookie"), "it is not due any more");
    let once = value_of(&operator.get("/").body, "once");
    let note = [("csrf", &*csrf), ("once", &*once), ("act", "capture"), ("text", "x"), ("back", "/notes")];
    days_ago(2);
    let reply = operator.post("/act", &note);
    assert_eq!((reply.status, reply.header("set-cookie").split(';').next()), (303, Some(&*operator.cookie)));
    for path in ["/", "/login", "/nowhere"] {
        days_ago(2);
        let reply = operator.get(path);
        assert_eq!(reply.header("set-cookie").split(';').next(), Some(&*operator.cookie), "{path}");
    }
    days_ago(31);
    assert!(head("/events").starts_with("http/1.1 401"), "{}", head("/events"));
}

#[test]
fn t24_a_link_counts_once_and_looking_at_it_spends_nothing() {
    let world = World::with_worker("true");
    let server = linking(&world);
    let (stranger, link) = (Visitor::stranger(&server), link(&server));
    for _ in 0..3 {
        let page = stranger.get(&link);
        assert_eq!((page.status, page.header("set-cookie")), (200, ""));
        assert_eq!(stranger.send("HEAD", &link, &[], "").status, 200);
    }
    let code = value_of(&stranger.get(&link).body, "code");
    assert_eq!(stranger.post("/login", &[("code", &"0".repeat(64))]).status, 401);
    let reply = stranger.post("/login", &[("code", &code)]);
    assert_eq!((reply.status, reply.header("location")), (303, "/"));
    assert_eq!(stranger.with_cookie_of(&reply).get("/").status, 200);
    let again = stranger.post("/login", &[("code", &code)]);
    assert_eq!((again.status, again.header("set-cookie")), (401, ""));
    assert!(again.body.contains("The link has been used"), "{}", again.body);
}

#[test]
fn sessions_outlive_a_restart_and_end_with_the_token_or_when_one_says_so() {
    let world = World::with_worker("true");
    let cookie = {
        let server = Server::start(&world);
        let cookie = Visitor::operator(&world, &server).cookie;
        let home = fs::read(world.home().join("home.sqlite")).unwrap();
        let value = cookie.strip_prefix(&cookie_name(&server)).unwrap();
        assert!(!home.windows(64).any(|bytes| bytes == value.as_bytes()), "only its hash is kept");
        assert_eq!(server.end(), Some(0));
        cookie
    };
    let status = |arguments: &[&str], cookie: &str| {
        let server = Server::start_with(
            &world,
            &[&["up", "--listen", "127.0.0.1:0", "--roles", "http"], arguments].concat(),
        );
        let visitor = Visitor::with_cookie(&server, cookie);
        visitor.get("/").status
    };
    assert_eq!(status(&[], &cookie), 200);
    assert_eq!(status(&["--log-out-all"], &cookie), 303);
    let cookie = {
        let server = Server::start(&world);
        Visitor::operator(&world, &server).cookie
    };
    assert_eq!(status(&[], &cookie), 200);
    // A new token, as a person would make one: the old file goes.
    fs::remove_file(world.home().join("operator.token")).unwrap();
    assert_eq!(status(&[], &cookie), 303);
}

#[test]
fn a_start_that_fails_for_its_address_ends_no_session() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let started = world.azolla(&["up", "--listen", &server.address, "--roles", "http", "--log-out-all"]);
    assert_ne!(started.code, 0, "{started:?}");
    assert!(!started.stderr.contains("sessions are ended"), "{started:?}");
    assert_eq!(operator.get("/").status, 200);
}

#[test]
fn there_are_so_many_sessions_at_once() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let first = Visitor::operator(&world, &server);
    let others: Vec<_> = (0..32).map(|_| Visitor::operator(&world, &server)).collect();
    assert_eq!(first.get("/health").status, 303);
    assert!(others.iter().all(|other| other.get("/health").status == 200));
}

#[test]
fn t24_a_crowd_cannot_guess() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let stranger = Visitor::stranger(&server);
    for n in 0..20 {
        assert_eq!(stranger.log_in(&format!("{n:064}")).status, 401);
    }
    let reply = stranger.log_in(&world.operator_token());
    assert_eq!((reply.status, reply.header("retry-after"), reply.header("set-cookie")), (429, "60", ""));
    assert_eq!(server.metric("azolla_http_unauthorized_total{access=\"operator\"}"), 20);
    assert!(world.log().contains("refused 127.0.0.1: it could not log in"), "{}", world.log());
    assert!(!world.log().contains("0000000001"), "what was tried is in no log");
}

#[test]
fn t29_the_browser_is_given_a_file_and_not_the_link() {
    let world = World::with_worker("true");
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let seen = world.path("seen");
    let script = format!(
        "#!/bin/sh\nstat -c %a \"$1\" > {seen}.new; cat \"$1\" >> {seen}.new; printf '\\n%s\\n' \"$*\" >> {seen}.new; mv {seen}.new {seen}\n",
        seen = seen.display()
    );
    fs::write(bin.join("xdg-open"), script).unwrap();
    fs::set_permissions(bin.join("xdg-open"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let variables = [("PATH", path.as_str()), ("DISPLAY", ":99")];
    let arguments = ["up", "--listen", "127.0.0.1:0", "--roles", "http", "--open"];
    let server = Server::start_with_variables(&world, &arguments, &variables);
    let seen = loop {
        if let Ok(seen) = fs::read_to_string(&seen) {
            break seen;
        }
        std::thread::yield_now();
    };
    let mut lines = seen.lines();
    assert_eq!(lines.next(), Some("600"));
    let code = link(&server).split_once("code=").unwrap().1.to_owned();
    let argument = seen.lines().last().unwrap();
    assert!(argument.starts_with(&world.home().join("state/open-").display().to_string()), "{argument}");
    assert!(!argument.contains(&code) && seen.contains(&code), "{seen}");
    assert_eq!(server.end(), Some(0));
    let left = fs::read_dir(world.home().join("state")).unwrap();
    assert_eq!(
        left.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("open-"))
            .count(),
        0
    );
}

/// What a service prints is in a journal that others may read. A second start is told how to get in all the same.
#[test]
fn t24_no_link_is_printed_where_there_is_no_terminal() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    assert!(!server.said.contains("code="), "{}", server.said);
    let token = world.home().join("operator.token").display().to_string();
    let url = format!("http://{}", server.address);
    assert!(server.said.contains(&format!("dashboard {url}\n")), "{}", server.said);
    assert!(server.said.contains(&format!("operator's token in {token}")), "{}", server.said);
    let told = world.azolla(&["up", "--listen", &server.address, "--open"]).refused(1);
    assert!(told.contains(&format!("open {url} and log in with the token in {token}")), "{told}");
}

/// Without a display nothing is opened, and nothing fails.
#[test]
fn where_there_is_no_display_the_link_is_enough() {
    let world = World::with_worker("true");
    let server = linking(&world);
    assert_eq!(Visitor::stranger(&server).get(&link(&server)).status, 200);
    assert_eq!(server.end(), Some(0));
    assert!(
        world.log().contains("no browser was opened: there is no display here; open the link above"),
        "{}",
        world.log()
    );
}
