//! The dashboard over raw HTTP: who gets in, what a form does and what it is refused with, and what a live page is told
//! (T23 to T27). How it looks and works in a browser is tested in a real one.

mod acts;
mod forms;
mod live;
mod sessions;
mod visitor;
