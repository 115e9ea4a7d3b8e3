//! lease-exporter: tells lease authority and work progress apart, and says `unknown` when it cannot know.
#![forbid(unsafe_code)]

pub mod command {
    //! What the program can be told to do.
    pub mod scheduler;
}
pub mod scheduler;
