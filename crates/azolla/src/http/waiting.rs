//! When a connection waits: until a request is whole, body and all, and again once it is answered. Who sends slowly waits
//! as long as who sends nothing.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};

use super::places::Share;

/// The body of a request, which is whole at its end.
pub(super) struct Asking {
    body: Incoming,
    share: Arc<Share>,
}

impl Asking {
    /// Begins with a request. None if it came too late: the connection has given way to another.
    pub(super) fn of(body: Incoming, share: Arc<Share>) -> Option<Self> {
        let is_whole = body.is_end_stream();
        if is_whole && !share.is_asked() { None } else { Some(Self { body, share }) }
    }
}

impl HttpBody for Asking {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let is_whole = matches!(polled, Poll::Ready(None)) || self.body.is_end_stream();
        if is_whole && !self.share.is_asked() {
            // The connection is dropped before anybody looks here again.
            return Poll::Pending;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer: when it is over, the connection waits for the next request.
pub(super) struct Answering {
    body: Body,
    share: Arc<Share>,
}

impl Answering {
    /// Begins with an answer.
    pub(super) fn of(body: Body, share: Arc<Share>) -> Self {
        Self { body, share }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.share.waits();
    }
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
