#!/usr/bin/env bash
# Measures everything, or parts of the YAML crate: scripts/bench.sh [speed] [memory] [shapes] [edits]; all parts without a name.
# With Go, the benchmark runs the oracle on the same input beside it. docs/performance.md explains the numbers.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if have go && [ -f tests/oracle/go.mod ]; then
  LANAI_ORACLE="$(build_oracle)"
  export LANAI_ORACLE
else
  skipped "the oracle's side of the benchmark: Go is not installed"
fi
cargo bench --locked -p lanai-yaml --bench yaml -- "$@"
# Merges and updates have one part; names of parts are those of YAML.
if [ "$#" -eq 0 ]; then
  cargo bench --locked -p lanai-merge --bench merge
  cargo bench --locked -p lanai --bench update
  cargo bench --locked -p lanai --bench render
  cargo bench --locked -p lanai --bench runner
  cargo bench --locked -p lanai --bench verbs
  if have go; then
    mkdir -p "$target/etcd"
    (cd tests/etcd && go build -trimpath -o "$target/etcd/etcd" .)
    export LANAI_ETCD="$target/etcd/etcd"
  else
    skipped "etcd's side of the store's benchmark: Go is not installed"
  fi
  cargo bench --locked -p lanai-store --bench store
  cargo bench --locked -p lanai-repository --bench repository
  cargo bench --locked -p lanai-serve --bench apiserver
fi
