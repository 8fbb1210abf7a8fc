package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/kubesite"
	"github.com/gridbid/gridbid/cluster-agent/nvml"
	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/cluster-agent/signals"
)

// minAbandonTime is the least time that may be configured for giving up a silent API
// server: a restart of its machine alone takes that long.
const minAbandonTime = time.Minute

// buildSite builds the parties of a site on a real cluster, whose grid signals feed
// reports; or those of a hub if the configuration names no cluster.
func buildSite(c program.Config, log *slog.Logger, feed *signals.Poller) (runtime.Config, error) {
	k := c.Kubernetes
	if k == nil {
		return buildHub(c, log)
	}
	x := kubesite.Config{
		SiteConfig: runtime.SiteConfig{Site: c.Site, Folder: c.Folder, Forecast: c.Grid.ForecastConfig(), NodesSleep: c.Grid.NodesSleep, Terms: c.SiteTerms(), Location: c.Location},
		Kubeconfig: k.Kubeconfig,
		Executor: executor.Config{
			Namespaces: k.Namespaces, Sharing: kube.GPUSharing(k.Sharing), Nodes: kube.NodeSelection(k.Nodes), Driver: k.Driver, Class: k.Class, Models: k.Models, Log: log,
		},
	}
	var err error
	if x.Power, err = k.PowerTable(); err != nil {
		return runtime.Config{}, fmt.Errorf("cluster-agent: kubernetes: %w", err)
	}
	if x.Power, err = withCurves(x.Power, k.Curves); err != nil {
		return runtime.Config{}, err
	}
	x.Executor.Power = x.Power
	for _, product := range slices.Sorted(maps.Keys(k.Models)) {
		if _, ok := x.Power.LookupModel(k.Models[product]); !ok {
			return runtime.Config{}, fmt.Errorf("cluster-agent: kubernetes: models: %s: %q is not in the power table: want one of %s, or its figures under power", product, k.Models[product], strings.Join(x.Power.ModelNames(), ", "))
		}
	}
	if k.Prometheus != nil {
		if err := prometheus(*k.Prometheus).configureExecutor(&x.Executor); err != nil {
			return runtime.Config{}, err
		}
	}
	for _, d := range []struct {
		name, text string
		to         *time.Duration
	}{{"abandon", k.Abandon, &x.Executor.AbandonAfter}, {"metered", k.Metered, &x.Executor.EnergyReportTimeout}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil || v <= 0 {
			return runtime.Config{}, fmt.Errorf("cluster-agent: kubernetes: %s: %q is not a duration: want one such as 10m", d.name, d.text)
		}
		*d.to = v
	}
	if x.Executor.AbandonAfter > 0 && x.Executor.AbandonAfter < minAbandonTime {
		return runtime.Config{}, fmt.Errorf("cluster-agent: kubernetes: abandon: %q: want %v or more, as a restart of the API server would otherwise make jobs run twice", k.Abandon, minAbandonTime)
	}
	if x.Queue, err = queueOf(c.Queue); err != nil {
		return runtime.Config{}, err
	}
	return kubesite.BuildSite(x, runtime.LocalParty{Service: feed.Run})
}

// withCurves returns the power table with the curves that the site measured of its
// own GPUs.
func withCurves(t power.Table, curves map[string]string) (power.Table, error) {
	for _, model := range slices.Sorted(maps.Keys(curves)) {
		g, ok := t.LookupModel(model)
		if !ok {
			return t, fmt.Errorf("cluster-agent: kubernetes: curves: %q is not in the power table: want one of %s, or its figures under power", model, strings.Join(t.ModelNames(), ", "))
		}
		c, err := readCurve(curves[model])
		if err != nil {
			return t, err
		}
		if t, err = t.WithGPU(c.ApplyToGPUModel(g)); err != nil {
			return t, fmt.Errorf("cluster-agent: kubernetes: curves: %s: %w", model, err)
		}
	}
	return t, nil
}

// readCurve reads a curve that powercal wrote.
func readCurve(file string) (nvml.PowerCurve, error) {
	f, err := os.Open(file)
	if err != nil {
		return nvml.PowerCurve{}, fmt.Errorf("cluster-agent: %w", err)
	}
	defer f.Close()
	return nvml.ReadPowerCurve(f, file)
}
