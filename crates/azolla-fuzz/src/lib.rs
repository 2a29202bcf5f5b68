//! For tests only: runs a target on its corpus and on inputs made from it (docs/faults.md).
//!
//! A target is a function that is given bytes and holds what must be so against whatever comes of them. It stands in the
//! tests of the crate whose code it tries, so that nothing is public for its sake. The short form makes a fixed number of
//! inputs from a fixed seed. `scripts/fuzz` builds the same tests with counters in the code and makes many more, each new
//! edge adding to what inputs are made from. This crate depends on nothing, so that the tests of every crate can use it.

mod chance;
mod corpus;
mod coverage;
mod guard;
mod mutate;

use std::{
    fmt, fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use self::{
    chance::Chance,
    corpus::Seed,
    coverage::{Coverage, Grain},
    guard::Guard,
    mutate::Mutator,
};

/// What a target makes of an input, if what must hold does hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was read, so that there was something to hold to.
    Taken,
    /// It was refused.
    Refused,
}

/// A function under test and the inputs that it is given.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// How many inputs the short form makes.
    pub inputs: u64,
    /// The most bytes of an input.
    pub bytes_max: usize,
    /// Words of its format.
    pub words: &'static [&'static str],
    /// Panics where something does not hold.
    pub check: fn(&[u8]) -> Verdict,
}

/// How much is to be done. The short form is what a test does by itself; `scripts/fuzz` sets the rest.
#[derive(Clone, Debug)]
struct Order {
    inputs: u64,
    seed: u64,
    /// Whether what found new edges is written to the corpus.
    keeps: bool,
    /// Where the input that runs is, whatever happens.
    last: Option<PathBuf>,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
struct Summary {
    inputs: u64,
    taken: u64,
    time: Duration,
    slowest: Duration,
    edges: usize,
    edges_seen: usize,
    /// Inputs that took an edge, or took one more often, than any before.
    found: Vec<Vec<u8>>,
}

/// An input for which something does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    said: String,
    from: String,
    input: Vec<u8>,
}

impl Target {
    /// Runs the corpus and then inputs that are made from it.
    ///
    /// # Panics
    ///
    /// Where something does not hold, with the least input for which that is so; it is saved too. And where the whole corpus is
    /// refused, as then nothing was tried.
    pub fn run(&self) {
        if let Some(path) = std::env::var_os("AZOLLA_FUZZ_INPUT") {
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            println!("{}: {:?}", self.name, (self.check)(&bytes));
            return;
        }
        let order = Order::from_environment(self.inputs);
        let seeds =
            corpus::load(self.name).unwrap_or_else(|error| panic!("the corpus of {}: {error}", self.name));
        let summary = match self.try_run(&seeds, &order) {
            Ok(summary) => summary,
            Err(failure) => {
                let saved = guard::saved(self.name, &failure.input);
                panic!("{}: {failure}\nsaved as {saved}; AZOLLA_FUZZ_INPUT={saved} runs it alone", self.name);
            }
        };
        println!("{}: seed {}, {summary}", self.name, order.seed);
        assert!(summary.taken > 0, "{}: all inputs are refused, so nothing was held to anything", self.name);
        if order.keeps {
            self.keep(&seeds, summary.found);
        }
    }

    fn try_run(&self, seeds: &[Seed], order: &Order) -> Result<Summary, Failure> {
        let guard = Guard::new(self.name, self.check, order.last.as_deref());
        let mutator = Mutator { words: self.words, bytes_max: self.bytes_max };
        let (mut coverage, mut chance) = (Coverage::new(), Chance::new(order.seed));
        let mut parents: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.bytes.clone()).collect();
        let (mut slowest, begin) = (Duration::ZERO, Instant::now());
        let mut taken = 0;
        for seed in seeds {
            let (ended, _) = guard.run(&seed.bytes);
            let failed = |said| Failure { said, from: seed.name.clone(), input: seed.bytes.clone() };
            taken += u64::from(ended.map_err(failed)? == Verdict::Taken);
            coverage.take(Grain::Count);
        }
        for number in 0..order.inputs {
            let parent = pick(&mut chance, &parents);
            let other = &parents[chance.below(parents.len())];
            let input = mutator.child(&mut chance, parent, other);
            let (ended, time) = guard.run(&input);
            slowest = slowest.max(time);
            match ended {
                Ok(verdict) => taken += u64::from(verdict == Verdict::Taken),
                Err(said) => {
                    let from = format!("input {number} of seed {}", order.seed);
                    return Err(Failure { said, from, input: shrunk(&guard, input) });
                }
            }
            if coverage.take(Grain::Count) > 0 {
                parents.push(input);
            }
        }
        let time = begin.elapsed();
        let (edges, edges_seen) = (coverage::edges(), coverage.edges_seen());
        let found = parents.split_off(seeds.len());
        Ok(Summary { inputs: order.inputs, taken, time, slowest, edges, edges_seen, found })
    }

    /// Writes those inputs to the corpus that together take every edge that it does not, the small ones first.
    fn keep(&self, seeds: &[Seed], mut found: Vec<Vec<u8>>) {
        const MOST: usize = 40;
        let guard = Guard::new(self.name, self.check, None);
        let mut coverage = Coverage::new();
        for seed in seeds {
            let _ = guard.run(&seed.bytes);
            coverage.take(Grain::Edge);
        }
        found.sort_by_key(Vec::len);
        let mut kept: Vec<(usize, Vec<u8>)> = Vec::new();
        for input in found {
            let _ = guard.run(&input);
            match coverage.take(Grain::Edge) {
                0 => {}
                new => kept.push((new, input)),
            }
        }
        kept.sort_by_key(|(new, _)| std::cmp::Reverse(*new));
        let folder = corpus::folder(self.name);
        for (_, input) in kept.iter().take(MOST) {
            corpus::save(&folder, "found-", input)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        }
        println!("{}: {} of {} inputs with new edges are kept", self.name, kept.len().min(MOST), kept.len());
    }
}

impl Order {
    fn from_environment(inputs: u64) -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok()?;
            Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
        };
        Self {
            inputs: number("AZOLLA_FUZZ_INPUTS").unwrap_or(inputs),
            seed: number("AZOLLA_FUZZ_SEED").unwrap_or(7),
            keeps: std::env::var_os("AZOLLA_FUZZ_KEEP").is_some(),
            last: std::env::var_os("AZOLLA_FUZZ_LAST").map(PathBuf::from),
        }
    }
}

/// Picks a parent: the shorter one of two, as small inputs are fast and clear, and every fourth time one of the newest.
fn pick<'a>(chance: &mut Chance, parents: &'a [Vec<u8>]) -> &'a [u8] {
    const NEWEST: usize = 16;
    if chance.below(4) == 0 {
        return &parents[parents.len() - 1 - chance.below(parents.len().min(NEWEST))];
    }
    let (one, other) = (&parents[chance.below(parents.len())], &parents[chance.below(parents.len())]);
    if other.len() < one.len() { other } else { one }
}

/// Takes parts out of an input for as long as it still fails.
fn shrunk(guard: &Guard, mut input: Vec<u8>) -> Vec<u8> {
    const TRIES: usize = 4_000;
    let (mut tries, mut length) = (0, input.len().div_ceil(2));
    while length > 0 && tries < TRIES {
        let mut at = 0;
        while at < input.len() && tries < TRIES {
            let mut less = input.clone();
            less.drain(at..(at + length).min(input.len()));
            tries += 1;
            if guard.run(&less).0.is_err() {
                input = less;
            } else {
                at += length;
            }
        }
        length /= 2;
    }
    input
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, taken, edges, edges_seen, .. } = self;
        let seconds = self.time.as_secs_f64();
        write!(
            f,
            "{inputs} inputs in {seconds:.1} s ({:.0}/s), {taken} taken",
            *inputs as f64 / seconds.max(0.001)
        )?;
        if *edges > 0 {
            write!(f, ", {edges_seen} of {edges} edges, {} inputs found", self.found.len())?;
        }
        write!(f, ", slowest {} ms", self.slowest.as_millis())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nfrom {}\n{}", self.said, self.from, guard::described(&self.input))
    }
}

#[cfg(test)]
mod tests;
