//! The alert rules: what promtool says of them, that each part of them is needed, and that all that is written of them
//! agrees.

mod files;
mod mixin;
mod mutations;
mod names;
mod promtool;
