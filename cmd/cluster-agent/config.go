package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/cluster-agent/signals"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/scenarios/spec"
)

//go:embed config.schema.json
var schema []byte

var configFile = yamlschema.Kind{By: "cluster-agent", What: "configuration", Docs: "docs/live.md", Schema: schema}

// config is a configuration file in its own words.
type config struct {
	Site     string          `yaml:"site"`
	Folder   string          `yaml:"folder"`
	Listen   string          `yaml:"listen"`
	NATSFile string          `yaml:"nats_file"`
	NATS     *natsbus.Access `yaml:"nats"`
	Simulate *simulateConfig `yaml:"simulate"`
	Traces   struct {
		Endpoint string  `yaml:"endpoint"`
		Ratio    float64 `yaml:"ratio"`
	} `yaml:"traces"`
	Cluster *clusterConfig `yaml:"kubernetes"`
	Queue   *queueConfig   `yaml:"queue"`
	Grid    *gridConfig    `yaml:"grid"`
	Log     struct {
		Level  string `yaml:"level"`
		Format string `yaml:"format"`
	} `yaml:"log"`
}

type simulateConfig struct {
	Scenario string `yaml:"scenario"`
	As       string `yaml:"as"`
	Data     string `yaml:"data"`
}

// load reads a configuration.
func load(file string) (config, error) {
	c := config{}
	if file == "" {
		return c, fmt.Errorf("cluster-agent: no configuration: give --config FILE (see docs/live.md)")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("cluster-agent: %w", err)
	}
	p, err := configFile.Read(file, text)
	if err != nil {
		return c, err
	}
	if err := p.Decode(&c); err != nil {
		return c, err
	}
	if c.Simulate != nil && c.Cluster != nil || c.Simulate == nil && c.Cluster == nil && c.Queue == nil {
		return c, fmt.Errorf("cluster-agent: %s: want either kubernetes, for a real cluster, or simulate; a hub without GPUs has queue alone", file)
	}
	if c.Queue != nil && c.Simulate != nil {
		return c, p.Fault([]string{"queue"}, "needs a real cluster; it does not go with simulate")
	}
	if c.Queue != nil && c.Cluster != nil && (c.Queue.Kubeconfig != "" || len(c.Queue.Namespaces) > 0) {
		return c, p.Fault([]string{"queue"}, "kubeconfig and namespaces are of a hub; beside kubernetes it looks in that cluster, in the same namespaces: take them out")
	}
	if c.Cluster != nil && c.Grid == nil {
		return c, p.Fault([]string{"kubernetes"}, "needs grid beside it: say what the site's energy costs")
	}
	if c.Grid != nil && c.Cluster == nil && c.Simulate == nil {
		return c, p.Fault([]string{"grid"}, "a hub that has queue alone runs nothing and asks no source; take grid out, or name its cluster")
	}
	dir := filepath.Dir(file)
	if c.Grid != nil {
		for i, x := range c.Grid.Sources {
			if c.Grid.Sources[i], err = x.Open(dir); err != nil {
				return c, at(p, i, err)
			}
			if i > 0 && x.Tells == "carbon" && (x.From == "watttime") != (c.Grid.carbon() == "watttime") {
				return c, at(p, i, signals.Fault{Key: "from", What: "marginal and mean carbon are two quantities: keep watttime alone, or the others"})
			}
		}
	}
	if c.Cluster != nil {
		c.Cluster.Kubeconfig = daemon.Under(dir, c.Cluster.Kubeconfig)
		if p := c.Cluster.Prometheus; p != nil {
			p.TokenFile = daemon.Under(dir, p.TokenFile)
		}
		for model, file := range c.Cluster.Curves {
			c.Cluster.Curves[model] = daemon.Under(dir, file)
		}
	}
	if c.Queue != nil {
		c.Queue.Kubeconfig = daemon.Under(dir, c.Queue.Kubeconfig)
	}
	if s := c.Simulate; s != nil {
		if !slices.Contains(spec.List(), s.Scenario) {
			s.Scenario = daemon.Under(dir, s.Scenario)
		}
		s.Data = daemon.Under(dir, s.Data)
	}
	c.NATSFile, c.Folder = daemon.Under(dir, c.NATSFile), daemon.Under(dir, c.Folder)
	if c.NATS != nil {
		*c.NATS = c.NATS.Under(dir)
	}
	return c, nil
}

// access returns how the server is reached.
func (c config) access() (natsbus.Access, error) {
	switch {
	case c.NATS != nil && c.NATSFile != "":
		return natsbus.Access{}, fmt.Errorf("cluster-agent: both nats and nats_file: keep one")
	case c.NATS != nil:
		return *c.NATS, c.NATS.Check()
	case c.NATSFile == "":
		return natsbus.Access{}, fmt.Errorf("cluster-agent: no server is named: give --nats FILE, or nats in the configuration; `gridbid federation add-site` writes one")
	}
	f, err := natsbus.ReadAccess(c.NATSFile)
	return f.Access, err
}
