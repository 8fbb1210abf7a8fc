#!/bin/bash
# Builds controllers as their modules publish them, lays their manifests beside them, and prints the
# folder that has a folder for each: build.sh NAME... Go fetches what go.mod names: Kueue, and the
# controllers of other kinds at the versions that Kueue is built with. The folder is named by a hash
# of what all are built from, so this costs Kueue five minutes of one core once, the others two. It
# is apart from the control plane: they need an older Kubernetes.
set -euo pipefail
cd "$(dirname "$0")"
hash=$(cat go.mod go.sum build.sh | sha256sum | cut -c1-12)
root=${GRIDBID_PLANE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gridbid/plane}
out=$root/controllers-$hash

# describe NAME says in which module and package a controller is, and where the module has its
# resource definitions and its webhooks, if it has any.
describe() {
  webhooks=
  case $1 in
  kueue) module=sigs.k8s.io/kueue package=cmd/kueue crd='config/components/crd/bases/*' webhooks=config/components/webhook/manifests.yaml ;;
  jobset) module=sigs.k8s.io/jobset package=. crd='config/components/crd/bases/*' webhooks=config/components/webhook/manifests.yaml ;;
  lws) module=sigs.k8s.io/lws package=cmd crd='config/crd/bases/*' webhooks=config/webhook/manifests.yaml ;;
  mpi-operator) module=github.com/kubeflow/mpi-operator package=cmd/mpi-operator crd=manifests/base/kubeflow.org_mpijobs.yaml ;;
  training-operator) module=github.com/kubeflow/training-operator package=cmd/training-operator.v1 crd=manifests/base/crds/kubeflow.org_pytorchjobs.yaml webhooks=manifests/base/webhook/manifests.yaml ;;
  *)
    echo "build.sh: no controller $1: want kueue, jobset, lws, mpi-operator or training-operator" >&2
    exit 2
    ;;
  esac
}

# build NAME builds one, if it is not there.
build() {
  describe "$1"
  [ ! -x "$out/$1/$1" ] || return 0 # who only looks for it waits for no build of something else
  exec 9> "$root/lock"
  flock 9 # a second build waits for the first, and then finds it
  [ ! -x "$out/$1/$1" ] || return 0
  echo "building $1 for tests; some minutes on one core, once" >&2
  half=$(mktemp -d "$root/half.XXXXXX")
  trap 'rm -rf "$half"' EXIT
  CGO_ENABLED=0 go build -mod=readonly -buildvcs=false -trimpath -ldflags '-s -w' -o "$half/$1" "$module/$package" >&2
  published=$(go list -mod=readonly -m -f '{{.Dir}}' "$module")
  mkdir "$half/crd"
  cp $published/$crd "$half/crd/"
  [ -z "$webhooks" ] || cp "$published/$webhooks" "$half/webhooks.yaml"
  chmod -R u+w "$half"
  chmod 755 "$half"
  mv "$half" "$out/$1"
  flock -u 9
}

mkdir -p "$out"
for name in "$@"; do
  build "$name"
done
echo "$out"
