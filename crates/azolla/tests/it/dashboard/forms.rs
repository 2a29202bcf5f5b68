//! What a form may do, and from where: other sites, other names, twice, and elsewhere (T23 to T25).

use std::{sync::Barrier, thread};

use serde_json::json;

use super::visitor::{FORM, Visitor, encoded, value_of, words};
use crate::{server::Server, world::World};

fn notes(world: &World) -> Vec<String> {
    let all = world.azolla(&["triage", "captures", "--json"]).json("captures");
    let texts = all
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["capture"]["raw_content"].as_str().unwrap().to_owned());
    texts.collect()
}

#[test]
fn t24_t25_a_form_of_another_site_does_nothing() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let page = operator.get("/").body;
    let (csrf, once) = (value_of(&page, "csrf"), value_of(&page, "once"));
    let own = format!("Origin: http://{}", server.address);
    let form = |csrf: &str| {
        encoded(&[("csrf", csrf), ("once", &once), ("act", "capture"), ("text", "bad"), ("back", "/")])
    };
    let port = server.address.split_once(':').unwrap().1;
    let evil = [
        vec![],
        vec!["Origin: null".to_owned()],
        vec!["Origin: http://evil.example".to_owned()],
        vec!["Origin: http://localhost:1".to_owned()],
        vec![format!("Origin: https://{}", server.address)],
        vec![format!("Origin: http://localhost:{port}")],
        vec![format!("Origin: http://{}.evil.example", server.address)],
        vec![own.clone(), "Origin: http://evil.example".to_owned()],
        vec!["Sec-Fetch-Site: cross-site".to_owned()],
        vec!["Sec-Fetch-Site: same-site".to_owned()],
        vec!["Sec-Fetch-Site: none".to_owned()],
        vec![own.clone(), "Host: evil.example".to_owned()],
        vec![own.replace(&server.address, "evil.example"), "Host: evil.example".to_owned()],
    ];
    for path in ["/act", "/logout", "/login"] {
        for headers in &evil {
            let headers: Vec<&str> = headers.iter().map(String::as_str).chain([FORM]).collect();
            assert_eq!(operator.send("POST", path, &headers, &form(&csrf)).status, 403, "{path} {headers:?}");
        }
    }
    // The word of the session is needed too.
    let other = Visitor::operator(&world, &server).csrf();
    for wrong in ["", "x", &csrf[..63], &csrf.to_uppercase(), &other] {
        assert_eq!(operator.send("POST", "/act", &[&own, FORM], &form(wrong)).status, 403, "{wrong}");
        assert_eq!(operator.send("POST", "/logout", &[&own, FORM], &form(wrong)).status, 403, "{wrong}");
    }
    // Neither is there a way around the form.
    for (method, content_type, status) in [
        ("GET", FORM, 405),
        ("PUT", FORM, 405),
        ("POST", "Content-Type: text/plain", 415),
        ("POST", "Content-Type: application/json", 415),
    ] {
        assert_eq!(operator.send(method, "/act", &[&own, content_type], &form(&csrf)).status, status);
    }
    assert_eq!(notes(&world), Vec::<String>::new());
    // A browser that leaves the Origin out says where it comes from.
    let reply = operator.send("POST", "/act", &["Sec-Fetch-Site: same-origin", FORM], &form(&csrf));
    assert_eq!((reply.status, notes(&world)), (303, vec!["bad".to_owned()]));
}

#[test]
fn t25_pages_have_no_other_name() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    for host in ["Host: evil.example", "Host: 127.0.0.1.evil.example", "Host: localhost.evil.example:80"] {
        assert_eq!(operator.send("GET", "/", &[host], "").status, 403, "{host}");
        assert_eq!(operator.send("GET", "/events", &[host], "").status, 403, "{host}");
    }
}

/// The button pressed twice, the request sent again by the browser, two tabs of one page.
#[test]
fn t24_what_is_sent_twice_is_done_once() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let page = operator.get("/").body;
    let (csrf, once) = (value_of(&page, "csrf"), value_of(&page, "once"));
    let send = |text: &str| {
        operator.post(
            "/act",
            &[("csrf", &csrf), ("once", &once), ("act", "capture"), ("text", text), ("back", "/notes")],
        )
    };
    let together = Barrier::new(4);
    let (csrf, once, cookie) = (&csrf, &once, &operator.cookie);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let visitor = Visitor::with_cookie(&server, cookie);
                together.wait();
                let fields = [
                    ("csrf", &**csrf),
                    ("once", &**once),
                    ("act", "capture"),
                    ("text", "one"),
                    ("back", "/notes"),
                ];
                let reply = visitor.post("/act", &fields);
                assert_eq!((reply.status, reply.header("location")), (303, "/notes"));
            });
        }
    });
    assert_eq!(send("one").status, 303);
    assert_eq!(notes(&world), ["one"]);
    // What was refused is done once it is corrected, though the browser sends it under the same number.
    let corrected = value_of(&operator.get("/").body, "once");
    let send_under = |once: &str, text: &str| {
        let fields =
            [("csrf", &**csrf), ("once", once), ("act", "capture"), ("text", text), ("back", "/notes")];
        operator.post("/act", &fields).status
    };
    assert_eq!((send_under(&corrected, " "), notes(&world)), (409, vec!["one".to_owned()]));
    assert_eq!((send_under(&corrected, "kept"), send_under(&corrected, "kept")), (303, 303));
    // The newest first.
    assert_eq!(notes(&world), ["kept", "one"]);
    // Every form has a number of its own.
    let numbers: Vec<_> = page
        .match_indices("name=\"once\" value=\"")
        .map(|(at, _)| page[at..].split('"').nth(3).unwrap())
        .collect();
    let mut different = numbers.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), numbers.len());
    assert_ne!(value_of(&operator.get("/").body, "once"), **once);
    for wrong in ["", "a b", &"a".repeat(65)] {
        let fields = [("csrf", &**csrf), ("once", wrong), ("act", "capture"), ("text", "two")];
        assert_eq!(operator.post("/act", &fields).status, 400);
    }
    assert_eq!(
        operator.post("/act", &[("csrf", &**csrf), ("once", "c-1"), ("act", "run"), ("text", "two")]).status,
        400
    );
    // The newest first.
    assert_eq!(notes(&world), ["kept", "one"]);
}

/// The browser sends a form again that an earlier process took: nobody knows any more that it was done.
#[test]
fn t24_a_form_of_before_a_restart_is_asked_about_and_not_done_again() {
    let world = World::with_worker("true");
    let (cookie, fields) = {
        let server = Server::start(&world);
        let operator = Visitor::operator(&world, &server);
        let page = operator.get("/").body;
        let fields = [
            ("csrf", value_of(&page, "csrf")),
            ("once", value_of(&page, "once")),
            ("act", "capture".to_owned()),
            ("text", "one".to_owned()),
            ("back", "/notes".to_owned()),
        ];
        let sent: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(operator.post("/act", &sent).status, 303);
        let cookie = operator.cookie;
        assert_eq!(server.end(), Some(0));
        (cookie, fields)
    };
    let server = Server::start(&world);
    let operator = Visitor::with_cookie(&server, &cookie);
    let mut sent: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let reply = operator.post("/act", &sent);
    assert_eq!(reply.status, 409);
    assert!(reply.body.contains("Send it?") && reply.body.contains(">\none</textarea>"), "{}", reply.body);
    assert_eq!(notes(&world), ["one"]);
    // Whoever sends it all the same has it done.
    let once = value_of(&reply.body, "once");
    sent[1].1 = &once;
    assert_eq!(operator.post("/act", &sent).status, 303);
    assert_eq!(notes(&world), ["one", "one"]);
}

#[test]
fn t24_no_form_leads_elsewhere() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let csrf = operator.csrf();
    for elsewhere in [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/a\r\nX: y",
        "evil",
    ] {
        let once = value_of(&operator.get("/").body, "once");
        let fields = [
            ("csrf", &*csrf),
            ("once", &once),
            ("act", "manifest"),
            ("azolla", "az-taskmgmt"),
            ("back", elsewhere),
        ];
        let reply = operator.post("/act", &fields);
        assert_eq!((reply.status, reply.header("location")), (303, "/"), "{elsewhere:?}");
        let token = world.operator_token();
        let stranger = Visitor::stranger(&server);
        let reply = stranger.post("/login", &[("token", &token), ("next", elsewhere)]);
        assert_eq!((reply.status, reply.header("location")), (303, "/"), "{elsewhere:?}");
    }
    let page = Visitor::stranger(&server).get("/login?next=%2Fnotes").body;
    assert_eq!(value_of(&page, "next"), "/notes");
    let page = Visitor::stranger(&server).get("/login?next=%2F%2Fevil.example").body;
    assert!(!page.contains("evil"), "{page}");
}

#[test]
fn what_was_typed_is_not_lost_with_a_refusal() {
    let world = World::with_worker("true");
    let id = world.objective("Round half up", "it rounds");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let long = "<b>x</b>\n\nand \"more\"";
    let title = "t".repeat(501);
    let version = operator.version("az-app", &id);
    let own = [("azolla", "az-app"), ("objective", &*id), ("version", &*version)];
    let reply = operator.act("edit", &[&own[..], &[("title", &*title), ("criteria", long)]].concat());
    assert_eq!(reply.status, 400);
    assert_eq!(
        words(&reply.body),
        "the title has more than 500 characters\nhint: the rest goes into the criteria, under \"Done when\"\n"
    );
    assert_eq!(value_of(&reply.body, "title"), title);
    assert!(
        reply.body.contains("\n&lt;b&gt;x&lt;/b&gt;\n\nand &quot;more&quot;</textarea>"),
        "{}",
        reply.body
    );
    assert_eq!(
        (value_of(&reply.body, "objective"), value_of(&reply.body, "back")),
        (id, "/objectives?x=1".to_owned())
    );
    // The form on it works.
    let (csrf, once) = (value_of(&reply.body, "csrf"), value_of(&reply.body, "once"));
    assert_eq!(csrf, operator.csrf());
    assert_ne!(once, value_of(&operator.get("/").body, "once"));
}

#[test]
fn s3_an_edit_of_a_page_that_is_out_of_date_writes_over_nothing() {
    let world = World::with_worker("true");
    let id = world.objective("Round half up", "\nit rounds");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let page = operator.get(&format!("/objectives/az-app/{id}")).body;
    // What the browser has in its box is what is stored: it leaves the first line end out.
    assert!(page.contains("<textarea name=\"criteria\" rows=\"6\">\n\nit rounds</textarea>"), "{page}");
    let version = operator.version("az-app", &id);
    world.azolla(&["objective", "edit", &id, "--criteria", "it rounds\nhalf <up>"]).ok();
    let own = [("azolla", "az-app"), ("objective", &*id)];
    let typed = [("title", "Round up"), ("criteria", "\nit rounds"), ("importance", "2"), ("urgency", "3")];
    let reply = operator.act("edit", &[&own[..], &[("version", &*version)], &typed].concat());
    assert_eq!(reply.status, 409, "{}", reply.body);
    assert_eq!(
        words(&reply.body),
        format!("objective {id} was changed meanwhile\nhint: azolla objective show {id}\n")
    );
    let stored = || world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    assert_eq!(
        (&stored()["title"], &stored()["acceptance_criteria"]),
        (&json!("Round half up"), &json!("it rounds\nhalf <up>"))
    );
    // What was typed is there, and what is stored beside it; sent once more, it counts.
    assert_eq!(value_of(&reply.body, "title"), "Round up");
    assert!(reply.body.contains(">\n\nit rounds</textarea>"), "{}", reply.body);
    assert!(reply.body.contains("<li>the title is now: Round half up</li>"), "{}", reply.body);
    assert!(!reply.body.contains("the urgency is now"), "{}", reply.body);
    let version = value_of(&reply.body, "version");
    operator.done("edit", &[&own[..], &[("version", &*version)], &typed].concat());
    assert_eq!(stored()["title"], "Round up");
}

/// What nobody has read is not let run by a page that shows what was there before; whoever looks again can.
#[test]
fn s3_sb_sh_a_page_that_is_out_of_date_lets_nothing_run_that_was_not_on_it() {
    let world = World::with_worker("true");
    let id = world.objective("Round half up", "it rounds");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    let page = format!("/objectives/az-app/{id}");
    let stored = || world.azolla(&["objective", "show", &id, "--json"]).json("objective");
    let own = [("azolla", "az-app"), ("objective", &*id), ("back", &*page)];
    let changed = |criteria: &str| {
        let version = operator.version("az-app", &id);
        world.azolla(&["objective", "edit", &id, "--criteria", criteria]).ok();
        version
    };
    let refused = |act: &str, version: &str| {
        let looked = operator.get(&page).body;
        let (csrf, once) = (value_of(&looked, "csrf"), value_of(&looked, "once"));
        let form = [("csrf", &*csrf), ("once", &*once), ("act", act), ("version", version)];
        let reply = operator.post("/act", &[&form[..], &own].concat());
        assert_eq!(reply.status, 409, "{act}: {}", reply.body);
        assert!(words(&reply.body).starts_with(&format!("objective {id} was changed meanwhile\n")), "{act}");
        assert!(reply.body.contains(&format!("href=\"{page}\">See it as it is now</a>")), "{}", reply.body);
        assert!(!reply.body.contains("name=\"version\""), "it is looked at first: {}", reply.body);
    };
    let done = |act: &str| {
        let version = operator.version("az-app", &id);
        operator.done(act, &[own[0], own[1], ("version", &version)]);
    };
    refused("approve", &changed("it rounds, and publishes every key"));
    assert_eq!(stored()["status"], "NEW");
    done("approve");
    assert_eq!(stored()["status"], "TODO");
    // Going on is an approval too, of what was blocked before it had one or was changed since.
    world.azolla(&["objective", "block", &id, "--reason", "waits for Kim"]).ok();
    refused("unblock", &changed("it rounds, and removes everything"));
    assert_eq!(stored()["status"], "BLOCKED");
    done("unblock");
    assert_eq!(stored()["status"], "TODO");
}

/// A mark beyond the end would hide whatever happens until it is reached.
#[test]
fn nothing_is_seen_that_has_not_happened() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    operator.get("/");
    world.objective("Round half up", "it rounds");
    let page = operator.get("/").body;
    let mark = value_of(&page, "mark");
    assert!(mark.starts_with("az-app ") && page.contains("was described"), "{page}");
    let beyond = "az-app 0:999999 2026-11-16T10:00:00.000Z";
    let told = operator.refused("seen", 400, &[("mark", beyond)]);
    assert!(told.starts_with("the page says that more was seen than has happened\n"), "{told}");
    assert!(operator.get("/").body.contains("was described"), "it is still news");
    // Nobody has looked tomorrow.
    let (place, _) = mark.rsplit_once(' ').unwrap();
    operator.done("seen", &[("mark", &format!("{place} 9000-01-01T00:00:00.000Z"))]);
    world.objective("Sum", "it sums");
    let page = operator.get("/").body;
    assert!(page.contains("was described") && page.contains("just now"), "{page}");
}

#[test]
fn what_was_typed_comes_back_after_the_log_in() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let stranger = Visitor::stranger(&server);
    let page = stranger.act_without_a_session("capture", &[("text", "line one\nline \"two\"")]);
    assert_eq!(page.status, 401);
    assert!(page.body.contains("What you typed is kept"), "{}", page.body);
    assert_eq!(notes(&world), Vec::<String>::new());
    let kept = [
        ("keep.act", value_of(&page.body, "keep.act")),
        ("keep.text", value_of(&page.body, "keep.text").replace("&quot;", "\"")),
        ("keep.back", value_of(&page.body, "keep.back")),
    ];
    let kept: Vec<(&str, &str)> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
    // A wrong token does not lose it either.
    let wrong = stranger.post("/login", &[&kept[..], &[("token", "x")]].concat());
    assert_eq!((wrong.status, value_of(&wrong.body, "keep.act")), (401, "capture".to_owned()));
    let token = world.operator_token();
    let reply = stranger.post("/login", &[&kept[..], &[("token", &token)]].concat());
    assert_eq!(reply.status, 200);
    assert!(
        reply.body.contains("<textarea name=\"text\" rows=\"6\">\nline one\nline &quot;two&quot;</textarea>"),
        "{}",
        reply.body
    );
    let operator = stranger.with_cookie_of(&reply);
    let sent = [
        ("csrf", value_of(&reply.body, "csrf")),
        ("once", value_of(&reply.body, "once")),
        ("act", "capture".to_owned()),
        ("back", "/notes".to_owned()),
        ("text", "line one\nline \"two\"".to_owned()),
    ];
    let sent: Vec<(&str, &str)> = sent.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(operator.post("/act", &sent).status, 303);
    assert_eq!(notes(&world), ["line one\nline \"two\""]);
    // A form that was there before another log in comes back in the same way.
    let stale = [("csrf", "old"), ("once", "e-1"), ("act", "capture"), ("text", "three"), ("back", "/notes")];
    let reply = operator.post("/act", &stale);
    assert_eq!(reply.status, 403);
    assert!(
        reply.body.contains(">\nthree</textarea>") && value_of(&reply.body, "csrf") == operator.csrf(),
        "{}",
        reply.body
    );
}

#[test]
fn t23_a_browser_may_do_nothing_with_a_page_but_show_it() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let operator = Visitor::operator(&world, &server);
    for path in ["/", "/notes", "/login?code=x", "/nowhere"] {
        let page = operator.get(path);
        let policy = page.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        assert_eq!(page.header("cache-control"), "no-store", "{path}");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("x-frame-options"), "DENY");
        // Anything stricter makes a browser hide where its forms come from.
        let policy = if page.status == 303 { "no-referrer" } else { "same-origin" };
        assert_eq!(page.header("referrer-policy"), policy, "{path}");
    }
    let page = operator.get("/").body;
    for (tag, kind) in [
        ("<link rel=\"stylesheet\" href=\"", "text/css; charset=utf-8"),
        ("<script src=\"", "text/javascript; charset=utf-8"),
    ] {
        let (_, after) = page.split_once(tag).unwrap();
        let path = after.split_once('"').unwrap().0;
        assert!(path.starts_with("/assets/"), "{path}");
        // No session is needed to read what is in the program.
        let asset = Visitor::stranger(&server).get(path);
        assert_eq!((asset.status, asset.header("content-type")), (200, kind));
        assert_eq!(asset.header("cache-control"), "public, max-age=31536000, immutable");
        let other = path.replace(path.split('/').nth(2).unwrap(), "0000000000000000");
        assert_eq!(operator.get(&other).status, 404);
    }
}

#[test]
fn a_person_gets_a_page_and_a_program_json_where_there_is_nothing() {
    let world = World::with_worker("true");
    let server = Server::start(&world);
    let (operator, stranger) = (Visitor::operator(&world, &server), Visitor::stranger(&server));
    for visitor in [&operator, &stranger] {
        let page = visitor.get("/nowhere");
        assert_eq!((page.status, page.header("content-type")), (404, "text/html; charset=utf-8"));
        assert!(page.body.contains("There is no such page."), "{}", page.body);
    }
    for (path, status) in
        [("/objectives/%ff/%00", 404), ("/runs/az-app/%00", 404), ("/act", 405), ("/logout", 405)]
    {
        let page = operator.get(path);
        let kind = (page.status, page.header("content-type"));
        assert_eq!(kind, (status, "text/html; charset=utf-8"), "{path}: {}", page.body);
        assert!(page.body.contains("href=\"/notes\""), "{path}: in the frame");
    }
    assert_eq!(server.send("GET", "/act", &[], "").error().0, 405);
    assert!(operator.get("/nowhere").body.contains("href=\"/notes\""), "in the frame");
    assert!(!stranger.get("/nowhere").body.contains("href=\"/notes\""));
    assert_eq!(server.send("GET", "/nowhere", &[], "").error(), (404, "not_found".to_owned()));
    assert_eq!(
        server.send("GET", "/v1/nowhere", &["Accept: text/html"], "").error(),
        (404, "not_found".to_owned())
    );
    // T27: no page runs anything.
    for path in ["/run", "/exec", "/act/run", "/v1/run"] {
        assert_eq!(
            operator.post(path, &[("csrf", &operator.csrf()), ("command", "id")]).status,
            404,
            "{path}"
        );
    }
}
