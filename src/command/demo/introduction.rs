//! What is said before the story begins.

use std::io::{self, Write};
use std::net::SocketAddr;

use super::super::terminal::Style;
use super::player::Player;
use super::stage::LEASE;
use crate::lease::Readable;
use crate::scheduler::StoreAddress;

impl<W: Write> Player<'_, W> {
    /// Says where to look, and at what.
    pub(super) fn introduce(&mut self, address: SocketAddr) -> io::Result<()> {
        let pace = self.pace;
        let (ttl, stall_after) = (Readable(pace.ttl()), Readable(pace.stall_after()));
        let names = self.cast.both().each_ref().map(|actor| match &actor.token {
            Some(token) => format!("{}: {}…", actor.name, token.short()),
            None => actor.name.to_owned(),
        });
        let [a, b] = names;
        let place = match self.stage.store() {
            StoreAddress::Sqlite(_) => "an SQLite file".to_owned(),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres { schema, .. } => {
                format!("the schema {} on PostgreSQL", schema.as_deref().unwrap_or_default())
            }
            #[cfg(feature = "redis")]
            StoreAddress::Redis { prefix, .. } => format!("Redis under keys that begin with {prefix}"),
        };
        let voice = &mut self.voice;
        voice.text(
            0,
            Style::Bold,
            "lease-exporter demo: two schedulers, one lease, and the exporter that watches it",
        )?;
        voice.line("")?;
        voice.line(&format!("  status page  http://{address}/"))?;
        voice.line(&format!("  metrics      http://{address}/metrics"))?;
        voice.line(&format!("  JSON         http://{address}/api/v1/leases"))?;
        voice.line("")?;
        voice.text(
            0,
            Style::Plain,
            &format!(
                "Two schedulers, A and B, share the lease {LEASE} in {place}. Whoever holds it plans made-up \
                 retention runs; nothing is ever deleted. The exporter only reads there. It shows a token in place \
                 of a holder's name ({a}, {b}). The lease ends {ttl} after its last renewal; work that is due and has \
                 not moved for {stall_after} is stalled.",
            ),
        )?;
        voice.line("")?;
        voice.text(
            0,
            Style::Plain,
            "Below is the time since the start, the state that the exporter shows at that moment, and its reason. \
             Keep the status page open beside it, or follow the metrics:",
        )?;
        voice.line(&format!("  curl -s http://{address}/metrics | grep {LEASE}"))?;
        voice.text(0, Style::Plain, "Ctrl-C ends it.")?;
        if let Some(lines) = self.stage.kept() {
            voice.line("")?;
            lines.iter().try_for_each(|line| voice.line(line))?;
        }
        Ok(())
    }
}
