//! What each kind of page weighs, with its style, its script and its pictures, as a browser without a cache loads it.

use std::collections::BTreeMap;

use crate::{
    Size,
    browser::{Answer, Browser},
    figures::{Figures, Goal},
    home::{Home, Templates},
};

const PLACE: &str = "weight";
const KILOBYTES_MAX: f64 = 100.0;

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let home = Home::filled(&Templates::new().await?, size.artifacts).await?;
    let browser = Browser::open(&home)?;
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    let mut waiting = vec!["/".to_owned()];
    while let Some(path) = waiting.pop() {
        if found.contains_key(&kind(&path)) {
            continue;
        }
        let page = browser.get(&path)?;
        found.insert(kind(&path), kilobytes(&browser, &page)?);
        waiting.extend(page.leads_to("href").into_iter().filter(|path| !is_part(path)));
    }
    anyhow::ensure!(found.len() > 5, "only {:?} were found", found.keys());
    for (kind, kilobytes) in found {
        figures.add(PLACE, kind, "KB", kilobytes, Goal::AtMost(KILOBYTES_MAX));
    }
    Ok(())
}

fn kilobytes(browser: &Browser, page: &Answer) -> anyhow::Result<f64> {
    let mut bytes = page.body.len();
    let linked = page.leads_to("href").into_iter().filter(|path| is_part(path));
    for path in linked.chain(page.leads_to("src")) {
        bytes += browser.get(&path)?.body.len();
    }
    Ok(bytes as f64 / 1024.0)
}

/// Tells what a page loads from what it leads to.
fn is_part(path: &str) -> bool {
    path.ends_with(".css") || path.ends_with(".js") || path.ends_with(".svg")
}

/// Returns a path without what only names one of many.
fn kind(path: &str) -> String {
    let (path, query) = path.split('#').next().unwrap_or_default().split_once('?').unwrap_or((path, ""));
    let path = path.split('#').next().unwrap_or_default();
    let is_id = |part: &str| ["az-", "obj-", "run-", "out-", "man-"].iter().any(|id| part.starts_with(id));
    let parts: Vec<&str> = path.split('/').map(|part| if is_id(part) { "*" } else { part }).collect();
    let keys: Vec<&str> = query.split('&').filter_map(|pair| pair.split('=').next()).collect();
    match query.is_empty() {
        true => parts.join("/"),
        false => format!("{}?{}", parts.join("/"), keys.join("&")),
    }
}
