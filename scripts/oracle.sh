#!/usr/bin/env bash
# Builds the Go program in tests/oracle and compares our answers with its answers.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

have go || fail "go is not installed; $(sed -n 's/^go /version /p' tests/oracle/go.mod) or newer is needed (see https://go.dev/dl)"
say "building the oracle"
LANAI_ORACLE="$(build_oracle)"
export LANAI_ORACLE

say "comparing"
exec cargo test -p lanai-yaml --test it oracle -- --nocapture
