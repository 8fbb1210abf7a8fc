#!/bin/bash
# Builds JobSet's controller as its module publishes it, lays its manifests beside it, and prints the
# folder. Its version is the one that Kueue is built with, so both share a go.mod. Named by a hash of
# what it was built from, so this costs two minutes of one core once.
set -euo pipefail
cd "$(dirname "$0")"
release=$(sed -n 's#^.*sigs.k8s.io/jobset \(v[0-9.]*\).*$#\1#p' go.mod | head -1)
hash=$(cat go.mod go.sum jobset.sh | sha256sum | cut -c1-12)
root=${GRIDBID_PLANE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gridbid/plane}
out=$root/jobset-$release-$hash
if [ -x "$out/jobset" ]; then # who only looks for it waits for no build of something else
  echo "$out"
  exit
fi
mkdir -p "$root"
exec 9> "$root/lock"
flock 9 # a second build waits for the first, and then finds it
if [ ! -x "$out/jobset" ]; then
  echo "building JobSet $release for tests; about two minutes on one core, once" >&2
  half=$(mktemp -d "$root/half.XXXXXX")
  trap 'rm -rf "$half"' EXIT
  CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath -ldflags '-s -w' -o "$half/jobset" sigs.k8s.io/jobset >&2
  manifests=$(go list -mod=readonly -m -f '{{.Dir}}' sigs.k8s.io/jobset)/config/components
  mkdir "$half/crd"
  cp "$manifests"/crd/bases/*.yaml "$half/crd/"
  cp "$manifests/webhook/manifests.yaml" "$half/webhooks.yaml"
  chmod -R u+w "$half"
  chmod 755 "$half"
  mv "$half" "$out"
fi
echo "$out"
