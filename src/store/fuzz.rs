//! What stores answer. Whatever a value is, it is taken as exactly that, or is a fault; never as another.

mod sqlite;
mod text;
pub(super) mod truth;
