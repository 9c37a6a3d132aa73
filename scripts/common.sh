# Sourced by the other scripts: strict mode, the root of the repository, and words for the reader.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# rustup puts cargo here; a shell that was open before it ran does not know, nor does the script whose setup runs it.
if ! command -v cargo >/dev/null; then export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"; fi

# Where cargo builds, as an absolute path.
target="${CARGO_TARGET_DIR:-target}"
case "$target" in /*) ;; *) target="$PWD/$target" ;; esac

say() { printf '\n== %s\n' "$*"; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

have() { command -v "$1" >/dev/null; }

# Says that a part did not run, in the words of lanai_testkit::skip, and logs it for the list at the end.
skipped() {
  printf 'SKIPPED: %s\n' "$*"
  if [ -n "${LANAI_SKIP_LOG:-}" ]; then printf 'SKIPPED: %s\n' "$*" >>"$LANAI_SKIP_LOG"; fi
}

# Builds the Go oracle and prints the path of its binary.
build_oracle() {
  mkdir -p "$target/oracle"
  # The same lock as lanai_testkit::oracle takes, and a rename: nobody runs a binary that is half written.
  (
    flock 9
    (cd tests/oracle && go build -trimpath -o "$target/oracle/oracle.new" .) >&2
    mv "$target/oracle/oracle.new" "$target/oracle/oracle"
  ) 9>"$target/oracle/lock"
  printf '%s\n' "$target/oracle/oracle"
}
