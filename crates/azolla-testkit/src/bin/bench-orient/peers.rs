//! Many peers, each behind a server of its own, against the slowest of them alone.
//!
//! Twice: from the first question to the last answer, as the servers see it; and the whole of `azolla manifest`, which asks
//! all of them for the orientation and once more for what is overdue.

use crate::{
    Size,
    figures::{Figures, Goal},
    home::{Home, configuration},
    server::Servers,
    spread::Spread,
};

const PLACE: &str = "peers";

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let servers = Servers::start(size.peers, size.slowest).await?;
    let all = Home::new(&registry(&servers.peers))?;
    let one = Home::new(&registry(&servers.peers[..1]))?;
    let (mut alone, mut together) = (Spread::default(), Spread::default());
    let mut spans = Spread::default();
    for round in 0..=size.peer_rounds {
        let (single, _) = tokio::task::block_in_place(|| one.timed(&["manifest"]))?;
        servers.span()?;
        let (many, page) = tokio::task::block_in_place(|| all.timed(&["manifest"]))?;
        let (asked, span, longest) = servers.span()?;
        anyhow::ensure!(asked == size.peers, "{asked} peers were asked");
        let heard = format!("from {} azollas", size.peers);
        anyhow::ensure!(page.contains(&heard), "not all of them answered:\n{page}");
        if round > 0 {
            alone.push(single);
            together.push(many);
            spans.push(span.as_secs_f64() / longest.as_secs_f64());
        }
    }
    let (slowest, count) = (size.slowest.as_secs_f64() * 1e3, size.peers);
    figures.add(PLACE, "the slowest answer", "ms", slowest, Goal::None);
    figures.add(PLACE, "azolla manifest, the slowest peer alone", "ms", alone.median(), Goal::None);
    figures.add(PLACE, format!("azolla manifest, {count} peers"), "ms", together.median(), Goal::None);
    let goal = Goal::MachineAtMost(2.0);
    figures.add(PLACE, format!("{count} peers: first question to last answer"), "x", spans.median(), goal);
    let against = together.median() / alone.median();
    figures.add(PLACE, format!("{count} peers against the slowest alone"), "x", against, goal);
    Ok(())
}

fn registry(peers: &[(azolla_protocol::AzollaId, String)]) -> String {
    let mut text = configuration(0);
    for (id, url) in peers {
        text.push_str(&format!(
            "\n[peer.{id}]\ntype = \"CODE_PATCH_AZOLLA\"\nurl = \"{url}\"\ntoken_env = \"TOKEN\"\n"
        ));
    }
    text
}
