//! What must never leave the exporter is planted wherever it can be, and looked for in everything that it says: on every
//! route, by every command, at all levels and in both formats of the log.

mod door;
mod routes;
mod said;
mod servers;
mod settings;
mod sqlite;
mod world;
