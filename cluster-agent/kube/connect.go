package kube

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Connect fills in the clients of a cluster: of a kubeconfig file, or of the
// cluster that this process runs in if file is "". The API server's own fairness
// limits them, not the client: five requests a second, a client's default, would
// be too few for one job.
func (c *Config) Connect(file string) (err error) {
	var cfg *rest.Config
	if file == "" {
		cfg, err = rest.InClusterConfig()
	} else {
		cfg, err = clientcmd.BuildConfigFromFlags("", file)
	}
	if err != nil {
		return fmt.Errorf("kube: no cluster to connect to: %w", err)
	}
	cfg.QPS = -1
	cfg.UserAgent = "gridbid"
	if c.Dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return fmt.Errorf("kube: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType, cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	if c.Client, err = kubernetes.NewForConfig(cfg); err != nil {
		return fmt.Errorf("kube: %w", err)
	}
	return nil
}
