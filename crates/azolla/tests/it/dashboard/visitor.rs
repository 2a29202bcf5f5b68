//! Somebody with a browser, request by request.

use std::{io::Write, net::TcpStream};

use crate::{
    server::{Reply, Server},
    world::World,
};

/// Somebody who is logged in, or not.
pub(super) struct Visitor<'a> {
    pub(super) server: &'a Server<'a>,
    /// The cookie, as the browser sends it; empty without one.
    pub(super) cookie: String,
}

impl<'a> Visitor<'a> {
    /// Somebody without a cookie.
    pub(super) fn stranger(server: &'a Server<'a>) -> Self {
        Self { server, cookie: String::new() }
    }

    /// Somebody with this cookie, which may be of the same home's server at another port.
    pub(super) fn with_cookie(server: &'a Server<'a>, cookie: &str) -> Self {
        let (_, value) = cookie.split_once('=').unwrap();
        Self { server, cookie: format!("{}{value}", cookie_name(server)) }
    }

    /// The operator, logged in with the token.
    pub(super) fn operator(world: &World, server: &'a Server<'a>) -> Self {
        let stranger = Self::stranger(server);
        let reply = stranger.log_in(&world.operator_token());
        assert_eq!((reply.status, reply.header("location")), (303, "/"), "{reply:?}");
        stranger.with_cookie_of(&reply)
    }

    /// The same one, with the cookie of an answer.
    pub(super) fn with_cookie_of(&self, reply: &Reply) -> Self {
        let cookie = reply.header("set-cookie").split(';').next().unwrap().to_owned();
        assert!(cookie.starts_with(&cookie_name(self.server)), "{reply:?}");
        Self { server: self.server, cookie }
    }

    pub(super) fn log_in(&self, token: &str) -> Reply {
        self.post("/login", &[("token", token)])
    }

    /// Looks at a page.
    pub(super) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &["Accept: text/html"], "")
    }

    /// Sends a form of a page of ours.
    pub(super) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let origin = format!("Origin: http://{}", self.server.address);
        self.send("POST", path, &[&origin, FORM], &encoded(fields))
    }

    /// Takes an act by a fresh form.
    pub(super) fn act(&self, act: &str, fields: &[(&str, &str)]) -> Reply {
        let page = self.get("/").body;
        let (csrf, once, back) = (value_of(&page, "csrf"), value_of(&page, "once"), "/objectives?x=1");
        let own = [("csrf", &*csrf), ("once", &*once), ("act", act), ("back", back)];
        self.post("/act", &[&own[..], fields].concat())
    }

    /// Takes an act, which has to be done, and returns what the next page says about it.
    #[track_caller]
    pub(super) fn done(&self, act: &str, fields: &[(&str, &str)]) -> String {
        let reply = self.act(act, fields);
        assert_eq!(
            (reply.status, reply.header("location")),
            (303, "/objectives?x=1"),
            "{act}: {}",
            reply.body
        );
        let page = self.get("/").body;
        let (_, said) =
            page.split_once("<div class=\"said\" role=\"status\">").unwrap_or_else(|| panic!("{page}"));
        text(said.split_once("</div>").unwrap().0)
    }

    /// Takes an act that is refused, and returns the words and the hint, as a terminal has them.
    #[track_caller]
    pub(super) fn refused(&self, act: &str, status: u16, fields: &[(&str, &str)]) -> String {
        let reply = self.act(act, fields);
        assert_eq!(reply.status, status, "{act}: {}", reply.body);
        words(&reply.body)
    }

    /// Sends a form of an act after the session was over.
    pub(super) fn act_without_a_session(&self, act: &str, fields: &[(&str, &str)]) -> Reply {
        let own = [("csrf", "gone"), ("once", "gone-1"), ("act", act), ("back", "/notes")];
        self.post("/act", &[&own[..], fields].concat())
    }

    /// The version of an objective that its page shows.
    pub(super) fn version(&self, azolla: &str, id: &str) -> String {
        value_of(&self.get(&format!("/objectives/{azolla}/{id}")).body, "version")
    }

    /// The word that every form of the session carries.
    pub(super) fn csrf(&self) -> String {
        value_of(&self.get("/").body, "csrf")
    }

    pub(super) fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        let cookie = format!("Cookie: {}", self.cookie);
        let mut headers = headers.to_vec();
        if !self.cookie.is_empty() {
            headers.push(&cookie);
        }
        self.server.send(method, path, &headers, body)
    }

    /// Opens a stream of events.
    pub(super) fn stream(&self, path: &str) -> TcpStream {
        let mut stream = self.server.connect();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            self.server.address, self.cookie
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }
}

/// The name of a server's cookie, with the `=`.
pub(super) fn cookie_name(server: &Server<'_>) -> String {
    format!("azolla_session_{}=", server.address.rsplit_once(':').unwrap().1)
}

/// What a browser calls a form.
pub(super) const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// Writes fields as a browser does.
pub(super) fn encoded(fields: &[(&str, &str)]) -> String {
    let quoted = |text: &str| {
        text.replace("\r\n", "\n")
            .replace('\n', "\r\n")
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect::<String>()
    };
    fields
        .iter()
        .map(|(name, value)| format!("{}={}", quoted(name), quoted(value)))
        .collect::<Vec<_>>()
        .join("&")
}

/// Returns the value of a hidden field of a page.
#[track_caller]
pub(super) fn value_of(page: &str, name: &str) -> String {
    let (_, after) =
        page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("no {name}: {page}"));
    after.split_once('"').unwrap().0.to_owned()
}

/// Returns what a page says is wrong, and what helps.
#[track_caller]
pub(super) fn words(page: &str) -> String {
    let (_, alert) = page.split_once("role=\"alert\">").unwrap_or_else(|| panic!("{page}"));
    let (words, after) = alert.split_once("</p>").unwrap();
    let hint = after.split_once("What helps: ").map(|(_, hint)| text(hint.split_once("</p>").unwrap().0));
    format!("{}\n{}", text(words), hint.map_or_else(String::new, |hint| format!("hint: {hint}\n")))
}

/// Returns the text of some HTML.
pub(super) fn text(html: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
