//! The documents of the repository, and the fenced blocks in them.

use std::path::Path;

use crate::harness::{contents, repository};

/// A fenced block of a document.
pub(super) struct Block {
    pub(super) language: String,
    /// The lines of the block without the indentation of the block.
    pub(super) text: String,
}

impl Block {
    /// The name of the file that the block shows: its first line is `# NAME`.
    pub(super) fn file_name(&self) -> Option<&str> {
        let name = self.text.lines().next()?.strip_prefix("# ")?;
        name.ends_with(".yml").then_some(name)
    }
}

/// Every document of the repository, by its path in the repository.
pub(super) fn documents() -> Vec<String> {
    let mut found = Vec::new();
    collect(&repository(""), "", &mut found);
    found.sort();
    assert!(found.len() > 25, "{found:?}");
    found
}

fn collect(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{prefix}{name}");
        if entry.file_type().unwrap().is_dir() {
            if !name.starts_with('.') && !name.starts_with("target") {
                collect(&entry.path(), &format!("{path}/"), found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The fenced blocks of a document, in order.
pub(super) fn blocks(document: &str) -> Vec<Block> {
    let text = contents(document);
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let lines = lines.by_ref().take_while(|line| line.trim() != "```");
            let text = lines.map(|line| line.get(indent..).unwrap_or_default().to_owned() + "\n").collect();
            blocks.push(Block { language: language.to_owned(), text });
        }
    }
    blocks
}

/// The text of a document without its fenced blocks.
pub(super) fn prose(document: &str) -> String {
    let mut is_fenced = false;
    let text = contents(document);
    let prose = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fence && !is_fenced
    });
    prose.map(|line| format!("{line}\n")).collect()
}
