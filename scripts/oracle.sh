#!/usr/bin/env bash
# Builds the Go program in tests/oracle and compares our answers with its answers; asks kpt about merges, where it is installed,
# the programs of the function catalog about functions and Porch about packages in Git, where they are.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

have go || fail "go is not installed; $(sed -n 's/^go /version /p' tests/oracle/go.mod) or newer is needed (see https://go.dev/dl)"
say "building the oracle"
LANAI_ORACLE="$(build_oracle)"
export LANAI_ORACLE
say "checking that the committed answers are the oracle's"
(cd tests/oracle && go test ./...)

if have kpt; then scripts/oracle-merge.sh; else say "kpt is not installed: its answers to merges are not asked for again"; fi
scripts/oracle-functions.sh
scripts/oracle-porch.sh
say "comparing"
exec cargo test -p lanai-yaml --test it oracle -- --nocapture
