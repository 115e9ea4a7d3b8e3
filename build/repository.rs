//! The checked-out commit of a git repository, read from its files, so that git need not be installed.

use std::fs;
use std::path::{Path, PathBuf};

/// The git repository of a folder.
pub(super) struct Repository {
    /// The git directory of this worktree.
    worktree: PathBuf,
    /// The git directory that all worktrees share.
    common: PathBuf,
}

/// The checked-out commit.
pub(super) struct Head {
    pub(super) revision: String,
    /// `None` if no branch is checked out.
    pub(super) branch: Option<String>,
}

impl Repository {
    /// The repository at this folder. Repositories of parent folders are ignored: they contain other sources.
    pub(super) fn at(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        let worktree = if git.is_dir() {
            git
        } else {
            let file = fs::read_to_string(git).ok()?;
            root.join(file.strip_prefix("gitdir:")?.trim())
        };
        let common = fs::read_to_string(worktree.join("commondir"))
            .map_or_else(|_| worktree.clone(), |path| worktree.join(path.trim()));
        Some(Self { worktree, common })
    }

    /// The checked-out commit; `None` before the first commit.
    pub(super) fn head(&self) -> Option<Head> {
        let Some(name) = self.checked_out() else {
            let revision = fs::read_to_string(self.worktree.join("HEAD")).ok()?;
            return Some(Head { revision: revision_of(&revision)?, branch: None });
        };
        let loose = fs::read_to_string(self.common.join(&name)).ok();
        let revision = loose.as_deref().and_then(revision_of).or_else(|| self.packed(&name))?;
        Some(Head { revision, branch: Some(name.trim_start_matches("refs/heads/").to_owned()) })
    }

    /// Paths of which at least one changes when another commit is checked out. Activity in other worktrees does not change
    /// them, except for the packed references, which change seldom.
    pub(super) fn head_paths(&self) -> Vec<PathBuf> {
        let mut paths = vec![self.worktree.join("logs/HEAD")];
        paths.extend(self.checked_out().map(|name| self.common.join(name)));
        paths.retain(|path| path.exists());
        if paths.is_empty() {
            // Before the first commit, the file of the reference does not exist yet.
            paths.push(self.common.join("refs"));
        }
        paths.extend([self.worktree.join("HEAD"), self.common.join("packed-refs")]);
        paths
    }

    /// The checked-out reference; `None` if a commit is checked out directly.
    fn checked_out(&self) -> Option<String> {
        let head = fs::read_to_string(self.worktree.join("HEAD")).ok()?;
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
