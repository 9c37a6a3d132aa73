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
cargo test --locked --workspace

say "dependencies"
if have cargo-deny; then
  # Advisories need a database from the network; they are looked at apart: cargo deny check advisories.
  cargo deny --locked check bans licenses sources
else
  skipped "cargo-deny is not installed (cargo install cargo-deny --locked): licenses, bans and sources were not checked"
fi
