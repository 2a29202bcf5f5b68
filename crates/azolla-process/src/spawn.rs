//! From a [`Program`] to a running one.

use std::{
    io::{self, PipeReader, PipeWriter},
    process::{Command, Stdio},
    sync::Arc,
    time::Instant,
};

use crate::{
    Bounds, Program, Sandbox,
    contained::Contained,
    sandbox::{Confined, Layers},
};

/// A program that was started.
pub(crate) struct Started {
    pub(crate) contained: Contained,
    pub(crate) pipes: Pipes,
    /// How it is confined, in words.
    pub(crate) sandbox_mode: String,
}

/// Starts a program whose time runs since `begin`. One that is confined is started on a thread of its own, as that
/// looks up many paths and waits for bubblewrap. A caller that is gone by then drops what was started, which ends it.
pub(crate) async fn start(
    program: &Program,
    bounds: &Bounds,
    layers: &Layers,
    begin: Instant,
) -> io::Result<Started> {
    if bounds.sandbox == Sandbox::Off {
        return start_here(program, bounds, layers);
    }
    let (program, bounds, layers) = (program.clone(), bounds.clone(), layers.clone());
    let start = move || start_here(&program, &bounds.since(begin), &layers);
    tokio::task::spawn_blocking(start).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn start_here(program: &Program, bounds: &Bounds, layers: &Layers) -> io::Result<Started> {
    if !program.path.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "its path is not absolute"));
    }
    let confined = Arc::new(layers.confine(program, bounds)?);
    let (command, pipes) = command(program)?;
    let contained = spawn(command, bounds, &confined).map_err(|error| explain(program, &confined, error))?;
    Ok(Started { contained, pipes, sandbox_mode: confined.mode.clone() })
}

impl Bounds {
    /// Returns the same with what is left of the time.
    pub(crate) fn since(&self, begin: Instant) -> Self {
        Self { time: self.time.map(|time| time.saturating_sub(begin.elapsed())), ..self.clone() }
    }
}

/// Our ends of a program's streams.
pub(crate) struct Pipes {
    pub(crate) stdin: Option<PipeWriter>,
    pub(crate) stdout: PipeReader,
    pub(crate) stderr: PipeReader,
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs")]
fn command(program: &Program) -> io::Result<(Command, Pipes)> {
    let (stdin, to_stdin) = match program.input.as_slice() {
        [] => (Stdio::null(), None),
        _ => io::pipe().map(|(read, write)| (Stdio::from(read), Some(write)))?,
    };
    let (from_stdout, stdout) = io::pipe()?;
    let (from_stderr, stderr) = io::pipe()?;
    let mut command = Command::new(&program.path);
    command
        .args(&program.arguments)
        .current_dir(&program.directory)
        .env_clear()
        .envs(&program.environment)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    Ok((command, Pipes { stdin: to_stdin, stdout: from_stdout, stderr: from_stderr }))
}

/// Takes the command by value: it holds the program's ends of the pipes, which must not stay open here.
fn spawn(mut command: Command, bounds: &Bounds, confined: &Arc<Confined>) -> io::Result<Contained> {
    Contained::spawn(&mut command, bounds, confined.clone())
}

/// Tells a missing directory from a missing program: the system gives the same error for both. And what is missing from
/// what its sandbox does not show.
fn explain(program: &Program, confined: &Confined, error: io::Error) -> io::Error {
    if !program.directory.is_dir() {
        let text = format!("there is no directory {} to start it in", program.directory.display());
        return io::Error::new(error.kind(), text);
    }
    match confined.explain(program, &error) {
        Some(text) => io::Error::new(error.kind(), text),
        None => error,
    }
}
