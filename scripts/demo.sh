#!/usr/bin/env bash
# Builds quickly, and serves a small world to look around in. Arguments go to `lanai demo`.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

say "building (the first time takes some minutes)"
cargo build --locked --quiet --profile quick -p lanai
exec "$target/quick/lanai" demo "$@"
