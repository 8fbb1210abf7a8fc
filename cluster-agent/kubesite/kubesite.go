// Package kubesite builds the parties of a site whose jobs run on a Kubernetes
// cluster: the agent, the executor, a source of grid signals and optionally the queue
// of the cluster's own Jobs. The cluster-agent binary, tests and examples build such a
// site by the same functions.
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

// Config describes a site on a Kubernetes cluster.
type Config struct {
	// SiteConfig configures the agent. Leave Nodes empty: the executor reports those of the
	// cluster. The executor uses the same Power table.
	runtime.SiteConfig
	// Kubeconfig is the file with the connection to the cluster; "" is the cluster that
	// this process runs in.
	Kubeconfig string
	// Executor says how the cluster is used. BuildSite fills in Site, Power, Client,
	// Dynamic and Incarnation.
	Executor executor.Config
	// Queue submits Jobs that users create in the cluster; nil: there is none. BuildSite fills
	// in what it has in common with the executor.
	Queue *queue.Config
}

// BuildSite connects to the cluster and builds the site's parties; signals report its
// grid. It starts nothing: pass the result to runtime.RunSite.
func BuildSite(cfg Config, signals runtime.LocalParty) (runtime.Config, error) {
	x := cfg.Executor
	x.Site, x.Power = cfg.Site, cfg.Power
	if err := x.ConnectToCluster(cfg.Kubeconfig); err != nil {
		return runtime.Config{}, err
	}
	cfg.Services = true
	out, err := runtime.BuildSite(cfg.SiteConfig, runtime.LocalParty{Service: serveExecutor(x)}, signals)
	if err != nil || cfg.Queue == nil {
		return out, err
	}
	q := *cfg.Queue
	q.Site, q.Client, q.Dynamic, q.Namespaces, q.RunsJobsHere, q.Sharing, q.Log = x.Site, x.Client, x.Dynamic, x.Namespaces, true, x.Sharing, x.Log
	out.Queue = ServeQueue(q)
	return out, nil
}

// BuildQueue connects to the cluster of a kubeconfig file and builds a site that runs
// no jobs: its only party is the queue of that cluster, whose incarnations are counted
// in folder.
func BuildQueue(cfg queue.Config, kubeconfig, folder string) (runtime.Config, error) {
	var err error
	if cfg.Client, cfg.Dynamic, err = kube.ConnectCluster(kubeconfig); err != nil {
		return runtime.Config{}, err
	}
	return runtime.Config{Site: cfg.Site, DataDir: folder, Queue: ServeQueue(cfg)}, nil
}

// serveExecutor returns a Service that runs an executor on the site bus.
func serveExecutor(cfg executor.Config) func(context.Context, bus.Bus, uint32) error {
	return func(ctx context.Context, siteBus bus.Bus, incarnation uint32) error {
		conn, err := siteBus.Connect(ctx, protocol.ExecutorParty(cfg.Site))
		if err != nil {
			return err
		}
		cfg.Incarnation = incarnation
		return executor.New(cfg).Run(ctx, conn)
	}
}

// ServeQueue returns a function for runtime.Config.Queue that runs a queue.
func ServeQueue(cfg queue.Config) func(context.Context, bus.Conn, uint32) error {
	return func(ctx context.Context, conn bus.Conn, incarnation uint32) error {
		cfg.Incarnation = incarnation
		return queue.New(cfg).Run(ctx, conn)
	}
}
