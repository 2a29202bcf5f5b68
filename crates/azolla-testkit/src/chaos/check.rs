//! What has to hold once everything has come to rest, and nothing runs any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{
    floor::Floor,
    look::Looker,
    operator::{Promise, Told},
    site::{NOTES, PATCHING, Site, git, side_by_side, until},
};

/// How long orphaned gits of killed processes may take to end by themselves.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// An operator's repository: everything that is not ours to change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Checkout {
    refs: String,
    index: Vec<u8>,
    config: Vec<u8>,
    head: Vec<u8>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Looks at the repositories of the operator.
pub(super) fn checkouts(site: &Site) -> anyhow::Result<Vec<Checkout>> {
    ["app", "lib"].iter().map(|name| checkout(&site.path(name))).collect()
}

fn checkout(path: &Path) -> anyhow::Result<Checkout> {
    let inside = |name: &str| fs::read(path.join(".git").join(name));
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
        }
    }
    let refs = git(path, &["for-each-ref", "--format=%(refname) %(objectname) %(symref)"])?;
    let foreign = refs.lines().filter(|line| !line.starts_with("refs/heads/azolla/"));
    Ok(Checkout {
        refs: foreign.collect::<Vec<_>>().join("\n"),
        index: inside("index")?,
        config: inside("config")?,
        head: inside("HEAD")?,
        files,
    })
}

/// What a run left, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) workorders: u64,
    pub(super) objectives: u64,
    pub(super) captures: u64,
    pub(super) manifests: u64,
    pub(super) passed: u64,
    pub(super) published: u64,
    pub(super) promises: u64,
    /// Claims that another took over: what a kill or a pause had left.
    pub(super) takeovers: u64,
}

/// Checks all of it; an error says what does not hold.
pub(super) fn all(floor: &Floor<'_>, before: &[Checkout]) -> anyhow::Result<Left> {
    let site = floor.site;
    ensure!(checkouts(site)? == before, "the operator's repositories were changed");
    logs(site)?;
    processes(site)?;
    // The first thing that a start does is to remove what killed ones left.
    side_by_side(0..site.homes().len(), |machine| {
        let answer = site.azolla(machine, &["run", "--until-idle"])?;
        ensure!(
            answer.code == Some(0),
            "work was left: {:?} {}{}",
            answer.code,
            answer.stdout,
            answer.stderr
        );
        Ok(())
    })?;
    processes(site)?;
    worktrees(site)?;
    let claims = Looker::new(site)?.claims()?;
    ensure!(claims.is_empty(), "still claimed (12): {claims:?}");
    verified(site)?;
    let mut left = Left::default();
    let mut stores = BTreeMap::new();
    for azolla in site.azollas() {
        let exported = site.azolla(0, &["export", "--azolla", azolla])?.ok()?;
        let store = Store::read(&exported).with_context(|| azolla.to_owned())?;
        store.once().with_context(|| azolla.to_owned())?;
        store.count(&mut left);
        stores.insert(azolla, store);
    }
    for promise in floor.promises() {
        left.promises += 1;
        stores[promise.azolla].keeps(&promise)?;
    }
    left.published = published(site, &stores)?;
    ensure!(checkouts(site)? == before, "the operator's repositories were changed by a look at them");
    Ok(left)
}

fn logs(site: &Site) -> anyhow::Result<()> {
    for entry in fs::read_dir(site.path("logs"))? {
        let path = entry?.path();
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let panic = text.lines().find(|line| line.contains("panicked at"));
        ensure!(panic.is_none(), "{}: {}", path.display(), panic.unwrap_or_default());
    }
    Ok(())
}

/// Nothing that a process or a worker started is there any more (T30).
fn processes(site: &Site) -> anyhow::Result<()> {
    let mut found = Vec::new();
    let is_empty = until(GONE_WITHIN, || {
        found = running(&site.path(""));
        found.is_empty()
    });
    ensure!(is_empty, "processes are left: {found:#?}");
    Ok(())
}

/// Returns the processes that are somewhere in a directory, or were started with a path in it.
fn running(directory: &Path) -> Vec<String> {
    let directory = directory.to_string_lossy();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_other = name.parse::<u32>().is_ok_and(|pid| pid != std::process::id());
        if !is_other {
            continue;
        }
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let place = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if command.contains(&*directory) || place.to_string_lossy().starts_with(&*directory) {
            found.push(format!("{name} {command}in {}", place.display()));
        }
    }
    found
}

/// No directory of a worker or a check is left.
fn worktrees(site: &Site) -> anyhow::Result<()> {
    for home in site.homes() {
        for patching in &PATCHING {
            let directory = home.join("worktrees").join(patching.id);
            let places: Vec<_> = fs::read_dir(&directory).into_iter().flatten().flatten().collect();
            let left: Vec<_> = places.iter().filter(|place| place.path().join("files").exists()).collect();
            ensure!(left.is_empty(), "worktrees are left: {left:?}");
        }
        let state: Vec<_> = fs::read_dir(home.join("state")).into_iter().flatten().flatten().collect();
        let places = state.iter().filter(|entry| entry.path().is_dir()).collect::<Vec<_>>();
        ensure!(places.is_empty(), "homes of workers are left: {places:?}");
    }
    Ok(())
}

/// `azolla verify --git` finds nothing (1 to 11).
fn verified(site: &Site) -> anyhow::Result<()> {
    side_by_side(site.azollas(), |azolla| {
        let git: &[&str] = if azolla == NOTES { &[] } else { &["--git"] };
        let words = [&["verify", "--json", "--azolla", azolla][..], git].concat();
        let answer = site.azolla(0, &words)?;
        ensure!(answer.code == Some(0), "azolla {}: {}{}", words.join(" "), answer.stdout, answer.stderr);
        Ok(())
    })
}

/// What an objective passed with last is its branch, and there is no other branch; returns how many there are.
fn published(site: &Site, stores: &BTreeMap<&str, Store>) -> anyhow::Result<u64> {
    let mut passed = BTreeMap::new();
    for store in stores.values() {
        store.passed(&mut passed);
    }
    let mut branches = BTreeMap::new();
    for name in ["app", "lib"] {
        let refs = git(
            &site.path(name),
            &["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/azolla"],
        )?;
        for line in refs.lines() {
            let (branch, commit) = line.split_once(' ').context("a ref and its commit")?;
            let objective = branch.trim_start_matches("refs/heads/azolla/");
            branches.insert(objective.to_owned(), commit.to_owned());
        }
    }
    for objective in branches.keys().chain(passed.keys()) {
        let (branch, last) = (branches.get(objective), passed.get(objective).map(|(_, commit)| commit));
        ensure!(branch == last, "azolla/{objective} is at {branch:?}, and {last:?} passed last (G-1)");
    }
    Ok(branches.len() as u64)
}

/// An exported Substrate.
struct Store {
    lines: BTreeMap<String, Vec<Value>>,
    /// What the operator can have been told of it.
    told: BTreeSet<(Told, String)>,
}

impl Store {
    fn read(exported: &str) -> anyhow::Result<Self> {
        let mut store = Self { lines: BTreeMap::new(), told: BTreeSet::new() };
        for line in exported.lines() {
            let value: Value = serde_json::from_str(line)?;
            let Some(kind) = value["kind"].as_str() else { continue };
            store.told.extend(told(kind, &value["document"]));
            store.lines.entry(kind.to_owned()).or_default().push(value);
        }
        Ok(store)
    }

    fn of(&self, kind: &str) -> &[Value] {
        self.lines.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Every workorder has one bundle, one run record and one pause_state, and all of them are over.
    fn once(&self) -> anyhow::Result<()> {
        let count = |kind: &str, path: &str| {
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for line in self.of(kind) {
                if let Some(id) = line.pointer(path).and_then(Value::as_str) {
                    *counts.entry(id.to_owned()).or_default() += 1;
                }
            }
            counts
        };
        let ends = [
            count("output_bundle", "/document/metadata/work_order_id"),
            count("run_record", "/document/work_order_id"),
            count("pause_state", "/store/work_order_id"),
        ];
        for line in self.of("workorder") {
            let id = text(line, "/document/work_order_id")?;
            let counts = ends.each_ref().map(|ends| ends.get(id).copied().unwrap_or(0));
            ensure!(counts == [1, 1, 1], "{id} has {counts:?} bundles, run records and pause_states");
        }
        Ok(())
    }

    fn count(&self, left: &mut Left) {
        let of = |kind| self.of(kind).len() as u64;
        left.workorders += of("workorder");
        left.objectives += of("objective");
        left.captures += of("capture_buffer");
        left.manifests += of("session_manifest");
        left.passed +=
            self.of("run_record").iter().filter(|run| run["document"]["gate_result"] == "PASS").count()
                as u64;
        let mut grants: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for row in self.of("journal").iter().map(|line| &line["document"]) {
            let (Some(id), Some(step)) = (row["resource_id"].as_str(), row["step"].as_str()) else {
                continue;
            };
            let entry = grants.entry(id).or_default();
            match step {
                "GRANT" => entry.0 += 1,
                "RELEASE" => entry.1 += 1,
                _ => {}
            }
        }
        left.takeovers +=
            grants.values().map(|(granted, released)| granted.saturating_sub(*released)).sum::<u64>();
    }

    /// Adds the last entry of each objective that has passed, with its commit.
    fn passed(&self, last: &mut BTreeMap<String, (u64, String)>) {
        for run in self.of("run_record").iter().map(|run| &run["document"]) {
            let text = |key: &str| run[key].as_str().unwrap_or_default();
            let entry = text("work_order_id").rsplit('-').next().and_then(|entry| entry.parse().ok());
            let (Some(entry), "PASS", false) = (entry, text("gate_result"), text("commit_sha").is_empty())
            else {
                continue;
            };
            let place = last.entry(text("objective_id").to_owned()).or_default();
            if entry > place.0 {
                *place = (entry, text("commit_sha").to_owned());
            }
        }
    }

    /// What the operator was told is so (13).
    fn keeps(&self, promise: &Promise) -> anyhow::Result<()> {
        let Promise { id, what, azolla } = promise;
        let is_kept = self.told.contains(&(*what, id.clone()));
        ensure!(is_kept, "{azolla}: the operator was told that {id} is {what:?}, and it is not (13)");
        Ok(())
    }
}

/// Returns what the operator can have been told of an artifact.
fn told(kind: &str, document: &Value) -> Option<(Told, String)> {
    let text = |key: &str| document[key].as_str().map(str::to_owned);
    match kind {
        "objective" => Some((Told::Made("objective"), text("objective_id")?)),
        "capture_buffer" => Some((Told::Made("capture_buffer"), text("capture_id")?)),
        "journal" if document["actor"] == "OPERATOR" => {
            let step = document["step"].as_str()?;
            let step = *["S-b", "S-h", "S-i", "S-j", "S-o"].iter().find(|known| **known == step)?;
            Some((Told::Took(step), text("resource_id")?))
        }
        "candidate_resolution" => {
            let outcome = document["outcome"].as_str()?;
            let outcome = *["PROMOTED", "DISCARDED"].iter().find(|known| **known == outcome)?;
            let number = document["candidate_index"].as_u64()? + 1;
            Some((Told::Became(outcome), format!("{}/{number}", text("output_id")?)))
        }
        _ => None,
    }
}

fn text<'a>(line: &'a Value, path: &str) -> anyhow::Result<&'a str> {
    line.pointer(path).and_then(Value::as_str).with_context(|| format!("{line} has no {path}"))
}
