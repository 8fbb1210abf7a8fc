package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/cluster-agent/kubesite"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/protocol"
)

// queueConfig is what is taken in from a cluster, in the configuration's own words.
type queueConfig struct {
	Kubeconfig string   `yaml:"kubeconfig"`
	Namespaces []string `yaml:"namespaces"`
	Kueue      *struct {
		Clusters map[string]string `yaml:"clusters"`
		Run      string            `yaml:"run"`
	} `yaml:"kueue"`
}

// config is what a queue is told; nil if there is none.
func (q *queueConfig) config() (*queue.Config, error) {
	switch {
	case q == nil:
		return nil, nil
	case q.Kueue == nil:
		return new(queue.Config), nil
	}
	k := &queue.Kueue{Clusters: q.Kueue.Clusters}
	if text := q.Kueue.Run; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second || d > protocol.MaxRun {
			return nil, fmt.Errorf("cluster-agent: queue: kueue: run: %q: want a time span from 1s to 720h, such as 1h30m", text)
		}
		k.Run = d
	}
	return &queue.Config{Kueue: k}, nil
}

// hub builds a site that runs nothing itself: its only party is its queue.
func (c config) hub(log *slog.Logger) (runtime.Config, error) {
	q, err := c.Queue.config()
	if err != nil {
		return runtime.Config{}, err
	}
	q.Site, q.Namespaces, q.Log = c.Site, c.Queue.Namespaces, log
	return kubesite.BuildQueue(*q, c.Queue.Kubeconfig, c.Folder)
}
