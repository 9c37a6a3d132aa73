#!/usr/bin/env bash
# Builds tests/porch with the sources of Porch and lets it and us read and write the same repositories. UPDATE=1 keeps what Porch writes and lists
# now. Needs Go, and a checkout of Porch that LANAI_PORCH_SOURCE names; LANAI_PORCH names the program if it is built already.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [ -z "${LANAI_PORCH_SOURCE:-}" ]; then
  skipped "oracle-porch: LANAI_PORCH_SOURCE names no checkout of github.com/nephio-project/porch"
  say "comparing with what was kept of Porch"
else
  LANAI_PORCH_SOURCE="$(cd "$LANAI_PORCH_SOURCE" && pwd)"
  export LANAI_PORCH_SOURCE
  if [ -z "${LANAI_PORCH:-}" ]; then
    say "building tests/porch with $(git -C "$LANAI_PORCH_SOURCE" log -1 --format='Porch of %cs, %h' 2>/dev/null || echo Porch)"
    mkdir -p "$target/porch"
    tests/porch/build.sh "$target/porch/porch"
    LANAI_PORCH="$target/porch/porch"
  fi
  export LANAI_PORCH
  say "asking Porch"
fi
exec cargo test -p lanai-repository --test it packages::porch -- --nocapture
