//! The files that pages load: ours alone, each under the hash of what is in it, so that a browser keeps it for ever and
//! never has an old one.

use std::sync::LazyLock;

use axum::{
    body::Body,
    extract::RawPathParams,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use sha2::{Digest, Sha256};

/// A file that is in the program.
struct Asset {
    name: &'static str,
    content_type: &'static str,
    text: &'static str,
}

/// Every one of them.
const ASSETS: [Asset; 3] = [
    Asset {
        name: "style.css",
        content_type: "text/css; charset=utf-8",
        text: include_str!("assets/style.css"),
    },
    Asset {
        name: "script.js",
        content_type: "text/javascript; charset=utf-8",
        text: include_str!("assets/script.js"),
    },
    Asset { name: "icon.svg", content_type: "image/svg+xml", text: include_str!("assets/icon.svg") },
];

/// The path of each, made once.
static PATHS: LazyLock<[String; ASSETS.len()]> = LazyLock::new(|| {
    ASSETS.map(|asset| {
        let hash = Sha256::digest(asset.text);
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("/assets/{hash}/{}", asset.name)
    })
});

/// Where the assets are.
pub(super) const ROUTE: &str = "/assets/{hash}/{name}";

/// Returns the path of an asset.
pub(crate) fn path(name: &str) -> &'static str {
    let at = ASSETS.iter().position(|asset| asset.name == name).expect("the asset is in the table");
    &PATHS[at]
}

/// Answers with an asset, under its present hash only: whoever asks for another has another page.
pub(super) async fn show(parameters: RawPathParams) -> Response {
    let part =
        |name: &str| parameters.iter().find(|(found, _)| *found == name).map_or("", |(_, value)| value);
    let path = format!("/assets/{}/{}", part("hash"), part("name"));
    let found = PATHS.iter().position(|known| *known == path).map(|at| &ASSETS[at]);
    let Some(asset) = found else {
        let mut response = Response::new(Body::from("there is no such file"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        return response;
    };
    let mut response = Response::new(Body::from(asset.text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, kept);
    response
}
