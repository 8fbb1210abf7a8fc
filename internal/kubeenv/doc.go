// Package kubeenv starts a Kubernetes control plane on loopback: etcd,
// kube-apiserver, kube-controller-manager and kwok, on request kube-scheduler,
// each a process. Nodes and pods are objects that kwok answers for: no kubelet
// runs and no container. It is for tests and examples.
//
// The binaries are built by controlplane/build.sh, once, from Go modules alone.
// Every process ends with the one that started it. Nothing listens beyond
// loopback, and each plane has a token and a certificate of its own.
//
// A pod that is bound to a node runs at once. By its annotations it then ends:
//
//	plane.test/run    after so long ("1500ms"); without it, it runs until deleted
//	plane.test/fails  "true": with exit code 3 instead of 0
//
// A node is ready at once, unless it has the annotation plane.test/broken.
package kubeenv
