//! The resume page of a home with much history against that of one with little, in turns: at the first look, with a few
//! changes since the last one, and with none.

use crate::{
    Size,
    figures::{Figures, Goal},
    home::{Home, Templates},
    spread::Spread,
};

const PLACE: &str = "page";

/// How far the operator has looked before a page.
const LOOKS: [&str; 3] = ["first look", "changes since the last look", "nothing new"];

pub(crate) async fn measure(size: &Size, figures: &mut Figures) -> anyhow::Result<()> {
    let templates = Templates::new().await?;
    let [small, large] = size.artifacts;
    let homes = [Home::filled(&templates, small).await?, Home::filled(&templates, large).await?];
    // What is measured on is real: every invariant holds in it.
    homes[0].run(&["verify"])?;
    let marks = [homes[0].marks()?, homes[1].marks()?];
    let mut spreads: [[Spread; 2]; 3] = Default::default();
    for round in 0..=size.pages {
        for (look, spreads) in spreads.iter_mut().enumerate() {
            for ((home, marks), spread) in homes.iter().zip(&marks).zip(spreads) {
                match look {
                    0 => home.mark(&[])?,
                    1 => home.mark(marks)?,
                    // As the page before left it.
                    _ => {}
                }
                let (time, page) = home.timed(&[])?;
                check(look, &page)?;
                // The first round brings the files into memory.
                if round > 0 {
                    spread.push(time);
                }
            }
        }
    }
    for (look, [few, many]) in LOOKS.iter().zip(&spreads) {
        figures.add(PLACE, format!("{look}: {small} artifacts"), "ms", few.median(), Goal::None);
        let goal = Goal::MachineAtMost(100.0);
        figures.add(PLACE, format!("{look}: {large} artifacts"), "ms", many.median(), goal);
        let against = many.median() / few.median();
        figures.add(
            PLACE,
            format!("{look}: the large against the small"),
            "x",
            against,
            Goal::MachineAtMost(1.5),
        );
    }
    Ok(())
}

/// A page that does not say what it should is no page to measure.
fn check(look: usize, page: &str) -> anyhow::Result<()> {
    let expected = ["Waiting for you", "azolla triage --now", "its time is over"];
    for text in expected {
        anyhow::ensure!(page.contains(text), "{text} is missing:\n{page}");
    }
    anyhow::ensure!(!page.contains("cannot be read"), "a store was not read:\n{page}");
    anyhow::ensure!(page.contains("Since you last looked") == (look == 1), "look {look}:\n{page}");
    Ok(())
}
