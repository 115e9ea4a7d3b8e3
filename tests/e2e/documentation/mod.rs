//! The documents agree with the program: generated blocks, examples, commands and links.

mod commands;
mod examples;
mod generated;
mod links;
mod markdown;
