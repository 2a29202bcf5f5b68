//! From a [`Program`] to a running one.

use std::{
    io::{self, PipeReader, PipeWriter},
    process::{Command, Stdio},
    sync::Arc,
};

use crate::{
    Bounds, Program,
    contained::Contained,
    sandbox::{Confined, Layers},
    streams::Streams,
};

/// Starts a program. Returns also how it is confined, in words.
pub(crate) fn start<'a>(
    program: &'a Program,
    bounds: &Bounds,
    layers: &Layers,
) -> io::Result<(Contained, Streams<'a>, String)> {
    if !program.path.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "its path is not absolute"));
    }
    let confined = Arc::new(layers.confine(program, bounds)?);
    let (command, pipes) = command(program)?;
    let contained = spawn(command, bounds, &confined).map_err(|error| explain(program, &confined, error))?;
    let streams = Streams::new(pipes.stdin, &program.input, pipes.stdout, pipes.stderr, bounds)?;
    Ok((contained, streams, confined.mode.clone()))
}

/// Our ends of a program's streams.
struct Pipes {
    stdin: Option<PipeWriter>,
    stdout: PipeReader,
    stderr: PipeReader,
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
