#!/usr/bin/env bash
# Builds the program that is published, and one archive with it, completions and licences. The archive has the same bytes for the same
# program: no times and no users are in it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

profile="${DIST_PROFILE:-dist}"
folder="$profile"
if [ "$profile" = dev ]; then folder=debug; fi
# The most that the program may have, in MiB; more is a decision, not an accident.
MAX_BINARY_MIB="${MAX_BINARY_MIB:-100}"

cargo build --locked --profile "$profile" -p lanai
program="$target/$folder/lanai"
size="$(stat -c %s "$program")"
say "the program has $((size >> 20)) MiB (limit MAX_BINARY_MIB=$MAX_BINARY_MIB)"
[ "$size" -le $((MAX_BINARY_MIB << 20)) ] || fail "the program is larger than MAX_BINARY_MIB=$MAX_BINARY_MIB MiB"

version="$("$program" --version | cut -d ' ' -f 2)"
triple="$(rustc -vV | sed -n 's/^host: //p')"
name="lanai-$version-$triple"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/$name/completions"
cp "$program" "$scratch/$name/lanai"
cp LICENSE README.md CHANGELOG.md "$scratch/$name/"
for shell in bash zsh fish; do "$program" completion "$shell" >"$scratch/$name/completions/lanai.$shell"; done
cargo metadata --locked --format-version 1 --filter-platform "$triple" | scripts/licenses.py >"$scratch/$name/THIRD-PARTY-LICENSES.txt"

mkdir -p "$target/dist"
archive="$target/dist/$name.tar.gz"
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime='2026-01-01 00:00Z' -cf - "$name" | gzip -n -9 >"$archive"
(cd "$target/dist" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
tar -tzf "$archive"
ls -l "$archive"
