//! A list of many objectives: its first page against its last one, which is found by following the link at the end of each.

use crate::{
    Size,
    browser::Browser,
    figures::{Figures, Goal},
    home::{Home, Templates},
    spread::Spread,
};

const PLACE: &str = "list";
const FIRST: &str = "/objectives?show=all";

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let home = Home::with_objectives(&Templates::new().await?, size.objectives)?;
    let browser = Browser::open(&home)?;
    let (mut pages, mut listed, mut last) = (0_u32, 0, FIRST.to_owned());
    loop {
        let page = browser.get(&last)?.body;
        pages += 1;
        listed += page.matches("href=\"/objectives/").count();
        let Some(next) = next(&page) else { break };
        last = next;
    }
    anyhow::ensure!(listed >= size.objectives, "{listed} of {} objectives are listed", size.objectives);
    let mut spreads: [Spread; 2] = Default::default();
    for _ in 0..size.rounds {
        for (path, spread) in [FIRST, &last].into_iter().zip(&mut spreads) {
            spread.push(browser.get(path)?.first_byte);
        }
    }
    let [first, end] = &spreads;
    figures.add(PLACE, format!("{} objectives: pages", size.objectives), "", pages.into(), Goal::None);
    figures.add(PLACE, "the first page", "ms", first.median(), Goal::None);
    figures.add(PLACE, "the last page", "ms", end.median(), Goal::None);
    let against = (end.median() / first.median()).max(first.median() / end.median());
    figures.add(PLACE, "the slower against the faster", "x", against, Goal::MachineAtMost(2.0));
    Ok(())
}

/// Returns where the link to the page after this one leads.
fn next(page: &str) -> Option<String> {
    let link = page.split("<a ").find(|link| link.contains("rel=\"next\""))?;
    let (_, rest) = link.split_once("href=\"")?;
    Some(rest.split_once('"')?.0.replace("&amp;", "&"))
}
