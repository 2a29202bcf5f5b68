//! `soak points`: every action at every write boundary, alone and among rivals, on both stores (P4).

use std::{process::ExitCode, thread, time::Instant};

use anyhow::Context;
use azolla_testkit::{
    Backend,
    points::{Action, Company, Plan, walk},
};

/// Walks what the arguments leave of it. Prints a line for each walk, and every violation.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let (mut actions, mut backends) = (Action::ALL.to_vec(), vec![Backend::Sqlite, Backend::Postgres]);
    let mut companies = vec![Company::Alone, Company::Rival];
    let mut grounds = thread::available_parallelism().map_or(2, usize::from);
    while let Some(name) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{name} needs a value"))?;
        match (name.as_str(), value.as_str()) {
            ("--action", action) => actions = vec![action.parse()?],
            ("--backend", "sqlite") => backends = vec![Backend::Sqlite],
            ("--backend", "postgres") => backends = vec![Backend::Postgres],
            ("--company", "alone") => companies = vec![Company::Alone],
            ("--company", "rival") => companies = vec![Company::Rival],
            ("--grounds", number) => grounds = number.parse()?,
            _ => anyhow::bail!("unknown: {name} {value}"),
        }
    }
    let program = std::env::current_exe()?.with_file_name("points");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut is_clean = true;
    for backend in backends {
        for company in &companies {
            for action in &actions {
                let (program, actions) = (program.clone(), vec![*action]);
                let plan = Plan { program, backend, actions, company: *company, grounds };
                is_clean &= one(&runtime, &plan)?;
            }
        }
    }
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One walk; false if something did not hold.
fn one(runtime: &tokio::runtime::Runtime, plan: &Plan) -> anyhow::Result<bool> {
    let begin = Instant::now();
    let report = runtime.block_on(walk(plan))?;
    if report.sprung == 0 && report.violations.is_empty() {
        // A cut has no meaning where there is no connection.
        return Ok(true);
    }
    for violation in &report.violations {
        println!("{violation}");
    }
    println!(
        "{:?} {:?} {}: {} points, {} sprung, {} violations, {:.0} s",
        plan.backend,
        plan.company,
        plan.actions[0],
        report.points.len(),
        report.sprung,
        report.violations.len(),
        begin.elapsed().as_secs_f64()
    );
    Ok(report.violations.is_empty())
}
