//! The newest runs, and how long they took, what they used and how much waited, over time.

mod waiting;

use azolla_protocol::{AzollaId, AzollaType, GateResult, RunRecord, Timestamp};
use azolla_substrate::SubstrateError;
use futures_util::future::join_all;
use maud::{Markup, html};

use self::waiting::Waiting;
use super::load::{self, away};
use crate::{
    config::AzollaConfig,
    dashboard::{
        Ask, PageError, Shown,
        frame::Tab,
        part,
        plot::{self, Plot, Point},
    },
    deployment::STANDING,
    ledger,
    screen::duration,
};

/// Runs on a page.
const PAGE: usize = 40;

/// What the page says.
pub(super) struct Listed {
    pub(super) now: Timestamp,
    pub(super) rows: Vec<Row>,
    pub(super) next: Option<String>,
    pub(super) waiting: Waiting,
    pub(super) away: Vec<(AzollaId, String)>,
}

/// One run.
pub(super) struct Row {
    pub(super) azolla_id: AzollaId,
    pub(super) run: RunRecord,
    pub(super) title: String,
    pub(super) took_ms: u64,
    pub(super) tokens: u64,
    pub(super) cost_microusd: Option<u64>,
}

/// Shows it.
pub(crate) async fn show(ask: &Ask<'_>) -> Result<Shown, PageError> {
    let listed = load(ask).await;
    Ok(Shown { title: "Runs".to_owned(), tab: Tab::Runs, main: view(&listed) })
}

async fn load(ask: &Ask<'_>) -> Listed {
    let azollas = ask.app.deployment.config.azollas.iter();
    let reads = join_all(azollas.map(|azolla| async move { (azolla, read(ask, azolla).await) }));
    let mut listed = Listed {
        now: Timestamp::MIN,
        rows: Vec::new(),
        next: None,
        waiting: Waiting::default(),
        away: Vec::new(),
    };
    let mut found = Vec::new();
    for (azolla, read) in reads.await {
        match read {
            Ok((now, runs, waiting)) => {
                listed.now = listed.now.max(now);
                listed.waiting.add(waiting);
                found.extend(runs.into_iter().map(|run| (azolla, run)));
            }
            Err(error) => listed.away.push((azolla.id.clone(), error.to_string())),
        }
    }
    found.sort_by_key(|(_, run)| std::cmp::Reverse((run.created_at, run.run_id.clone())));
    let is_last = found.len() <= PAGE;
    found.truncate(PAGE);
    let last = found.last().filter(|_| !is_last);
    listed.next = last.map(|(_, last)| load::key(last.created_at, last.run_id.as_str()));
    for row in join_all(found.into_iter().map(|(azolla, run)| row(ask, azolla, run))).await {
        match row {
            Ok(row) => listed.rows.push(row),
            Err((id, error)) => listed.away.push((id, error.to_string())),
        }
    }
    listed
}

async fn read(
    ask: &Ask<'_>,
    azolla: &AzollaConfig,
) -> Result<(Timestamp, Vec<RunRecord>, Waiting), PageError> {
    let store = ask.app.stores.looking(azolla).await.map_err(away)?;
    let now = store.now().await.map_err(away)?;
    // One more than fits tells whether there is another page.
    let runs = store.runs_listed(load::before(ask).as_ref(), PAGE as u64 + 1).await.map_err(away)?;
    let waiting = match azolla.azolla_type {
        AzollaType::CodePatch => waiting::read(&*store).await.map_err(away)?,
        AzollaType::TaskMgmt => Waiting::default(),
    };
    Ok((now, runs, waiting))
}

async fn row(ask: &Ask<'_>, azolla: &AzollaConfig, run: RunRecord) -> Result<Row, (AzollaId, PageError)> {
    let failed = |error: PageError| (azolla.id.clone(), error);
    let store = ask.app.stores.looking(azolla).await.map_err(|error| failed(away(error)))?;
    let read = async {
        let stored = store.workorder(&run.work_order_id).await?;
        let usage = store.usage_of(&run.work_order_id).await?;
        let title = match run.objective_id.as_str() {
            STANDING => None,
            _ => store.objective(&run.objective_id).await?.map(|stored| stored.objective.title),
        };
        let costs: Vec<u64> = usage.iter().filter_map(|usage| usage.cost_microusd).collect();
        Ok::<_, SubstrateError>(Row {
            azolla_id: azolla.id.clone(),
            title: title.unwrap_or_else(|| "Notes and orientation".to_owned()),
            took_ms: stored.map_or(0, |stored| stored.budget_consumed_ms),
            tokens: usage.iter().map(|usage| usage.input_tokens + usage.output_tokens).sum(),
            cost_microusd: (!costs.is_empty()).then(|| costs.iter().sum()),
            run,
        })
    };
    read.await.map_err(|error| failed(away(error)))
}

pub(super) fn view(listed: &Listed) -> Markup {
    html! {
        h1 tabindex="-1" { "Runs" }
        @for (id, why) in &listed.away { div.remark { h2 { (id) " cannot be read" } p { (part::words(why)) } } }
        div data-live="runs" {
            @if listed.rows.is_empty() { p { "Nothing has run yet." } }
            @else {
                (plots(listed))
                (table(listed))
            }
        }
        @if let Some(next) = &listed.next { (part::older(&format!("/runs?before={next}"))) }
    }
}

fn plots(listed: &Listed) -> Markup {
    let point = |row: &Row, value: u64| Point { value, is_bad: row.run.gate_result == GateResult::Fail };
    let oldest_first = || listed.rows.iter().rev();
    let took: Vec<_> = oldest_first().map(|row| point(row, row.took_ms)).collect();
    let tokens: Vec<_> = oldest_first().map(|row| point(row, row.tokens)).collect();
    let failed = took.iter().filter(|point| point.is_bad).count();
    let of = |points: &[Point], shown: &dyn Fn(u64) -> String| {
        let most = points.iter().map(|point| point.value).max().unwrap_or(0);
        if most == 0 {
            return format!("none were counted in {}", part::counted(points.len(), "run", "runs"));
        }
        let last = points.last().map_or(0, |point| point.value);
        format!(
            "{} at the most, {} for the last of {}",
            shown(most),
            shown(last),
            part::counted(points.len(), "run", "runs")
        )
    };
    html! {
        div.plots {
            (plot::bars(&Plot { title: "Time under way", words: format!("{}; {failed} failed", of(&took, &duration)) }, &took))
            (plot::bars(&Plot { title: "Tokens", words: of(&tokens, &ledger::number) }, &tokens))
            (listed.waiting.view(listed.now))
        }
    }
}

fn table(listed: &Listed) -> Markup {
    html! {
        table.list.runs {
            thead { tr { th scope="col" { "Run" } th scope="col" { "Result" } th scope="col" { "Took" } th scope="col" { "Tokens" } th scope="col" { "When" } } }
            tbody {
                @for row in &listed.rows {
                    tr {
                        td {
                            a.row href=(part::run_path(&row.azolla_id, &row.run.run_id)) { (part::words(&row.title)) }
                            div.faint { (row.run.run_id) " in " (row.azolla_id) }
                        }
                        td { (part::verdict(row.run.gate_result)) " " span.reason { (part::reason(&row.run.gate_reason)) } }
                        td.number { span.label { "took " } (duration(row.took_ms)) }
                        td.number { (ledger::number(row.tokens)) span.label { " tokens" } @if let Some(cost) = row.cost_microusd { div.faint { (ledger::cents(cost)) } } }
                        td { (part::when(row.run.created_at, listed.now)) }
                    }
                }
            }
        }
    }
}
