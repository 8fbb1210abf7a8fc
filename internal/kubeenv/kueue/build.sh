#!/bin/bash
# Builds Kueue's controller as its module publishes it, lays its manifests beside it, and prints the
# folder. Go fetches what go.mod names. Named by a hash of what it was built from, so this costs five
# minutes of one core once. It is apart from the control plane: it needs an older Kubernetes.
set -euo pipefail
cd "$(dirname "$0")"
release=$(sed -n 's#^.*sigs.k8s.io/kueue \(v[0-9.]*\).*$#\1#p' go.mod | head -1)
hash=$(cat go.mod go.sum build.sh | sha256sum | cut -c1-12)
root=${GRIDBID_PLANE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gridbid/plane}
out=$root/kueue-$release-$hash
mkdir -p "$root"
exec 9> "$root/lock"
flock 9 # a second build waits for the first, and then finds it
if [ ! -x "$out/kueue" ]; then
  echo "building Kueue $release for tests; about five minutes on one core, once" >&2
  half=$(mktemp -d "$root/half.XXXXXX")
  trap 'rm -rf "$half"' EXIT
  CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath -ldflags '-s -w' -o "$half/kueue" sigs.k8s.io/kueue/cmd/kueue >&2
  manifests=$(go list -mod=readonly -m -f '{{.Dir}}' sigs.k8s.io/kueue)/config/components
  mkdir "$half/crd"
  cp "$manifests"/crd/bases/*.yaml "$half/crd/"
  cp "$manifests/webhook/manifests.yaml" "$half/webhooks.yaml"
  chmod -R u+w "$half"
  chmod 755 "$half"
  mv "$half" "$out"
fi
echo "$out"
