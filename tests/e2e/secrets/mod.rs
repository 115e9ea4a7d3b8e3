//! What must never leave the exporter is planted wherever it can be, and looked for in everything that it says: on every
//! route, by every command, at all levels and in both formats of the log.

mod clients;
mod environment;
mod output;
mod routes;
mod servers;
mod settings;
mod sqlite;
