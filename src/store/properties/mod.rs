//! Values from stores. Each value is converted exactly or refused, and is never taken for another value.

pub(super) mod expected;
mod sqlite;
mod text;
