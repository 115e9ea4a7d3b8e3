//! Headers, queries and paths that clients send.

mod accept;
mod login;
mod query;
