//! The time to the first byte of the first page: a home of twenty azollas with much history against an empty one, in turns. A
//! third home has the same open work and hardly any history: it tells what of the difference is history.

use crate::{
    Size,
    browser::Browser,
    figures::{Figures, Goal},
    home::{Home, Templates, configuration},
    spread::Spread,
};

const PLACE: &str = "first";
const AZOLLAS: usize = 19;
/// Artifacts of the home with hardly any history.
const LITTLE: usize = 1_000;

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let templates = Templates::new().await?;
    let homes = [
        Home::new(&configuration(AZOLLAS))?,
        Home::filled(&templates, LITTLE).await?,
        Home::filled(&templates, size.artifacts).await?,
    ];
    let browsers = [Browser::open(&homes[0])?, Browser::open(&homes[1])?, Browser::open(&homes[2])?];
    let mut spreads: [Spread; 3] = Default::default();
    for round in 0..=size.rounds {
        for (browser, spread) in browsers.iter().zip(&mut spreads) {
            let answer = browser.get("/")?;
            // The first round opens the stores.
            if round > 0 {
                spread.push(answer.first_byte);
            }
        }
    }
    for browser in &browsers[1..] {
        let page = browser.get("/")?.body;
        anyhow::ensure!(page.contains("its time is over"), "what is overdue is not on the page:\n{page}");
    }
    let [empty, few, many] = spreads.map(|spread| spread.median());
    figures.add(PLACE, "20 azollas, empty", "ms", empty, Goal::None);
    figures.add(PLACE, format!("open work, {LITTLE} artifacts"), "ms", few, Goal::None);
    figures.add(PLACE, format!("open work, {} artifacts", size.artifacts), "ms", many, Goal::None);
    figures.add(PLACE, "much history against little", "x", many / few, Goal::None);
    figures.add(PLACE, "the large against the empty", "x", many / empty, Goal::MachineAtMost(3.0));
    Ok(())
}
