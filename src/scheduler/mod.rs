//! The reference lease protocol and a synthetic scheduler that follows it.
