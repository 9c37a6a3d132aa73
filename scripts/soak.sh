#!/usr/bin/env bash
# Cuts the power of a store in many places, lets many write to Git and to the API and be killed, then fuzzes every target in fuzz/, SOAK_SECONDS each; stops at the first that fails.
# What the fuzzer learns is kept in the target folder, so that the next soak begins where this one ended.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds="${SOAK_SECONDS:-600}"
say "power cuts of the store, by many chances"
cargo test --locked -q -p lanai-store --test it -- --ignored no_promise_is_broken_by_any_chance

say "packages in Git: 16 writers, 200 kills, all hostile repositories over HTTP"
LANAI_SOAK=1 cargo test --locked -p lanai-repository --test it packages::

say "the catalog: 1,000 who ask for the same, 100 kills, 100,000 lookups of damaged results"
LANAI_SOAK=1 cargo test --locked -p lanai-catalog --test it

say "the API: 1,000 watchers and 50 writers for 30 s, 200 kills in the middle of writes, and 8 clients of packages at random for 60 s"
LANAI_SOAK=1 cargo test --locked -p lanai-serve --test it -- --nocapture load:: killed:: packages::random

[ -f fuzz/Cargo.toml ] || fail "there are no fuzz targets in fuzz/"
cargo +nightly --version >/dev/null 2>&1 || fail "the fuzzer needs a nightly toolchain: rustup toolchain install nightly"
if ! have cargo-fuzz; then
  say "installing cargo-fuzz"
  cargo install cargo-fuzz --locked
fi

targets="$(cargo +nightly fuzz list)"
[ -n "$targets" ] || fail "there are no fuzz targets in fuzz/"
for name in $targets; do
  say "$name, $seconds s"
  corpus="$target/fuzz/$name/corpus"
  mkdir -p "$corpus" "$target/fuzz/$name/failures"
  folders=("$corpus")
  # Inputs that are kept in the repository are read, never written.
  if [ -d "fuzz/seeds/$name" ]; then folders+=("$PWD/fuzz/seeds/$name"); fi
  cargo +nightly fuzz run "$name" "${folders[@]}" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$target/fuzz/$name/failures/"
done
say "every target held for $seconds s"
