# `make test` is all that a fresh Debian or Ubuntu machine with Rust needs: it installs what is missing, then tests.

.PHONY: test tools bench fuzz golden

test: tools
	cargo test --locked

# What the tests need beside Rust: a C compiler for the bundled SQLite, jsonnet, Prometheus, Alertmanager, PostgreSQL,
# MariaDB, Redis, Valkey, Helm and kubectl. The servers are there but not started: the tests start their own.
tools:
	./tests/install-tools

# Writes the golden outputs anew; read the difference before committing it.
golden:
	UPDATE_GOLDEN=1 cargo test --locked

bench:
	cargo bench --locked

# Fuzz targets for longer than `make test` runs them, each of those whose names begin with TARGET, for so many minutes;
# src/fuzz/mod.rs lists them. Memory is bounded, in kB, so that what wants all of it is found out.
TARGET =
MINUTES = 5
fuzz:
	ulimit -v 8388608 && FUZZ_MINUTES=$(MINUTES) cargo test --locked --lib -- --nocapture --test-threads 2 'fuzz::$(TARGET)'
