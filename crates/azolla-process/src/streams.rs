//! The three streams of a program, moved at the same time so that none of them can block another.

use std::{
    convert::Infallible,
    future::pending,
    io::{self, PipeReader, PipeWriter},
    os::fd::OwnedFd,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe,
};

use crate::{Bounds, Capture, Captured, capture::Sink};

/// What is read at once. A pipe holds 64 KiB.
const PIECE: usize = 64 * 1024;

/// Our ends of the streams of a program.
pub(crate) struct Streams<'a> {
    stdin: Stdin<'a>,
    stdout: Output,
    stderr: Output,
}

impl<'a> Streams<'a> {
    /// Takes our ends of the pipes. `stdin` is missing where there is nothing to say.
    pub(crate) fn new(
        stdin: Option<PipeWriter>,
        input: &'a [u8],
        stdout: PipeReader,
        stderr: PipeReader,
        bounds: &Bounds,
    ) -> io::Result<Self> {
        let pipe = stdin.map(OwnedFd::from).map(pipe::Sender::from_owned_fd).transpose()?;
        Ok(Self {
            stdin: Stdin { pipe, rest: input },
            stdout: Output::new(stdout, bounds.stdout)?,
            stderr: Output::new(stderr, bounds.stderr)?,
        })
    }

    /// Moves bytes until one stream has more than it may; then returns. It may be dropped and called again.
    pub(crate) async fn move_until_too_much(&mut self) {
        let Self { stdin, stdout, stderr } = self;
        tokio::select! {
            never = stdin.feed() => match never {},
            () = stdout.read_until_too_much() => (),
            () = stderr.read_until_too_much() => (),
        }
    }

    /// Reads what an ended program had written before. Its streams may still be open elsewhere, so their end is not
    /// waited for. Returns whether there was more than may be.
    pub(crate) fn drain(&mut self) -> bool {
        self.stdout.drain();
        self.stderr.drain();
        self.stdout.sink.is_over() || self.stderr.sink.is_over()
    }

    /// Returns what was kept of stdout and stderr.
    pub(crate) fn finish(self) -> (Captured, Captured) {
        (self.stdout.sink.finish(), self.stderr.sink.finish())
    }
}

struct Stdin<'a> {
    pipe: Option<pipe::Sender>,
    rest: &'a [u8],
}

impl Stdin<'_> {
    /// Writes the input and closes the stream. A program that reads none of it, or closes it, is no error.
    async fn feed(&mut self) -> Infallible {
        while let Some(pipe) = &mut self.pipe {
            match pipe.write(self.rest).await {
                Ok(written) => self.rest = &self.rest[written..],
                Err(_) => self.rest = &[],
            }
            if self.rest.is_empty() {
                self.pipe = None;
            }
        }
        pending().await
    }
}

struct Output {
    pipe: Option<pipe::Receiver>,
    piece: Box<[u8]>,
    sink: Sink,
}

impl Output {
    fn new(pipe: PipeReader, capture: Capture) -> io::Result<Self> {
        let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(pipe))?;
        Ok(Self { pipe: Some(pipe), piece: vec![0; PIECE].into(), sink: Sink::new(capture) })
    }

    async fn read_until_too_much(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut self.piece).await {
                Ok(read @ 1..) => self.sink.push(&self.piece[..read]),
                // The end, or a pipe that will give nothing more.
                Ok(0) | Err(_) => self.pipe = None,
            }
            if self.sink.is_over() {
                return;
            }
        }
        pending().await
    }

    /// Reads what is in the pipe now. Not more: a process that left the group could go on writing for ever. Past the
    /// runtime, which may not have noticed yet that there is something.
    fn drain(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut waiting = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
        while waiting > 0 {
            match rustix::io::read(pipe, &mut *self.piece) {
                Ok(read @ 1..) => {
                    self.sink.push(&self.piece[..read]);
                    waiting = waiting.saturating_sub(read as u64);
                }
                Err(rustix::io::Errno::INTR) => (),
                Ok(0) | Err(_) => return,
            }
        }
    }
}
