package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/feed"
	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/site"
	"github.com/gridbid/gridbid/scenarios/clusters"
)

// clusterConfig is how a real cluster is used, in the configuration's own words.
type (
	clusterConfig struct {
		Kubeconfig string            `yaml:"kubeconfig"`
		Namespaces []string          `yaml:"namespaces"`
		Sharing    string            `yaml:"sharing"`
		Driver     string            `yaml:"driver"`
		Class      string            `yaml:"class"`
		Models     map[string]string `yaml:"models"`
		Abandon    string            `yaml:"abandon"`
		Metered    string            `yaml:"metered"`
		Curves     []string          `yaml:"curves"`
	}
)

// site makes the parties of a site on a real cluster.
func (c config) site(log *slog.Logger, live *feed.Feed) (site.Config, error) {
	k := c.Cluster
	x := clusters.Site{
		Config: kube.Config{
			Site: c.Site, Namespaces: k.Namespaces, Sharing: kube.Sharing(k.Sharing), Driver: k.Driver, Class: k.Class, Models: k.Models, Log: log,
		},
		Kubeconfig: k.Kubeconfig, Folder: c.Folder,
		Feed: live, Grid: c.Grid.rules(),
	}
	for _, d := range []struct {
		name, text string
		to         *time.Duration
	}{{"abandon", k.Abandon, &x.Abandon}, {"metered", k.Metered, &x.Metered}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil || v <= 0 {
			return site.Config{}, fmt.Errorf("cluster-agent: kubernetes: %s: %q is no time; want 10m, say", d.name, d.text)
		}
		*d.to = v
	}
	return x.Parties()
}
