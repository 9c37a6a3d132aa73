#!/usr/bin/env bash
# Shows in a minute what Lanai does today: it edits one entry and leaves every other byte alone.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cargo build --quiet --profile quick -p lanai
lanai="$target/quick/lanai"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
before="$PWD/demo/deployment.yaml"
cp "$before" "$scratch/"
cd "$scratch"

# Shows a command as the reader would type it, then runs it.
show() {
  local word
  printf '\n$ lanai'
  for word in "$@"; do
    case "$word" in
      *[!A-Za-z0-9._:/=-]*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  "$lanai" "$@"
}

image='spec.template.spec.containers[name=app].image'
reviewed='metadata.annotations["example.com/reviewed"]'

printf '$ cat deployment.yaml\n'
cat deployment.yaml

show yaml get deployment.yaml "$image"
show yaml get deployment.yaml "$reviewed"
show yaml get deployment.yaml spec.template.spec.containers
show yaml set deployment.yaml "$image" registry.example.com/shop:v1.5.0 --diff
show yaml set deployment.yaml "$reviewed" no
show yaml set deployment.yaml 'spec.template.spec.containers[name=app].env[]' '{name: CURRENCY, value: CHF}'

printf '\n$ diff before.yaml deployment.yaml   # all three edits: nothing else has moved\n'
if diff "$before" deployment.yaml; then fail "the edits changed nothing"; fi

# A function of the public catalog, inside of the program: selectors and templates follow, comments and layout stay.
show fn eval deployment.yaml --image set-labels --diff -- team=shop
