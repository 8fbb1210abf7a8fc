package main

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/gridbid/gridbid/cluster-agent/kube"
	"github.com/gridbid/gridbid/cluster-agent/site"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/clusters"
)

// clusterConfig is how a real cluster is used, and gridConfig what its energy
// costs, in the configuration's own words.
type (
	clusterConfig struct {
		Kubeconfig string            `yaml:"kubeconfig"`
		Namespaces []string          `yaml:"namespaces"`
		Sharing    string            `yaml:"sharing"`
		Driver     string            `yaml:"driver"`
		Class      string            `yaml:"class"`
		Models     map[string]string `yaml:"models"`
		Abandon    string            `yaml:"abandon"`
	}
	gridConfig struct {
		Price  float64 `yaml:"price"`
		Carbon float64 `yaml:"carbon"`
		PUE    float64 `yaml:"pue"`
	}
)

// site makes the parties of a site on a real cluster.
func (c config) site(log *slog.Logger) (site.Config, error) {
	k := c.Cluster
	x := clusters.Site{
		Config: kube.Config{
			Site: c.Site, Namespaces: k.Namespaces, Sharing: kube.Sharing(k.Sharing), Driver: k.Driver, Class: k.Class, Models: k.Models, Log: log,
		},
		Kubeconfig: k.Kubeconfig, Folder: c.Folder,
		Price:  protocol.Microdollars(math.Round(c.Grid.Price * 1000)),
		Carbon: protocol.Milligrams(math.Round(c.Grid.Carbon * 1000)),
		PUE:    protocol.Milli(math.Round(c.Grid.PUE * 1000)),
	}
	if k.Abandon != "" {
		d, err := time.ParseDuration(k.Abandon)
		if err != nil || d <= 0 {
			return site.Config{}, fmt.Errorf("cluster-agent: kubernetes: abandon: %q is no time; want 10m, say", k.Abandon)
		}
		x.Abandon = d
	}
	return x.Parties()
}
