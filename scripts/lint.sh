#!/usr/bin/env bash
# The format and the lints; a warning is an error.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

say "format"
cargo fmt --all --check

say "lints"
cargo clippy --locked --workspace --all-targets -- -D warnings
