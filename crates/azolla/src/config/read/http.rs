//! `[http]`: where this machine listens, and how.

use std::net::SocketAddr;

use super::Section;
use crate::config::{HttpConfig, TlsFiles, keys, report::Fault};

/// Reads the section.
pub(super) fn read(section: &Section<'_>) -> Result<HttpConfig, Fault> {
    section.only(&[&keys::HTTP])?;
    let tls = match (section.path("tls_cert")?, section.path("tls_key")?) {
        (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
        (None, None) => None,
        (Some(_), None) => return Err(section.lacks("tls_key")),
        (None, Some(_)) => return Err(section.lacks("tls_cert")),
    };
    let default = HttpConfig::default();
    Ok(HttpConfig {
        listen: listen(section)?.unwrap_or(default.listen),
        tls,
        allow_insecure: section.flag("allow_insecure")?.unwrap_or(default.allow_insecure),
        hosts: hosts(section)?,
    })
}

fn listen(section: &Section<'_>) -> Result<Option<SocketAddr>, Fault> {
    let Some((text, span)) = section.text("listen")? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| {
        Fault::new(span, "`listen` is no address with a port")
            .help("such as \"127.0.0.1:7517\" or \"[::1]:7517\"")
    })
}

/// Reads names of hosts, without a port: any port of theirs is as good.
fn hosts(section: &Section<'_>) -> Result<Vec<String>, Fault> {
    let hosts = section.words("hosts")?;
    for (host, span) in hosts.iter().zip(section.items("hosts")) {
        let is_name = |host: &str| {
            !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        };
        let is_address =
            host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>().is_ok();
        if !is_name(host) && !is_address {
            return Err(Fault::new(span, "`hosts` lists names or addresses, without a port")
                .help("such as \"desk.example\" or \"10.0.0.5\""));
        }
    }
    Ok(hosts)
}
