#!/bin/bash
# Builds the test control plane and prints the folder it stands in. Go fetches what go.mod names;
# nothing else is needed. The folder is named by a hash of what it was built from, so this costs
# about ten minutes of two cores once, and nothing after that.
set -euo pipefail
cd "$(dirname "$0")"
release=$(sed -n 's#^.*k8s.io/kubernetes \(v[0-9.]*\)$#\1#p' go.mod | head -1)
hash=$(cat go.mod go.sum main.go build.sh | sha256sum | cut -c1-12)
root=${GRIDBID_PLANE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gridbid/plane}
out=$root/$release-$hash
if [ -x "$out/testplane" ]; then # who only looks for it waits for no build of something else
  echo "$out"
  exit
fi
mkdir -p "$root"
exec 9> "$root/lock"
flock 9 # a second build waits for the first, and then finds it
if [ ! -x "$out/testplane" ]; then
  echo "building Kubernetes $release for tests; about ten minutes on two cores, once" >&2
  half=$(mktemp -d "$root/half.XXXXXX")
  trap 'rm -rf "$half"' EXIT
  minor=${release#v1.}
  version=k8s.io/component-base/version
  # version flags make the server call itself what it is; without them it is "v0.0.0-master"
  CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath -o "$half/testplane" -ldflags \
    "-s -w -X $version.gitVersion=$release -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}" . >&2
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kwok; do
    ln -s testplane "$half/$name"
  done
  chmod 755 "$half"
  mv "$half" "$out"
fi
echo "$out"
