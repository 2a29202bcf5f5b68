//! Runs one program to its end.

use std::{
    future::pending,
    io,
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    time::{Duration, Instant},
};

use crate::{
    Bounds, Exit, Finished, Program, Sandbox, SpawnError, contained::Contained, sandbox::Layers, spawn,
    streams::Streams,
};

/// Runs a program to its end, or to the end of its time, and ends what it left behind. Returns within
/// `time + grace + 1 s`, whatever the program does.
///
/// Dropping the future at any point ends the program with everything that it started: at once in a
/// [`crate::Containment::Tree`], within the grace in a [`crate::Containment::Group`]. Needs a Tokio runtime with I/O and
/// time, and SIGPIPE ignored, as Rust's runtime has it.
pub async fn run(program: &Program, bounds: &Bounds) -> Result<Finished, SpawnError> {
    run_telling(program, bounds, &|_| {}).await
}

/// Runs a program as [`run`] does, and tells once it was started how it is confined, as [`Finished::sandbox_mode`] says
/// it in the end. That is all that is known of one that is dropped in the middle.
pub async fn run_telling(
    program: &Program,
    bounds: &Bounds,
    started: &Started<'_>,
) -> Result<Finished, SpawnError> {
    match bounds.sandbox {
        Sandbox::Off => run_since(program, bounds, &Layers::none(), Instant::now(), started).await,
        Sandbox::BestEffort(_) | Sandbox::Required(_) => {
            run_after(program, bounds, Layers::here(), started).await
        }
    }
}

/// Takes how a program is confined.
type Started<'a> = dyn Fn(&str) + Send + Sync + 'a;

/// Runs a program as [`run`] does, once it is known what there is to confine it with. Finding that out is part of its
/// time.
pub(crate) async fn run_after(
    program: &Program,
    bounds: &Bounds,
    layers: impl Future<Output = Layers>,
    started: &Started<'_>,
) -> Result<Finished, SpawnError> {
    let begin = Instant::now();
    let layers = tokio::select! {
        biased;
        layers = layers => layers,
        () = elapsed(bounds.time) => {
            let text = "its time was over before it was known how it can be confined";
            return Err(not_started(program, io::Error::new(io::ErrorKind::TimedOut, text)));
        }
    };
    run_since(program, bounds, &layers, begin, started).await
}

/// Runs a program as [`run`] does, on a system that has these layers to confine it with.
pub(crate) async fn run_with(
    program: &Program,
    bounds: &Bounds,
    layers: &Layers,
) -> Result<Finished, SpawnError> {
    run_since(program, bounds, layers, Instant::now(), &|_| {}).await
}

async fn run_since(
    program: &Program,
    bounds: &Bounds,
    layers: &Layers,
    begin: Instant,
    started: &Started<'_>,
) -> Result<Finished, SpawnError> {
    let failed = |source| not_started(program, source);
    let running = spawn::start(program, bounds, layers, begin).await.map_err(failed)?;
    let spawn::Started { mut contained, pipes, sandbox_mode } = running;
    started(&sandbox_mode);
    let mut streams =
        Streams::new(pipes.stdin, &program.input, pipes.stdout, pipes.stderr, bounds).map_err(failed)?;
    let end = until_end(&mut contained, &mut streams, bounds, begin).await;
    let status = contained.end().await;
    let over = streams.drain();
    let exit = match end {
        End::Time => Exit::TimedOut,
        End::TooMuchOutput => Exit::TooMuchOutput,
        // The last bytes may be read only now; the outcome does not depend on when.
        End::Program if over => Exit::TooMuchOutput,
        End::Program => exit(status),
    };
    let (stdout, stderr) = streams.finish();
    Ok(Finished { exit, stdout, stderr, duration: begin.elapsed(), sandbox_mode })
}

/// What came first.
enum End {
    Program,
    Time,
    TooMuchOutput,
}

/// Moves the streams until the program ends, its time is over with the grace after it, or it has printed too much. What
/// it took to start it is part of its time.
async fn until_end(
    contained: &mut Contained,
    streams: &mut Streams<'_>,
    bounds: &Bounds,
    begin: Instant,
) -> End {
    let rest = bounds.time.map(|time| time.saturating_sub(begin.elapsed()));
    tokio::select! {
        biased;
        () = elapsed(rest) => (),
        () = contained.exited() => return End::Program,
        () = streams.move_until_too_much() => return End::TooMuchOutput,
    }
    // Asking thousands takes a while, and that is part of the grace.
    let killed_at = Instant::now() + bounds.grace;
    contained.ask(killed_at);
    // What it prints while it stops is still read, lest it block there.
    tokio::select! {
        () = elapsed(Some(killed_at.saturating_duration_since(Instant::now()))) => (),
        () = contained.exited() => (),
        () = streams.move_until_too_much() => (),
    }
    End::Time
}

/// Waits for that long, or for ever.
async fn elapsed(time: Option<Duration>) {
    match time.and_then(|time| tokio::time::Instant::now().checked_add(time)) {
        Some(end) => tokio::time::sleep_until(end).await,
        None => pending().await,
    }
}

fn not_started(program: &Program, source: io::Error) -> SpawnError {
    SpawnError { program: program.path.display().to_string(), source }
}

fn exit(status: Option<ExitStatus>) -> Exit {
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => Exit::Code(code),
        Some((None, Some(signal))) => Exit::Signal(signal),
        // Its keeper was killed from outside, and the program with it.
        Some((None, None)) | None => Exit::Signal(libc::SIGKILL),
    }
}
