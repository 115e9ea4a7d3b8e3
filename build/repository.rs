//! The commit that a folder has checked out, read from what git keeps there: git itself need not be installed.

use std::fs;
use std::path::{Path, PathBuf};

/// What git keeps of a folder that it has checked out.
pub(super) struct Repository {
    /// Of this folder.
    own: PathBuf,
    /// Of all folders that share the repository: a worktree has little of its own.
    common: PathBuf,
}

/// What is checked out.
pub(super) struct Head {
    pub(super) revision: String,
    /// `None` where it is a commit and no branch.
    pub(super) branch: Option<String>,
}

impl Repository {
    /// That of this folder itself: one further up has other sources, and only carries these.
    pub(super) fn at(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        let own = if git.is_dir() {
            git
        } else {
            let elsewhere = fs::read_to_string(git).ok()?;
            root.join(elsewhere.strip_prefix("gitdir:")?.trim())
        };
        let common = fs::read_to_string(own.join("commondir")).map_or_else(|_| own.clone(), |to| own.join(to.trim()));
        Some(Self { own, common })
    }

    /// What is checked out; `None` before the first commit.
    pub(super) fn head(&self) -> Option<Head> {
        let Some(name) = self.checked_out() else {
            let revision = fs::read_to_string(self.own.join("HEAD")).ok()?;
            return Some(Head { revision: revision_of(&revision)?, branch: None });
        };
        let loose = fs::read_to_string(self.common.join(&name)).ok();
        let revision = loose.as_deref().and_then(revision_of).or_else(|| self.packed(&name))?;
        Some(Head { revision, branch: Some(name.trim_start_matches("refs/heads/").to_owned()) })
    }

    /// What is there of which some changes whenever another commit is checked out. None of it changes by what goes on in
    /// other worktrees, but for the packed references, which seldom do.
    pub(super) fn moved_by(&self) -> Vec<PathBuf> {
        let mut moved = vec![self.own.join("logs/HEAD")];
        moved.extend(self.checked_out().map(|name| self.common.join(name)));
        moved.retain(|path| path.exists());
        if moved.is_empty() {
            // Before the first commit, or without a log, the reference is a file that is yet to come.
            moved.push(self.common.join("refs"));
        }
        moved.extend([self.own.join("HEAD"), self.common.join("packed-refs")]);
        moved
    }

    /// The reference that is checked out; `None` if it is a commit.
    fn checked_out(&self) -> Option<String> {
        let head = fs::read_to_string(self.own.join("HEAD")).ok()?;
        Some(head.strip_prefix("ref:")?.trim().to_owned())
    }

    fn packed(&self, name: &str) -> Option<String> {
        let packed = fs::read_to_string(self.common.join("packed-refs")).ok()?;
        let line = packed.lines().find(|line| line.split(' ').nth(1) == Some(name))?;
        revision_of(line.split(' ').next()?)
    }
}

fn revision_of(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}
