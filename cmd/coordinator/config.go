package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
)

//go:embed config.schema.json
var schema []byte

var configFile = yamlschema.Kind{
	By: "coordinator", What: "configuration", Docs: "docs/live.md", Schema: schema,
	Pattern: func(p string) string {
		if strings.Contains(p, "ms|") {
			return "a time span such as 500ms, 2s or 1h30m"
		}
		return ""
	},
}

// config is a configuration file in its own words.
type config struct {
	daemon.Settings `yaml:",inline"`
	Host            string       `yaml:"host"`
	Notebook        string       `yaml:"notebook"`
	People          string       `yaml:"people_file"`
	Lease           span         `yaml:"lease"`
	Keep            span         `yaml:"keep"`
	Market          marketConfig `yaml:"market"`
	Model           modelConfig  `yaml:"model"`
}

type marketConfig struct {
	Gather   *span    `yaml:"gather"`
	Window   span     `yaml:"window"`
	Lease    span     `yaml:"lease"`
	Replan   span     `yaml:"replan"`
	Patience span     `yaml:"patience"`
	Remember span     `yaml:"remember"`
	Most     int      `yaml:"most"`
	Margin   *int64   `yaml:"margin"`
	Kappa    *float64 `yaml:"kappa"`
	Delay    *float64 `yaml:"delay"`
	Late     *float64 `yaml:"late"`
}

// A span is a time span in words; the zero span is not given.
type span time.Duration

// UnmarshalYAML reads words such as 1h30m. The schema has looked at them.
func (s *span) UnmarshalYAML(read func(any) error) error {
	var text string
	if err := read(&text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	*s = span(d)
	return err
}

// load reads a configuration; "" is all defaults.
func load(file string) (config, error) {
	c := config{}
	if file == "" {
		return c, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("coordinator: %w", err)
	}
	p, err := configFile.Read(file, text)
	if err != nil {
		return c, err
	}
	if err := p.Decode(&c); err != nil {
		return c, err
	}
	dir := filepath.Dir(file)
	c.Model = c.Model.under(dir)
	c.People, c.Notebook = daemon.Under(dir, c.People), daemon.Under(dir, c.Notebook)
	c.Host = daemon.Under(dir, c.Host)
	c.ResolvePaths(dir)
	if c.Lease != 0 && time.Duration(c.Lease)%time.Second != 0 {
		return c, p.Fault([]string{"lease"}, "want whole seconds")
	}
	return c, nil
}

// people returns who may confirm a policy; nil if no file says so.
func (c config) people() ([]api.Person, error) {
	if c.People == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.People)
	if err != nil {
		return nil, fmt.Errorf("coordinator: people_file: %w", err)
	}
	return api.ReadPeople(c.People, text)
}

// market returns the rules of the market.
func (c config) market() market.Config {
	m := c.Market
	usual := protocol.UsualWeights()
	out := market.Config{
		Window: time.Duration(m.Window), Lease: time.Duration(m.Lease),
		Replan: time.Duration(m.Replan), Patience: time.Duration(m.Patience), Remember: time.Duration(m.Remember),
		Terms: protocol.Weights{
			Carbon: protocol.InMicrodollars(m.Kappa, 1000*usual.Carbon) / 1000,
			Delay:  protocol.InMicrodollars(m.Delay, usual.Delay),
			Late:   protocol.InMicrodollars(m.Late, usual.Late),
		},
		Pay: accounts.Rule{Margin: 100},
	}
	if g := m.Gather; g != nil && *g == 0 {
		out.Gather = -1
	} else if g != nil {
		out.Gather = time.Duration(*g)
	}
	if out.Most = m.Most; out.Most == 0 {
		out.Most = 512
	}
	if out.Remember == 0 {
		out.Remember = 24 * time.Hour
	}
	if m.Margin != nil {
		out.Pay.Margin = protocol.Milli(*m.Margin)
	}
	return out
}
