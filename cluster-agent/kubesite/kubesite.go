// Package kubesite builds the parties of a site whose jobs run on a Kubernetes
// cluster: the agent, the executor on that cluster, a source of grid signals and,
// if there is one, the queue of the cluster's own Jobs. The cluster-agent binary
// builds its site here; tests and examples build theirs here too.
package kubesite

import (
	"context"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kube/queue"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/protocol"
)

// Config is a site on a Kubernetes cluster.
type Config struct {
	// SiteConfig is what the agent knows of the site. Leave Nodes empty: the
	// executor reports the cluster's. Power is the executor's table too.
	runtime.SiteConfig
	// Kubeconfig is the file by which the cluster is reached; "" is the cluster
	// that this process runs in.
	Kubeconfig string
	// Executor says how the cluster is used. Site, Power, Client, Dynamic and Life
	// are filled in.
	Executor executor.Config
	// Queue takes in Jobs that people put into the cluster; nil: none. What the
	// executor knows of the cluster is filled in.
	Queue *queue.Config
}

// BuildSite connects to the cluster and builds the parties of the site. Signals
// report its grid. It starts nothing: give the result to runtime.RunSite.
func BuildSite(cfg Config, signals runtime.LocalParty) (runtime.Config, error) {
	x := cfg.Executor
	x.Site, x.Power = cfg.Site, cfg.Power
	if err := x.ConnectToCluster(cfg.Kubeconfig); err != nil {
		return runtime.Config{}, err
	}
	out, err := runtime.BuildSite(cfg.SiteConfig, runtime.LocalParty{Service: serveExecutor(x)}, signals)
	if err != nil || cfg.Queue == nil {
		return out, err
	}
	q := *cfg.Queue
	q.Site, q.Client, q.Dynamic, q.Namespaces, q.RunsJobsHere, q.Sharing, q.Log = x.Site, x.Client, x.Dynamic, x.Namespaces, true, x.Sharing, x.Log
	out.Queue = ServeQueue(q)
	return out, nil
}

// BuildQueue connects to the cluster of a kubeconfig file and builds a site that
// runs nothing itself: its only party is the queue of that cluster. Its facts are
// kept in a folder.
func BuildQueue(cfg queue.Config, kubeconfig, folder string) (runtime.Config, error) {
	var err error
	if cfg.Client, cfg.Dynamic, err = kube.ConnectCluster(kubeconfig); err != nil {
		return runtime.Config{}, err
	}
	return runtime.Config{Site: cfg.Site, DataDir: folder, Queue: ServeQueue(cfg)}, nil
}

// serveExecutor runs an executor with the site's life until ctx ends.
func serveExecutor(cfg executor.Config) func(context.Context, bus.Bus, uint32) error {
	return func(ctx context.Context, near bus.Bus, life uint32) error {
		port, err := near.Connect(ctx, protocol.ExecutorParty(cfg.Site))
		if err != nil {
			return err
		}
		cfg.Incarnation = life
		return executor.New(cfg).Run(ctx, port)
	}
}

// ServeQueue returns a queue as runtime.Config.Queue runs it.
func ServeQueue(cfg queue.Config) func(context.Context, bus.Conn, uint32) error {
	return func(ctx context.Context, far bus.Conn, life uint32) error {
		cfg.Incarnation = life
		return queue.New(cfg).Run(ctx, far)
	}
}
