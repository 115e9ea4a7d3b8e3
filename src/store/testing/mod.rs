//! Parts that only tests have.

pub(super) mod json_file;
