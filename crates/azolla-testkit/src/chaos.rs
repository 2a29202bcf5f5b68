//! Chaos (P5, P6, P9, P18): several processes of the real program on one deployment, killed, stopped for longer than a
//! lease, given wrong clocks and cut off from their database, while an operator works at the command line.
//!
//! The seed gives the schedule: what happens to whom, after how many workorders, and what the operator and the workers
//! draw. What runs beside what is the machine's doing, so a seed that shows a violation need not show it again.

mod check;
mod clock;
mod database;
mod faults;
mod floor;
mod hand;
mod look;
mod operator;
mod schedule;
mod site;

use std::{
    fmt, fs,
    path::PathBuf,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

pub use self::schedule::Faults;
use self::{
    check::{Checkout, Left},
    floor::{Floor, Phase},
    look::Looker,
    schedule::Schedule,
    site::Site,
};
use crate::store::Backend;

/// People at the command line.
const OPERATORS: usize = 2;
/// How often the stores are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// How long nothing may move before that is a violation (P18).
const STALL: Duration = Duration::from_secs(60);
/// How long an azolla with an open workorder may gate none.
const STREAM_STALL: Duration = Duration::from_secs(120);
/// How long everything may take to come to rest.
const DRAIN: Duration = Duration::from_secs(240);
/// Lines of each log and of the story that a violation shows.
const SHOWN: usize = 40;

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program.
    pub program: PathBuf,
    /// Its stores: files of one home, or a database that every process has a home beside.
    pub backend: Backend,
    /// All chance of it.
    pub seed: u64,
    /// How many workorders are gated before the faults stop.
    pub workorders: u64,
    /// How many processes there are.
    pub processes: usize,
    /// How often each fault happens.
    pub faults: Faults,
}

/// What a run that held was.
#[derive(Clone, Debug)]
pub struct Figures {
    backend: Backend,
    seed: u64,
    left: Left,
    happened: Faults,
    poisoned: u64,
    refused: u64,
    elapsed: Duration,
    checked: Duration,
}

/// What must not be, with what led to it.
#[derive(Debug)]
pub struct Violation {
    text: String,
}

/// Runs work and faults until both are done, lets everything come to rest and checks what has to hold.
pub fn run(settings: &Settings) -> Result<Figures, Violation> {
    let begin = Instant::now();
    let faults = settings.faults.on(settings.backend);
    let schedule = Schedule::draw(settings.seed, faults, settings.workorders, settings.processes);
    let set_up = || -> anyhow::Result<(Site, Vec<Checkout>)> {
        let site = Site::new(settings)?;
        let before = check::checkouts(&site)?;
        Ok((site, before))
    };
    let (site, before) = set_up().map_err(|error| Violation { text: format!("setting up: {error:#}") })?;
    let drivers = settings.processes + usize::from(site.database.is_some());
    let floor = Floor::new(&site, settings.seed, drivers);
    work(&floor, schedule, settings);
    let (worked, mut left) = (begin.elapsed(), Left::default());
    let (happened, poisoned) = (floor.tally.faults(), floor.tally.poisoned.load(Ordering::Relaxed));
    if floor.violation().is_none() {
        match check::all(&floor, &before) {
            Ok(found) => left = found,
            Err(error) => floor.violated(format!("{error:#}")),
        }
        // Kills and pauses that left no claim to take over would prove nothing.
        if floor.violation().is_none() && left.takeovers == 0 {
            floor.violated("no claim was taken over".to_owned());
        }
        // Nor would faults that did not happen.
        if !happened.has_all_of(&faults) || poisoned == 0 {
            floor.violated(format!(
                "planned were {faults:?} and a poison, there were {happened:?} and {poisoned}"
            ));
        }
    }
    if let Some(what) = floor.violation() {
        site.keep_for_a_look();
        return Err(Violation::new(settings, &floor, &what));
    }
    Ok(Figures {
        backend: settings.backend,
        seed: settings.seed,
        left,
        happened,
        poisoned,
        refused: floor.tally.refused.load(Ordering::Relaxed),
        elapsed: worked,
        checked: begin.elapsed() - worked,
    })
}

/// Everybody at once, until everything is at rest or something must not be.
fn work(floor: &Floor<'_>, schedule: Schedule, settings: &Settings) {
    thread::scope(|scope| {
        scope.spawn(|| watch(floor));
        let Schedule { processes, database } = schedule;
        for (number, due) in processes.into_iter().enumerate() {
            scope.spawn(move || faults::drive_process(floor, number, due));
        }
        if floor.site.database.is_some() {
            scope.spawn(move || faults::drive_database(floor, database));
        }
        for number in 0..OPERATORS as u64 {
            scope.spawn(move || operator::work(floor, number));
        }
        lead(floor, settings.workorders);
        floor.enter(Phase::Over);
    });
}

/// Looks at the stores until the run is over.
fn watch(floor: &Floor<'_>) {
    let mut looker = match Looker::new(floor.site) {
        Ok(looker) => looker,
        Err(error) => return floor.violated(format!("the stores cannot be looked at: {error:#}")),
    };
    while floor.phase() != Phase::Over {
        // A database that is away is looked at again.
        if let Ok(look) = looker.look() {
            floor.saw(look);
        }
        floor.site.kill_the_poisoned();
        thread::park_timeout(LOOK_EVERY);
    }
}

/// Waits for the work and the faults to be done, then for everything to come to rest.
fn lead(floor: &Floor<'_>, workorders: u64) {
    let (mut gated, mut moved, mut draining) = (0, Instant::now(), None);
    let mut streams: Vec<_> = floor.site.azollas().map(|azolla| (azolla, 0, Instant::now())).collect();
    while floor.phase() != Phase::Over {
        floor.wait_for_a_look();
        let is_quiet = floor.commands.load(Ordering::SeqCst) == 0;
        if is_quiet {
            // One more, which began after the last command had ended.
            floor.wait_for_a_look();
        }
        let (look, _) = floor.look();
        if look.gated != gated {
            (gated, moved) = (look.gated, Instant::now());
        }
        // One azolla may stand still while the others go on.
        for (stream, (gated, has_open)) in streams.iter_mut().zip(&look.streams) {
            if stream.1 != *gated || !has_open {
                (stream.1, stream.2) = (*gated, Instant::now());
            }
        }
        let still = streams.iter().find(|(_, _, since)| since.elapsed() > STREAM_STALL);
        if let Some((azolla, ..)) = still.filter(|_| draining.is_none()) {
            floor.violated(format!("no workorder of {azolla} was gated for {STREAM_STALL:?} (12, P18)"));
        }
        match draining {
            None if moved.elapsed() > STALL => {
                floor.violated(format!("nothing moved for {STALL:?}, with {} open (12, P18)", look.open));
            }
            None if gated >= workorders && floor.drivers.load(Ordering::SeqCst) == 0 => {
                floor.note("the faults are over".to_owned());
                floor.enter(Phase::Draining);
                draining = Some(Instant::now());
            }
            None => {}
            Some(_) if is_quiet && look.open == 0 => return,
            Some(since) if since.elapsed() > DRAIN => {
                let claims = Looker::new(floor.site).and_then(|mut looker| looker.claims());
                floor.violated(format!(
                    "{} were still open {DRAIN:?} after the faults had stopped (12, P18); claims: {claims:?}",
                    look.open
                ));
            }
            Some(_) => {}
        }
    }
}

impl Violation {
    fn new(settings: &Settings, floor: &Floor<'_>, what: &str) -> Self {
        let Settings { backend, seed, workorders, processes, .. } = settings;
        let mut text = format!(
            "chaos on {}, seed {seed}, {workorders} workorders, {processes} processes: {what}\n\n\
             What happened (the seed gives the schedule, not what ran beside what):\n",
            name(*backend)
        );
        text.push_str(&floor.story().join("\n"));
        let logs = fs::read_dir(floor.site.path("logs")).into_iter().flatten().flatten();
        for log in logs.map(|entry| entry.path()) {
            let all = fs::read_to_string(&log).unwrap_or_default();
            let lines: Vec<_> = all.lines().collect();
            let tail = &lines[lines.len().saturating_sub(SHOWN)..];
            text.push_str(&format!("\n\n{}:\n{}", log.display(), tail.join("\n")));
        }
        text.push_str(&format!("\n\nThe directory is kept: {}\n", floor.site.path("").display()));
        Self { text }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Violation {}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Left { workorders, objectives, captures, manifests, passed, published, promises, takeovers } =
            self.left;
        let Faults { kills, pauses, jumps, crashes, terminations, holes, cuts } = self.happened;
        write!(
            f,
            "{} seed {}: {workorders} workorders ({passed} passed, {objectives} objectives, {captures} notes, \
             {manifests} manifests, {published} branches); {kills} kills, {} by a worker, {pauses} pauses, {jumps} \
             clock jumps",
            name(self.backend),
            self.seed,
            self.poisoned
        )?;
        if self.backend == Backend::Postgres {
            write!(
                f,
                ", {crashes} crashes of the server, {terminations} sessions ended, {holes} black holes, {cuts} answers \
                 to a COMMIT lost"
            )?;
        }
        write!(
            f,
            "; {takeovers} claims lost; {promises} answers with exit code 0 kept, {} commands refused; 0 violations; \
             {:.0} s, and {:.0} s to check",
            self.refused,
            self.elapsed.as_secs_f64(),
            self.checked.as_secs_f64()
        )
    }
}

fn name(backend: Backend) -> &'static str {
    match backend {
        Backend::Sqlite => "sqlite",
        Backend::Postgres => "postgres",
    }
}
