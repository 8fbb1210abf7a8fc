// Package kubeenv starts a Kubernetes control plane on loopback for tests and
// examples: etcd, kube-apiserver, kube-controller-manager and kwok, on request
// kube-scheduler, each a process. kwok plays the kubelets: it updates nodes and pods
// in the API, and no container runs.
//
// controlplane/build.sh builds the binaries once, from Go modules only. Every process
// ends with the one that started it. Nothing listens beyond loopback, and each control
// plane has credentials of its own.
//
// A pod that is bound to a node is running at once. These annotations say when it
// ends:
//
//	plane.test/run    after this time ("1500ms"); without it, when it is deleted
//	plane.test/fails  "true": with exit code 3 instead of 0
//
// A node is ready at once, unless it has the annotation plane.test/broken.
package kubeenv
