package kube

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ConnectCluster returns the clients of a cluster: of a kubeconfig file, or of the
// cluster that this process runs in if file is "". The API server's own fairness
// limits them, not the client: five requests a second, a client's default, would
// be too few for one job.
func ConnectCluster(file string) (typed kubernetes.Interface, untyped dynamic.Interface, err error) {
	var cfg *rest.Config
	if file == "" {
		cfg, err = rest.InClusterConfig()
	} else {
		cfg, err = clientcmd.BuildConfigFromFlags("", file)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("kube: no cluster to connect to: %w", err)
	}
	cfg.QPS = -1
	cfg.UserAgent = "gridbid"
	if untyped, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, nil, fmt.Errorf("kube: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType, cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	if typed, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, nil, fmt.Errorf("kube: %w", err)
	}
	return typed, untyped, nil
}
