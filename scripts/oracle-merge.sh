#!/usr/bin/env bash
# Asks kpt for its answers to the cases in crates/merge/tests/it/kpt, and keeps them there. Needs kpt and git.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

kpt="${LANAI_KPT:-$(command -v kpt || true)}"
[ -n "$kpt" ] || fail "kpt is not installed; LANAI_KPT names the program"
say "asking $("$kpt" version)"
LANAI_KPT="$kpt" LANAI_KPT_ANSWERS="$PWD/crates/merge/tests/it/kpt/answers.txt" \
  cargo test -p lanai-merge --test it kpt::ask::answers -- --ignored
say "comparing"
exec cargo test -p lanai-merge --test it kpt
