//! `[peer.<id>]` and `[http]` are read strictly, and edits leave the rest of the file as it is.

use std::path::Path;

use super::*;
use crate::config::{Added, Config, add_peer, first_text, remove_peer};

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("config.toml")).map_err(|problem| problem.to_string())
}

const FAR: &str =
    "[peer.az-far]\ntype = \"CODE_PATCH_AZOLLA\"\nurl = \"https://far.example:7517/\"\ntoken_file = \"/t\"\n";

#[test]
fn y1_peers_are_part_of_the_registry() {
    let text = format!("{FAR}ca_file = \"/ca\"\n[peer.az-desk]\ntype = \"TASK_MGMT_AZOLLA\"\n");
    let far = PeerConfig {
        id: AzollaId::new("az-far").unwrap(),
        azolla_type: AzollaType::CodePatch,
        url: Some("https://far.example:7517".to_owned()),
        token: Some(KeyFrom::File("/t".into())),
        ca_file: Some("/ca".into()),
    };
    let desk = PeerConfig {
        id: AzollaId::new("az-desk").unwrap(),
        azolla_type: AzollaType::TaskMgmt,
        url: None,
        token: None,
        ca_file: None,
    };
    assert_eq!(parse(&text).unwrap().peers, [desk, far]);
}

#[test]
fn y1_a_peer_that_cannot_be_is_refused_with_what_helps() {
    let refused = |text: &str| parse(text).map(drop).unwrap_err();
    let far = |from: &str, to: &str| {
        assert!(FAR.contains(from));
        refused(&FAR.replace(from, to))
    };
    assert!(far("az-far", "far").contains("such as [peer.az-app]"));
    assert!(far("type = \"CODE_PATCH_AZOLLA\"\n", "").contains("has no `type`"));
    assert!(far("url", "uri").contains("did you mean `url`?"));
    assert!(far("https", "http").contains("must be https://"));
    assert!(far("token_file = \"/t\"\n", "").contains("token_env = \"NAME_OF_A_VARIABLE\""));
    assert!(far("url = \"https://far.example:7517/\"\n", "").contains("has no `url`"));
    assert!(far("\"/t\"", "\"t\"").contains("must be an absolute path"));
    assert!(far("token_file = \"/t\"", "token_env = \"A\"\ntoken_file = \"/t\"").contains("already"));
    // One name is asked in one place; what only asks may be called like an azolla of this machine.
    let here = "[azolla.az-far]\ntype = \"TASK_MGMT_AZOLLA\"\n";
    assert!(refused(&format!("{here}{FAR}")).contains("is an azolla of this machine"));
    parse(&format!("{here}[peer.az-far]\ntype = \"TASK_MGMT_AZOLLA\"\n")).unwrap();
}

#[test]
fn t29_a_token_in_the_file_is_refused_and_not_shown() {
    let secret = "a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6";
    for line in ["token = ", "bearer = ", "token_env = ", "url = \"https://me:", "auth_token = "] {
        let value =
            if line.contains("https") { format!("{secret}@far.example\"") } else { format!("\"{secret}\"") };
        let text = format!("[peer.az-far]\ntype = \"CODE_PATCH_AZOLLA\"\n{line}{value}\n");
        let told = parse(&text).map(drop).unwrap_err();
        assert!(!told.contains(secret), "{told}");
    }
}

#[test]
fn t26_http_is_for_this_machine_unless_said_otherwise() {
    assert_eq!(parse("").unwrap().http, HttpConfig::default());
    assert!(HttpConfig::default().listen.ip().is_loopback() && !HttpConfig::default().allow_insecure);
    let text = "[http]\nlisten = \"[::]:80\"\ntls_cert = \"/c\"\ntls_key = \"/k\"\nhosts = [\"a.example\", \"10.0.0.5\", \"[::1]\"]\n";
    let read = parse(text).unwrap().http;
    assert_eq!(read.tls, Some(TlsFiles { cert: "/c".into(), key: "/k".into() }));
    assert_eq!((read.listen.to_string().as_str(), read.hosts.len()), ("[::]:80", 3));
    let refused = |text: &str| parse(&format!("[http]\n{text}")).map(drop).unwrap_err();
    assert!(refused("listen = \"localhost\"").contains("no address with a port"));
    assert!(refused("tls_cert = \"/c\"").contains("has no `tls_key`"));
    assert!(refused("tls_key = \"/k\"").contains("has no `tls_cert`"));
    assert!(refused("hosts = [\"a.example:80\"]").contains("without a port"));
    assert!(refused("hosts = [\"*\"]").contains("without a port"));
    assert!(refused("allow_insecure = \"yes\"").contains("true or false"));
    assert!(refused("allowed_insecure = true").contains("did you mean `allow_insecure`?"));
}

#[test]
fn a_peer_is_added_and_removed_and_the_rest_of_the_file_stays() {
    let path = Path::new("config.toml");
    let before = format!("{}\n[attention]\nreview_limit = 5 # mine\n", first_text());
    let config = parse(FAR).unwrap();
    let (added, new) = add_peer(&before, path, &config.peers[0]).unwrap();
    assert_eq!(new, Added::New);
    assert_eq!(parse(&added).unwrap().peers, config.peers);
    assert!(added.contains("review_limit = 5 # mine"));
    assert_eq!(add_peer(&added, path, &config.peers[0]).unwrap(), (added.clone(), Added::Already));
    let id = &config.peers[0].id;
    assert_eq!(remove_peer(&added, path, id).unwrap(), before);
    assert_eq!(remove_peer(&before, path, id).unwrap(), before);
}
