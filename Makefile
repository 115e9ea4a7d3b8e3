# `make check` needs Rust and a C compiler only: no server and no root. `make test` runs all tests on a fresh Debian or
# Ubuntu machine with Rust; it installs what is missing first.

.PHONY: check test tools bench fuzz golden soak

# Formatting, the tests that need no server, and clippy.
check:
	cargo fmt --all --check
	cargo test --locked --workspace --lib
	cargo test --locked --workspace --test stores sqlite::
	cargo test --locked --workspace --doc
	cargo clippy --locked --workspace --all-targets -- -D warnings

test: tools
	cargo test --locked --workspace

# What the tests need beside Rust: a C compiler for the bundled SQLite, jsonnet, Prometheus, Alertmanager, PostgreSQL,
# MariaDB, Redis, Valkey, Helm and kubectl. The servers are there but not started: the tests start their own.
tools:
	./tests/install-tools

# Writes the golden outputs anew; read the difference before committing it.
golden:
	UPDATE_GOLDEN=1 cargo test --locked --workspace

bench:
	cargo bench --locked

# Property tests with more cases than `make test` tries, and other cases each time: `make fuzz CASES=1000000
# TARGET=config::properties`. TARGET is a part of the name of a test or of its module. The limit of memory, in kB, makes a
# test fail whose reader takes too much.
TARGET = properties
CASES = 100000
fuzz:
	ulimit -v 8388608 && PROPTEST_CASES=$(CASES) cargo test --locked --lib -- --test-threads 2 '$(TARGET)'

# The soak of the tests for longer: `make soak MINUTES=60`. In another order with SEED, of another build with its path,
# PROGRAM; tests/e2e/soak/mod.rs says what it is.
SEED =
PROGRAM =
soak: MINUTES = 30
soak: tools
	SOAK_MINUTES=$(MINUTES) SOAK_SEED=$(SEED) SOAK_PROGRAM=$(PROGRAM) \
		cargo test --locked --test e2e -- soak:: --nocapture
