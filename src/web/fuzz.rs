//! What clients send: headers, queries, paths.

mod accept;
mod login;
mod query;
