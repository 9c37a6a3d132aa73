#!/usr/bin/env bash
# Measures the YAML crate. With Go, the benchmark runs the oracle on the same input beside it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if have go && [ -f tests/oracle/go.mod ]; then
  LANAI_ORACLE="$(build_oracle)"
  export LANAI_ORACLE
else
  skipped "the oracle's side of the benchmark: Go is not installed"
fi
exec cargo bench -p lanai-yaml --bench yaml "$@"
