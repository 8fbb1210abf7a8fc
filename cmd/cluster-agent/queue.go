package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/cluster-agent/kubesite"
	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/protocol"
)

// queueOf returns the configuration of the site's queue; nil if it has none.
func queueOf(q *program.Queue) (*queue.Config, error) {
	switch {
	case q == nil:
		return nil, nil
	case q.Kueue == nil:
		return new(queue.Config), nil
	}
	k := &queue.KueueDispatcher{Clusters: q.Kueue.Clusters}
	if text := q.Kueue.Run; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second || d > protocol.MaxRun {
			return nil, fmt.Errorf("cluster-agent: queue: kueue: run: %q: want a time span from 1s to 720h, such as 1h30m", text)
		}
		k.DefaultRunTime = d
	}
	return &queue.Config{Kueue: k}, nil
}

// buildHub builds a site that runs no jobs: its only party is the queue.
func buildHub(c program.Config, log *slog.Logger) (runtime.Config, error) {
	q, err := queueOf(c.Queue)
	if err != nil {
		return runtime.Config{}, err
	}
	q.Site, q.Namespaces, q.Log = c.Site, c.Queue.Namespaces, log
	return kubesite.BuildQueue(*q, c.Queue.Kubeconfig, c.Folder)
}
