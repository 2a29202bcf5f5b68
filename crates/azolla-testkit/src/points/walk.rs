//! A walk over all write boundaries: recorded once, then sprung one by one, several grounds side by side.

use std::{
    collections::{BTreeMap, VecDeque},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use rustix::process::Signal;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    task::JoinSet,
    time::timeout,
};

use super::{
    check::{Told, check, check_patches},
    ground::Ground,
    place::Place,
    scene::Scene,
    trap::{Action, Point},
};
use crate::{Backend, proxy::Proxy};

/// How long one point may take, with all that follows from it.
const POINT_LIMIT: Duration = Duration::from_secs(120);

/// Who else is there while a trap springs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Nobody: somebody clean is started afterwards.
    Alone,
    /// A process that runs the same workers on the same stores all the time.
    Rival,
}

/// What is walked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program `points`.
    pub program: PathBuf,
    /// On which store.
    pub backend: Backend,
    /// What happens at every point.
    pub actions: Vec<Action>,
    /// Who else is there.
    pub company: Company,
    /// How many grounds are walked side by side.
    pub grounds: usize,
}

/// What a walk came to.
#[derive(Debug, Default)]
pub struct Report {
    /// Every point that was recorded.
    pub points: Vec<Point>,
    /// How many of them sprang, all actions together.
    pub sprung: usize,
    /// Where something did not hold, or a point was not come to.
    pub violations: Vec<String>,
}

/// One thing to do on a ground.
#[derive(Clone)]
enum Errand {
    Record(Scene),
    Spring { scene: Scene, point: Point, action: Action },
}

/// What all grounds share.
struct Shared {
    errands: Mutex<VecDeque<Errand>>,
    report: Mutex<Report>,
    /// The first scene that comes to a point.
    scenes: Mutex<BTreeMap<Point, Scene>>,
}

/// Records all points, then springs each one with every action of the plan.
pub async fn walk(plan: &Plan) -> anyhow::Result<Report> {
    let shared = Arc::new(Shared {
        errands: Mutex::new(Scene::ALL.iter().copied().map(Errand::Record).collect()),
        report: Mutex::default(),
        scenes: Mutex::default(),
    });
    let mut walkers = Vec::new();
    for _ in 0..plan.grounds.max(1) {
        walkers.push(Walker::new(plan).await?);
    }
    let walkers = all(walkers, &shared).await?;
    let points: Vec<(Point, Scene)> =
        lock(&shared.scenes).iter().map(|(point, scene)| (point.clone(), *scene)).collect();
    lock(&shared.report).points = points.iter().map(|(point, _)| point.clone()).collect();
    *lock(&shared.errands) = plan
        .actions
        .iter()
        .flat_map(|action| {
            let here = points.iter().filter(|(point, _)| point.takes(*action, plan.backend));
            here.map(|(point, scene)| Errand::Spring { scene: *scene, point: point.clone(), action: *action })
        })
        .collect();
    let mut accompanied = Vec::new();
    for mut walker in walkers {
        walker.invite().await?;
        accompanied.push(walker);
    }
    for walker in all(accompanied, &shared).await? {
        walker.end().await?;
    }
    let report = std::mem::take(&mut *lock(&shared.report));
    Ok(report)
}

/// Lets all walkers run errands until none is left.
async fn all(walkers: Vec<Walker>, shared: &Arc<Shared>) -> anyhow::Result<Vec<Walker>> {
    let mut running = JoinSet::new();
    for mut walker in walkers {
        let shared = shared.clone();
        running.spawn(async move {
            walker.run(&shared).await?;
            anyhow::Ok(walker)
        });
    }
    let mut back = Vec::new();
    while let Some(walker) = running.join_next().await {
        back.push(walker??);
    }
    Ok(back)
}

/// Somebody with a ground of its own.
struct Walker {
    plan: Plan,
    ground: Ground,
    rival: Option<Process>,
}

impl Walker {
    async fn new(plan: &Plan) -> anyhow::Result<Self> {
        Ok(Self { plan: plan.clone(), ground: Ground::new(plan.backend).await?, rival: None })
    }

    /// Starts the rival, if the plan has one.
    async fn invite(&mut self) -> anyhow::Result<()> {
        if self.plan.company == Company::Rival {
            let mut rival = self.start(&["rival".to_owned()])?;
            ensure!(rival.line().await?.as_deref() == Some("ready"), "the rival did not start");
            self.rival = Some(rival);
        }
        Ok(())
    }

    async fn run(&mut self, shared: &Shared) -> anyhow::Result<()> {
        loop {
            let Some(errand) = lock(&shared.errands).pop_front() else { return Ok(()) };
            match &errand {
                Errand::Record(scene) => self.record(*scene, shared).await?,
                Errand::Spring { scene, point, action } => {
                    let sprung = timeout(POINT_LIMIT, self.spring(*scene, point, *action)).await;
                    match sprung.unwrap_or_else(|_| Err(anyhow::anyhow!("it does not come to an end"))) {
                        Ok(()) => lock(&shared.report).sprung += 1,
                        Err(error) => {
                            let Plan { backend, company, .. } = self.plan;
                            let what =
                                format!("{backend:?} {company:?} {action} {point} ({scene}): {error:#}");
                            lock(&shared.report).violations.push(what);
                            // What follows is judged on a ground where nothing has happened yet.
                            let mut fresh = Self::new(&self.plan).await?;
                            fresh.invite().await?;
                            *self = fresh;
                        }
                    }
                }
            }
        }
    }

    /// Plays a scene without a trap, and notes the points that it comes to.
    async fn record(&mut self, scene: Scene, shared: &Shared) -> anyhow::Result<()> {
        let ended = self.start(&["scene".into(), scene.to_string(), "1".into()])?.finish().await?;
        ensure!(ended.status.success(), "scene {scene} failed: {}", ended.status);
        for point in ended.points.into_iter().filter(|point| scene.is_sure_of(point)) {
            let mut scenes = lock(&shared.scenes);
            let first = scenes.entry(point).or_insert(scene);
            *first = scene.min(*first);
        }
        self.ground.drain().await.with_context(|| format!("after scene {scene}"))?;
        check(&mut self.ground, &ended.told, false).await.with_context(|| format!("after scene {scene}"))
    }

    /// Lets a trap spring, lets somebody complete what is left, and checks everything.
    async fn spring(&mut self, scene: Scene, point: &Point, action: Action) -> anyhow::Result<()> {
        // Alone a scene comes to its points every time; among rivals, when they leave it something to do.
        let rounds = match self.plan.company {
            Company::Alone => "2",
            Company::Rival => "300",
        };
        let arguments =
            ["scene".into(), scene.to_string(), rounds.into(), point.to_string(), action.to_string()];
        let place = match &self.ground.proxy {
            Some(proxy) if action.is_cut() => Place {
                database: self.ground.place.database.as_deref().map(|url| proxy.url(url)).transpose()?,
                ..self.ground.place.clone()
            },
            _ => self.ground.place.clone(),
        };
        let mut process = Process::start(&self.plan, &place, &arguments)?;
        let is_hit = process.until_hit().await?;
        let cuts_before = self.ground.proxy.as_ref().map_or(0, Proxy::cuts);
        if is_hit {
            match (action, &self.ground.proxy) {
                (Action::Abort | Action::Error, _) => {}
                (Action::Sleep, _) => {
                    self.rest().await?;
                    process.go().await?;
                }
                (_, Some(proxy)) => {
                    match action {
                        Action::CutBegin => proxy.cut_before("BEGIN"),
                        Action::CutCommit => proxy.cut_before_commit(),
                        _ => proxy.cut_after_commit(),
                    }
                    process.go().await?;
                }
                (_, None) => bail!("there is no connection to cut"),
            }
        }
        let ended = process.finish().await?;
        ensure!(is_hit, "the point was not come to: {:?}", ended.failed);
        ensure!(ended.broken.is_empty(), "a worker returned what no fault explains: {:?}", ended.broken);
        if let Some(proxy) = &self.ground.proxy
            && action.is_cut()
        {
            ensure!(proxy.cuts() > cuts_before, "the connection was not cut");
            proxy.restore();
        }
        let is_killed = ended.status.signal() == Some(Signal::KILL.as_raw());
        ensure!(is_killed == (action == Action::Abort), "the process ended with {}", ended.status);
        ensure!(is_killed || ended.status.success(), "the process ended with {}", ended.status);
        self.rest().await?;
        let may_be_by_hand = action == Action::Error && point.name == "repository.publish";
        check(&mut self.ground, &ended.told, may_be_by_hand).await
    }

    /// Lets somebody else complete what is left to do.
    async fn rest(&self) -> anyhow::Result<()> {
        match self.rival {
            None => self.ground.drain().await,
            Some(_) => self.ground.settle().await,
        }
    }

    /// Ends the rival in good order, and rebuilds every patch of the ground.
    async fn end(mut self) -> anyhow::Result<()> {
        if let Some(rival) = self.rival.take() {
            let ended = rival.finish().await?;
            ensure!(ended.status.success(), "the rival ended with {}", ended.status);
        }
        check(&mut self.ground, &Told::default(), false).await?;
        check_patches(&self.ground).await
    }

    fn start(&self, arguments: &[String]) -> anyhow::Result<Process> {
        Process::start(&self.plan, &self.ground.place, arguments)
    }
}

/// A process of the walk, and what it printed.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    ended: Ended,
}

/// How a process ended, and what it had printed by then.
#[derive(Default)]
struct Ended {
    status: ExitStatus,
    points: Vec<Point>,
    told: Told,
    failed: Vec<String>,
    broken: Vec<String>,
}

impl Process {
    #[expect(clippy::disallowed_methods, reason = "a process of the tests, which nothing confines or bounds")]
    fn start(plan: &Plan, place: &Place, arguments: &[String]) -> anyhow::Result<Self> {
        let mut command = std::process::Command::new(&plan.program);
        command.arg(&place.root).arg(place.database.as_deref().unwrap_or("-")).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}", plan.program.display()))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("the process has an output")?;
        let lines = BufReader::new(output).lines();
        Ok(Self { child, input, lines, ended: Ended::default() })
    }

    /// Returns the next line; none at its end.
    async fn line(&mut self) -> anyhow::Result<Option<String>> {
        Ok(self.lines.next_line().await?)
    }

    /// Reads until the trap springs; false if the process ends before.
    async fn until_hit(&mut self) -> anyhow::Result<bool> {
        while let Some(line) = self.line().await? {
            if line == "hit" {
                return Ok(true);
            }
            self.note(&line)?;
        }
        Ok(false)
    }

    /// Tells a process that stands still to go on.
    async fn go(&mut self) -> anyhow::Result<()> {
        self.input.as_mut().context("the process has an input")?.write_all(b"go\n").await?;
        Ok(())
    }

    /// Closes its input and reads until it ends.
    async fn finish(mut self) -> anyhow::Result<Ended> {
        drop(self.input.take());
        while let Some(line) = self.line().await? {
            self.note(&line)?;
        }
        self.ended.status = self.child.wait().await?;
        Ok(self.ended)
    }

    fn note(&mut self, line: &str) -> anyhow::Result<()> {
        let (kind, what) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "point" => self.ended.points.push(what.parse()?),
            "objective" | "capture" | "event" | "commit" => self.ended.told.ids.push(line.to_owned()),
            "failed" => self.ended.failed.push(what.to_owned()),
            "broken" => self.ended.broken.push(what.to_owned()),
            "done" => {}
            _ => bail!("the process printed {line}"),
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
