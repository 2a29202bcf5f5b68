//! From a [`Program`] to a running one.

use std::{
    io::{self, PipeReader, PipeWriter},
    process::{Command, Stdio},
};

use crate::{Bounds, Program, contained::Contained, streams::Streams};

/// Starts a program.
///
/// A sandbox comes in at two places, and both leave the rest as it is: one that is a program itself (bubblewrap) is
/// put before the path and the arguments in [`command`]; one that a process puts on itself (Landlock) goes to the end
/// of `tree::keeper::become_program`, the last that runs before exec.
pub(crate) fn start<'a>(program: &'a Program, bounds: &Bounds) -> io::Result<(Contained, Streams<'a>)> {
    if !program.path.is_absolute() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "its path is not absolute"));
    }
    let (command, pipes) = command(program)?;
    let contained = spawn(command, bounds).map_err(|error| explain(program, error))?;
    let streams = Streams::new(pipes.stdin, &program.input, pipes.stdout, pipes.stderr, bounds)?;
    Ok((contained, streams))
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
fn spawn(mut command: Command, bounds: &Bounds) -> io::Result<Contained> {
    Contained::spawn(&mut command, bounds)
}

/// Tells a missing directory from a missing program: the system gives the same error for both.
fn explain(program: &Program, error: io::Error) -> io::Error {
    if program.directory.is_dir() {
        return error;
    }
    io::Error::new(
        error.kind(),
        format!("there is no directory {} to start it in", program.directory.display()),
    )
}
