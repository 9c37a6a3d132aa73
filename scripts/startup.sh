#!/usr/bin/env bash
# Measures how long commands take to start: the best and the median of 50 runs each. The limit is on the best one, for other programs
# take time, too.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

program="${1:-$target/release/lanai}"
[ -x "$program" ] || fail "there is no program at $program (cargo build --release -p lanai)"
# The most that the best run of a command may take, in milliseconds.
MAX_STARTUP_MS="${MAX_STARTUP_MS:-20}"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp demo/deployment.yaml "$scratch/"
cd "$scratch"
for command in "--version" "--help" "yaml get deployment.yaml spec.replicas" "fn list" "pkg --help" "rpkg get --help" "explain LNA1101" "completion bash"; do
  times="$(for _ in $(seq 50); do
    begin="$(date +%s%N)"
    # shellcheck disable=SC2086 # words are words
    "$program" $command >/dev/null
    echo $((($(date +%s%N) - begin) / 1000))
  done | sort -n)"
  best="$(sed -n 1p <<<"$times")"
  median="$(sed -n 25p <<<"$times")"
  printf 'lanai %-42s best %6d us, median %6d us\n' "$command" "$best" "$median"
  [ "$best" -le $((MAX_STARTUP_MS * 1000)) ] || fail "lanai $command takes more than MAX_STARTUP_MS=$MAX_STARTUP_MS ms to start"
done
