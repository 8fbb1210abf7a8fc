package main

import (
	"log/slog"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/cluster-agent/site"
	"github.com/gridbid/gridbid/scenarios/clusters"
)

// queueConfig is what is taken in from a cluster, in the configuration's own words.
type queueConfig struct {
	Kubeconfig string   `yaml:"kubeconfig"`
	Namespaces []string `yaml:"namespaces"`
}

// config is what a queue is told; nil if there is none.
func (q *queueConfig) config() *queue.Config {
	if q == nil {
		return nil
	}
	return new(queue.Config)
}

// hub makes the only party of a site that runs nothing itself: its queue.
func (c config) hub(log *slog.Logger) (site.Config, error) {
	var to kube.Config
	if err := to.Connect(c.Queue.Kubeconfig); err != nil {
		return site.Config{}, err
	}
	q := c.Queue.config()
	q.Site, q.Namespaces, q.Log = c.Site, c.Queue.Namespaces, log
	q.Client, q.Dynamic = to.Client, to.Dynamic
	return site.Config{Site: c.Site, Folder: c.Folder, Queue: clusters.RunQueue(*q)}, nil
}
