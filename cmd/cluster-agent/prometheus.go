package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/cluster-agent/podenergy"
	"github.com/gridbid/gridbid/cluster-agent/program"
	"github.com/gridbid/gridbid/cluster-agent/promenergy"
	"github.com/gridbid/gridbid/protocol"
)

// prometheus is the configuration of a Prometheus server with energy metrics.
type prometheus program.Prometheus

// newMeter returns a meter for the server. It reads the token file each time, so a
// rotated token takes effect.
func (p prometheus) newMeter() (*promenergy.PrometheusMeter, error) {
	c := promenergy.Config{URL: p.URL, MeterGPUs: p.Cards, MeterCPUs: p.Cores, Site: p.Site}
	if p.TokenFile != "" {
		text, err := os.ReadFile(p.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("cluster-agent: kubernetes: prometheus: %w", err)
		}
		c.Token = strings.TrimSpace(string(text))
	}
	return promenergy.New(c)
}

// configureExecutor sets the meters of an executor to the server.
func (p prometheus) configureExecutor(c *executor.Config) error {
	if _, err := p.newMeter(); err != nil {
		return err
	}
	switch {
	case p.Cores && !p.Cards:
		return errors.New("cluster-agent: kubernetes: prometheus: cores needs cards, as CPU energy is measured only for jobs with measured GPUs: set cards, too")
	case !p.Cards && !p.Use && p.Site == "":
		return errors.New("cluster-agent: kubernetes: prometheus: the section queries nothing: set cards, use or site, or remove it")
	}
	table := c.Power
	if p.Cards {
		c.Draw = func(ctx context.Context, l protocol.Launch, space string, pods []string, since, until protocol.Time) ([]protocol.HourlyEnergy, error) {
			m, err := p.newMeter()
			if err != nil {
				return nil, err
			}
			return p.measureJob(ctx, m, table, l, promenergy.MeteredRun{Namespace: space, Pods: pods, GPUs: l.Job.GPUs, Since: since, Until: until})
		}
	}
	if p.Use {
		c.Use = func(ctx context.Context, space string, pods []string, since, until protocol.Time) (protocol.Utilization, error) {
			m, err := p.newMeter()
			if err != nil {
				return protocol.Utilization{}, err
			}
			return m.QueryUtilization(ctx, promenergy.MeteredRun{Namespace: space, Pods: pods, Since: since, Until: until})
		}
	}
	if p.Site != "" {
		c.Hour = func(ctx context.Context, hour protocol.Time) (protocol.Millijoules, error) {
			m, err := p.newMeter()
			if err != nil {
				return 0, err
			}
			return m.SiteEnergyInHour(ctx, hour)
		}
	}
	return nil
}

// measureJob returns what a run's GPUs and CPU cores drew, by hour. The cores count by the
// power model unless the server measures them.
func (p prometheus) measureJob(ctx context.Context, m *promenergy.PrometheusMeter, table power.Table, l protocol.Launch, r promenergy.MeteredRun) ([]protocol.HourlyEnergy, error) {
	if l.Job.Share < 1000 {
		return nil, errors.New("a shared GPU has one energy counter, which only the node daemon can split by job: run the node daemon")
	}
	g, _ := table.LookupModel(l.Model)
	r.Idle = g.Idle
	draw, err := m.GPUEnergy(ctx, r)
	if err != nil {
		return nil, err
	}
	cores := executor.PlannedEnergy(protocol.Launch{Power: protocol.Milliwatts(int64(l.Job.CPU) * int64(power.DefaultHost(0).Core) / 1000)}, r.Since, r.Until)
	if p.Cores {
		if cores, err = m.CPUEnergy(ctx, r); err != nil {
			return nil, err
		}
	}
	all := podenergy.EnergyTally{Hours: draw}
	for _, s := range cores {
		all.AddEnergy(s.Hour, s.Hour, s.Energy)
	}
	return all.Hours, nil
}
