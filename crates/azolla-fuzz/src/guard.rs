//! One input at a time: what a target says of it, or how it failed. What does not come back is ended with its input saved.

use std::{
    cell::{Cell, RefCell},
    fs::File,
    os::unix::fs::FileExt,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, mpsc},
    time::{Duration, Instant},
};

use crate::{Verdict, corpus};

/// No input takes longer than this.
const LONGEST: Duration = Duration::from_secs(10);

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs inputs of one target.
pub(crate) struct Guard {
    check: fn(&[u8]) -> Verdict,
    now: Arc<Mutex<Now>>,
    /// What runs now, for when the program itself is ended: a stack that is too deep, memory that there is not.
    last: Option<File>,
    /// Ends the watch when it is dropped.
    _watch: mpsc::Sender<()>,
}

#[derive(Default)]
struct Now {
    input: Vec<u8>,
    since: Option<Instant>,
}

impl Guard {
    /// Watches over a target. `last` is a file that holds the input that runs.
    pub(crate) fn new(name: &'static str, check: fn(&[u8]) -> Verdict, last: Option<&Path>) -> Self {
        keep_quiet();
        let now = Arc::new(Mutex::new(Now::default()));
        let (watch, ended) = mpsc::channel::<()>();
        let watched = Arc::clone(&now);
        std::thread::spawn(move || {
            while ended.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                let now = lock(&watched);
                if now.since.is_some_and(|since| since.elapsed() > LONGEST) {
                    eprintln!("{name}: an input takes more than {LONGEST:?}: {}", described(&now.input));
                    eprintln!("{name}: saved as {}", saved(name, &now.input));
                    std::process::abort();
                }
            }
        });
        Self { check, now, last: last.and_then(|path| File::create(path).ok()), _watch: watch }
    }

    /// Runs one input. A panic is its message, with the place.
    pub(crate) fn run(&self, input: &[u8]) -> (Result<Verdict, String>, Duration) {
        if let Some(last) = &self.last {
            // If the disk is full, this is no more than one trace less.
            let _ = last.write_all_at(input, 0).and_then(|()| last.set_len(input.len() as u64));
        }
        let begin = Instant::now();
        {
            let mut now = lock(&self.now);
            now.input.clear();
            now.input.extend_from_slice(input);
            now.since = Some(begin);
        }
        IS_GUARDED.set(true);
        let ended = panic::catch_unwind(AssertUnwindSafe(|| (self.check)(input)));
        IS_GUARDED.set(false);
        lock(&self.now).since = None;
        (ended.map_err(|_| SAID.take()), begin.elapsed())
    }
}

/// Saves an input that fails, and returns where.
pub(crate) fn saved(name: &str, input: &[u8]) -> String {
    let folder: PathBuf = std::env::temp_dir().join("azolla-fuzz");
    match corpus::save(&folder, &format!("{name}-"), input) {
        Ok(path) => path.display().to_string(),
        Err(error) => format!("nothing: {error}"),
    }
}

/// Returns an input as it can be printed.
pub(crate) fn described(input: &[u8]) -> String {
    const SHOWN: usize = 2_048;
    let shown = input[..input.len().min(SHOWN)].escape_ascii();
    let more = if input.len() > SHOWN { "…" } else { "" };
    format!("{} bytes, \"{shown}{more}\"", input.len())
}

/// Keeps what a guarded panic says, instead of printing it.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if IS_GUARDED.get() {
                SAID.set(info.to_string());
            } else {
                before(info);
            }
        }));
    });
}

fn lock(now: &Mutex<Now>) -> MutexGuard<'_, Now> {
    now.lock().unwrap_or_else(PoisonError::into_inner)
}
