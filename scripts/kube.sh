#!/usr/bin/env bash
# A real kube-apiserver and its etcd beside ours: scripts/kube.sh [COMMAND [ARGUMENT]...]
#
# Builds both from their Go modules, once (needs Go 1.24 or newer, jq and openssl), starts them with new certificates in a temporary folder, runs the command, ends
# them, and leaves with the command's status. Without a command it prints the variables that a command would see, and serves until Ctrl-C.
#
#   scripts/kube.sh cargo bench --locked -p lanai-serve --bench apiserver   both servers in one run
#   scripts/kube.sh python3 tests/kube/requests.py                          records its answers again
#
# The command sees KUBECONFIG, SERVER, CA, CERT and KEY (an administrator), and LANAI_BENCH_OTHERS. LANAI_KUBE is where the programs are kept, LANAI_BENCH_FOLDER
# where etcd writes. Nothing here needs root. etcd syncs each write to the disk, as our store does.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

kubernetes=v1.34.4 etcd=v3.6.5
programs="${LANAI_KUBE:-$target/kube}"

for tool in go jq openssl; do have "$tool" || fail "\"$tool\" is not installed; a real kube-apiserver cannot be built or started without it"; done

# The module of Kubernetes names its parts as folders of its own repository: as a dependency they are modules with a version each.
build_apiserver() {
  local source version=k8s.io/component-base/version
  mkdir -p "$programs/build/kubernetes"
  cd "$programs/build/kubernetes"
  source=$(go mod download -json "k8s.io/kubernetes@$kubernetes" | jq -r .Dir)
  sed -E "s#^module .*#module local/kubernetes#; s#=> ./staging/src/(k8s.io/.*)#=> \1 v0${kubernetes#v1}#" "$source/go.mod" >go.mod
  printf 'require k8s.io/kubernetes %s\n' "$kubernetes" >>go.mod
  cat "$source/go.sum" >go.sum
  go build -mod=mod -ldflags "-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=34" \
    -o "$programs/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver
}

# Its own program cannot be built from outside of its repository: this one calls the same function.
build_etcd() {
  mkdir -p "$programs/build/etcd"
  cd "$programs/build/etcd"
  printf 'module local/etcd\ngo 1.24.0\n' >go.mod
  printf 'package main\n\nimport (\n\t"os"\n\n\t"go.etcd.io/etcd/server/v3/etcdmain"\n)\n\nfunc main() { etcdmain.Main(os.Args) }\n' >main.go
  go get "go.etcd.io/etcd/server/v3@$etcd"
  go build -mod=mod -ldflags '-s -w' -o "$programs/etcd" .
}

build() {
  mkdir -p "$programs"
  (
    flock 9
    export GOTOOLCHAIN=local CGO_ENABLED=0
    if [ ! -x "$programs/etcd" ]; then say "etcd $etcd" >&2; (build_etcd) >&2; fi
    if [ ! -x "$programs/kube-apiserver" ]; then say "kube-apiserver $kubernetes" >&2; (build_apiserver) >&2; fi
  ) 9>"$programs/lock"
}

# NAME AUTHORITY SUBJECT EXTENSIONS: a key and a certificate, as files in the current folder.
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$3" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -set_serial "0x$(openssl rand -hex 8)" -days 30 \
    -extfile <(printf '%b\n' "$4") -out "$1.crt" 2>/dev/null
}

certificates() {
  umask 077
  local one client=extendedKeyUsage=clientAuth
  for one in ca front-ca; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=$one" -keyout "$one.key" -out "$one.crt" 2>/dev/null
  done
  certificate apiserver ca /CN=kube-apiserver 'extendedKeyUsage=serverAuth\nsubjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.97.0.1'
  certificate admin ca /O=system:masters/CN=admin "$client"
  certificate front-proxy front-ca /CN=front-proxy "$client"
  openssl genrsa -out sa.key 2048 2>/dev/null
  openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
}

free_ports() {
  python3 -c 'import socket
open = [socket.socket() for _ in range(3)]
for one in open: one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in open))'
}

stop() {
  local one
  for one in "${apiserver:-}" "${store:-}"; do
    if [ -n "$one" ]; then
      kill "$one" 2>/dev/null || true
      wait "$one" 2>/dev/null || true
    fi
  done
  rm -rf "$state"
}

# PORT: waits until the server is ready, while it lives.
wait_ready() {
  for _ in $(seq 1200); do
    if curl --silent --fail --cacert "$state/ca.crt" --cert "$state/admin.crt" --key "$state/admin.key" "https://127.0.0.1:$1/readyz" >/dev/null; then return; fi
    kill -0 "$apiserver" 2>/dev/null || fail "kube-apiserver ended: $(tail -n 5 "$state/apiserver.log")"
    sleep 0.1
  done
  fail "kube-apiserver is not ready after two minutes: $(tail -n 5 "$state/apiserver.log")"
}

build
state=$(mktemp -d "${LANAI_BENCH_FOLDER:-${TMPDIR:-/tmp}}/lanai-kube.XXXXXX")
trap stop EXIT
trap 'exit 130' INT TERM
(cd "$state" && certificates)
read -r client peer port <<<"$(free_ports)"

"$programs/etcd" --name one --data-dir "$state/etcd" --log-level warn --initial-cluster "one=http://127.0.0.1:$peer" \
  --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" >"$state/etcd.log" 2>&1 &
store=$!
"$programs/kube-apiserver" --etcd-servers "http://127.0.0.1:$client" --bind-address 127.0.0.1 --secure-port "$port" \
  --tls-cert-file "$state/apiserver.crt" --tls-private-key-file "$state/apiserver.key" --client-ca-file "$state/ca.crt" \
  --service-account-issuer https://kubernetes.default.svc.cluster.local --service-account-key-file "$state/sa.pub" \
  --service-account-signing-key-file "$state/sa.key" --service-cluster-ip-range 10.97.0.0/24 --authorization-mode RBAC \
  --requestheader-client-ca-file "$state/front-ca.crt" --requestheader-allowed-names front-proxy --requestheader-username-headers X-Remote-User \
  --requestheader-group-headers X-Remote-Group --requestheader-extra-headers-prefix X-Remote-Extra- \
  --disable-admission-plugins ServiceAccount --allow-privileged >"$state/apiserver.log" 2>&1 &
apiserver=$!
wait_ready "$port"

# As JSON with the certificates inside, which is how our own kubeconfig is read by the benchmark.
export SERVER="https://127.0.0.1:$port" CA="$state/ca.crt" CERT="$state/admin.crt" KEY="$state/admin.key" KUBECONFIG="$state/kubeconfig"
export LANAI_BENCH_OTHERS="kube-apiserver+etcd=$KUBECONFIG=$apiserver+$store"
cat >"$KUBECONFIG" <<EOT
apiVersion: v1
kind: Config
current-context: kube
contexts:
- name: kube
  context:
    cluster: kube
    user: admin
clusters:
- name: kube
  cluster:
    server: $SERVER
    certificate-authority-data: $(base64 -w0 "$CA")
users:
- name: admin
  user:
    client-certificate-data: $(base64 -w0 "$CERT")
    client-key-data: $(base64 -w0 "$KEY")
EOT

if [ "$#" -eq 0 ]; then
  for name in KUBECONFIG SERVER CA CERT KEY LANAI_BENCH_OTHERS; do printf 'export %s=%q\n' "$name" "${!name}"; done
  wait "$apiserver"
else
  "$@"
fi
