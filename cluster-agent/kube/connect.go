package kube

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ConnectCluster returns a typed and a dynamic client for a cluster: the one of a kubeconfig
// file, or the cluster that this process runs in if file is "".
//
// Client-side rate limiting is off (QPS -1): client-go's default of five requests a
// second is too slow for a single job, and the API server's own priority and fairness
// protects it. The typed client uses protobuf, which is cheaper to decode than JSON;
// the dynamic client cannot.
func ConnectCluster(file string) (typed kubernetes.Interface, untyped dynamic.Interface, err error) {
	var cfg *rest.Config
	if file == "" {
		cfg, err = rest.InClusterConfig()
	} else {
		cfg, err = clientcmd.BuildConfigFromFlags("", file)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("kube: no cluster to connect to (set a kubeconfig file, or run inside a cluster): %w", err)
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
