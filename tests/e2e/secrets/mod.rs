//! What must never leave the exporter is planted wherever it can be, and looked for in everything that it says.

mod sqlite;
