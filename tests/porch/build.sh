#!/usr/bin/env bash
# Builds the program in this folder with Porch's packages: build.sh OUTPUT. LANAI_PORCH_SOURCE names a checkout of Porch, in which nothing is
# written: main.go is laid over it, and its go.mod and go.sum are copied.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
output="$(realpath -m "$1")"
source="$(cd "${LANAI_PORCH_SOURCE:?names no checkout of Porch}" && pwd)"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp "$source/go.mod" "$source/go.sum" "$scratch"
printf '{"Replace": {"%s": "%s"}}\n' "$source/cmd/lanai-porch/main.go" "$here/main.go" >"$scratch/overlay.json"
cd "$source"
go build -trimpath -mod=mod -modfile="$scratch/go.mod" -overlay="$scratch/overlay.json" -o "$output" ./cmd/lanai-porch
