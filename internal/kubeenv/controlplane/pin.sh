#!/bin/bash
# Writes a fresh go.mod for a Kubernetes release: ./pin.sh v1.36.3, then go mod tidy.
# The staging modules are replaced inside k8s.io/kubernetes itself, and a replace does not
# reach who imports it: each is pinned here again, to the version of the same release.
set -euo pipefail
cd "$(dirname "$0")"
release=${1:?usage: ./pin.sh v1.36.3}
staging=v0.${release#v1.}
theirs=$(go mod download -json "k8s.io/kubernetes@$release" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
{
  printf 'module github.com/gridbid/gridbid/internal/kubeenv/controlplane\n\n'
  grep -E '^(go|godebug) ' "$theirs"
  printf '\nrequire (\n\tk8s.io/kubernetes %s\n\tgo.etcd.io/etcd/server/v3 v3.6.8\n\tsigs.k8s.io/kwok v0.8.0\n)\n\nreplace (\n' "$release"
  sed -n "s#^\t\(k8s.io/[a-z-]*\) => ./staging/.*#\t\1 => \1 $staging#p" "$theirs"
  printf ')\n'
} > go.mod
