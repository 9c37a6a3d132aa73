#!/usr/bin/env bash
# All that must hold before a commit. Ends with a list of what did not run, so that nothing is skipped in silence.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

scripts/setup.sh

mkdir -p "$target"
LANAI_SKIP_LOG="$(mktemp "$target/skipped.XXXXXX")"
export LANAI_SKIP_LOG

finish() {
  local status=$?
  say "skipped parts"
  if [ -s "$LANAI_SKIP_LOG" ]; then sort -u "$LANAI_SKIP_LOG"; else echo "none"; fi
  rm -f "$LANAI_SKIP_LOG"
  if [ "$status" -eq 0 ]; then say "all passed, $SECONDS s"; else say "FAILED, $SECONDS s"; fi
}
trap finish EXIT

scripts/lint.sh

say "tests"
# The same cases each time, so that a change is judged by the change; `make soak` and PROPTEST_RNG_SEED look for new ones.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-20261116}"
cargo test --locked --workspace

say "dependencies"
if have cargo-deny; then
  # Advisories need a database from the network; they are looked at apart: cargo deny check advisories.
  cargo deny --locked check bans licenses sources
else
  skipped "cargo-deny is not installed (cargo install cargo-deny --locked): licenses, bans and sources were not checked"
fi
