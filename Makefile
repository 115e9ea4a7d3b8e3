# `make test` is all that a fresh Debian or Ubuntu machine with Rust needs: it installs what is missing, then tests.

.PHONY: test tools bench golden

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
