//! The time to the first byte of the first page: a home of twenty azollas with much history against one without any, in
//! turns.

use crate::{
    Size,
    browser::Browser,
    figures::{Figures, Goal},
    home::{Home, Templates, configuration},
    spread::Spread,
};

const PLACE: &str = "first";
const AZOLLAS: usize = 19;

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let homes =
        [Home::new(&configuration(AZOLLAS))?, Home::filled(&Templates::new().await?, size.artifacts).await?];
    let browsers = [Browser::open(&homes[0])?, Browser::open(&homes[1])?];
    let mut spreads: [Spread; 2] = Default::default();
    for round in 0..=size.rounds {
        for (browser, spread) in browsers.iter().zip(&mut spreads) {
            let answer = browser.get("/")?;
            // The first round opens the stores.
            if round > 0 {
                spread.push(answer.first_byte);
            }
        }
    }
    let large = browsers[1].get("/")?.body;
    anyhow::ensure!(large.contains("its time is over"), "what is overdue is not on the page:\n{large}");
    let [few, many] = &spreads;
    figures.add(PLACE, "20 azollas, empty", "ms", few.median(), Goal::None);
    figures.add(PLACE, format!("20 azollas, {} artifacts", size.artifacts), "ms", many.median(), Goal::None);
    let against = many.median() / few.median();
    figures.add(PLACE, "the large against the empty", "x", against, Goal::MachineAtMost(3.0));
    Ok(())
}
