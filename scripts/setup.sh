#!/usr/bin/env bash
# Makes a bare Debian machine able to build and test. Does nothing, and needs no rights, where all is there.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages=()
{ have cc && have make; } || packages+=(build-essential)
have git || packages+=(git)
# The tests start an ssh server of their own, and say so where they cannot. Installing one starts it on many systems, so that is
# done for machines that root sets up, not behind the back of somebody with sudo.
if [ ! -x /usr/sbin/sshd ] && have apt-get && [ "$(id -u)" -eq 0 ]; then packages+=(openssh-server); fi
# The tests of the store start PostgreSQL servers of their own; the package starts one as well, so the same holds for it.
if ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && have apt-get && [ "$(id -u)" -eq 0 ]; then packages+=(postgresql); fi
# The tests of containers make images of a static shell, in stores of their own; podman's package starts a service as well.
if ! have podman && have apt-get && [ "$(id -u)" -eq 0 ]; then packages+=(podman runc); fi
if [ ! -x /bin/busybox ] && have apt-get && [ "$(id -u)" -eq 0 ]; then packages+=(busybox-static); fi
# Rust is not what Debian has: its compiler is too old. It comes by rustup, into the home folder of whoever runs this.
rust_works() { cargo --version >/dev/null 2>&1 && rustc --version >/dev/null 2>&1; }
rust_works || have rustup || have curl || packages+=(curl)
# The tests install the Python client of Kubernetes into a folder of their own, and say so where they cannot.
if ! python3 -c 'import ensurepip, venv' >/dev/null 2>&1 && have apt-get && [ "$(id -u)" -eq 0 ]; then packages+=(python3-venv); fi
[ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] || packages+=(ca-certificates)

if [ ${#packages[@]} -gt 0 ]; then
  have apt-get || fail "please install: ${packages[*]} (this script can only use apt-get, which is not here)"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || fail "please install as root: apt-get install ${packages[*]}"
    as_root=(sudo)
  fi
  say "installing ${packages[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"
fi

wanted="$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)"
toolchain=(--profile minimal --component rustfmt --component clippy)
if ! rust_works; then
  say "installing Rust $wanted with rustup, below ${CARGO_HOME:-$HOME/.cargo} and ${RUSTUP_HOME:-$HOME/.rustup}"
  if have rustup; then
    # Debian's package brings rustup alone, and names for a compiler that is not there yet.
    rustup toolchain install "$wanted" "${toolchain[@]}"
    rustup default "$wanted"
  else
    scratch="$(mktemp -d)"
    trap 'rm -rf "$scratch"' EXIT
    root="${RUSTUP_UPDATE_ROOT:-https://static.rust-lang.org/rustup}"
    curl --proto '=https' --tlsv1.2 -sSf "$root/rustup-init.sh" -o "$scratch/rustup-init.sh" ||
      fail "rustup cannot be fetched; install Rust $wanted or newer (see https://rustup.rs), then run this again"
    sh "$scratch/rustup-init.sh" -y --no-modify-path --default-toolchain "$wanted" "${toolchain[@]}"
  fi
  rust_works || fail "Rust was installed, but does not run from ${CARGO_HOME:-$HOME/.cargo}/bin"
fi

found="$(rustc --version | cut -d ' ' -f 2)"
oldest="$(printf '%s\n' "$wanted" "${found%%-*}" | sort -V | head -n 1)"
[ "$oldest" = "$wanted" ] || fail "Rust $found is too old: $wanted or newer is needed (rustup update stable)"

for component in rustfmt clippy; do
  command="cargo-${component/rustfmt/fmt}"
  if "$command" --version >/dev/null 2>&1; then continue; fi
  have rustup || fail "$component is not installed, and there is no rustup to install it with"
  say "installing $component"
  rustup component add "$component"
done
