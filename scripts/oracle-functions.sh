#!/usr/bin/env bash
# Asks the programs of the public function catalog about the fixtures of our functions: do they say what was kept of them, and do our
# functions say the same? UPDATE=1 keeps what they say now. Needs the programs.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Which programs: the answers that are committed are theirs.
catalog="github.com/kptdev/krm-functions-catalog, at the versions that docs/functions.md names"

if [ -z "${LANAI_CATALOG_PROGRAMS:-}" ]; then
  skipped "oracle-functions: LANAI_CATALOG_PROGRAMS names no folder with the programs of $catalog, each named as its function"
  say "comparing with the answers that were kept"
else
  [ -d "$LANAI_CATALOG_PROGRAMS" ] || fail "LANAI_CATALOG_PROGRAMS is no folder: $LANAI_CATALOG_PROGRAMS"
  LANAI_CATALOG_PROGRAMS="$(cd "$LANAI_CATALOG_PROGRAMS" && pwd)"
  export LANAI_CATALOG_PROGRAMS
  say "asking the programs of $catalog"
fi
exec cargo test -p lanai-functions -p lanai-starlark -p lanai-gatekeeper -p lanai-schema --test it like_the_catalog -- --nocapture
