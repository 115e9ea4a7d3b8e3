# `make test` is all that a fresh Debian or Ubuntu machine with Rust needs: it installs what is missing, then tests.

.PHONY: test tools bench golden soak

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

# The soak of the tests for longer: `make soak MINUTES=30`, in the order of a SEED, or of another build by its path, PROGRAM.
MINUTES ?= 30
soak: tools
	SOAK_MINUTES=$(MINUTES) SOAK_SEED=$(SEED) SOAK_PROGRAM=$(PROGRAM) cargo test --locked --test e2e soak:: -- --nocapture
