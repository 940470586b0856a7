//! `inorder exec`: what commands do, and what becomes of it: rows D1 to D11.

mod cases;
mod children;
mod failures;
mod headers;
mod options;
mod persistent;
mod signals;
mod verify;
