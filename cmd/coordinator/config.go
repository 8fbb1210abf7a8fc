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
var configSchema []byte

var configFile = yamlschema.SchemaKind{
	Reader: "coordinator", FileKind: "configuration", Docs: "docs/live.md", Schema: configSchema,
	Pattern: func(p string) string {
		if strings.Contains(p, "ms|") {
			return "a time span such as 500ms, 2s or 1h30m"
		}
		return ""
	},
}

// coordinatorConfig is a configuration file in its own words.
type coordinatorConfig struct {
	daemon.Settings `yaml:",inline"`
	Host            string         `yaml:"host"`
	ArchiveDir      string         `yaml:"notebook"`
	People          string         `yaml:"people_file"`
	Lease           configDuration `yaml:"lease"`
	Keep            configDuration `yaml:"keep"`
	Market          marketConfig   `yaml:"market"`
	Model           modelConfig    `yaml:"model"`
}

type marketConfig struct {
	Gather   *configDuration `yaml:"gather"`
	Window   configDuration  `yaml:"window"`
	Lease    configDuration  `yaml:"lease"`
	Replan   configDuration  `yaml:"replan"`
	Patience configDuration  `yaml:"patience"`
	Remember configDuration  `yaml:"remember"`
	Most     int             `yaml:"most"`
	Margin   *int64          `yaml:"margin"`
	Kappa    *float64        `yaml:"kappa"`
	Delay    *float64        `yaml:"delay"`
	Late     *float64        `yaml:"late"`
}

// A configDuration is a time span in words; the zero span is not given.
type configDuration time.Duration

// UnmarshalYAML reads words such as 1h30m. The schema has looked at them.
func (s *configDuration) UnmarshalYAML(read func(any) error) error {
	var text string
	if err := read(&text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	*s = configDuration(d)
	return err
}

// loadConfig reads a configuration; "" is all defaults.
func loadConfig(file string) (coordinatorConfig, error) {
	c := coordinatorConfig{}
	if file == "" {
		return c, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("coordinator: %w", err)
	}
	p, err := configFile.ParsePage(file, text)
	if err != nil {
		return c, err
	}
	if err := p.DecodeInto(&c); err != nil {
		return c, err
	}
	dir := filepath.Dir(file)
	c.Model = c.Model.resolvePaths(dir)
	c.People, c.ArchiveDir = daemon.ResolveUnder(dir, c.People), daemon.ResolveUnder(dir, c.ArchiveDir)
	c.Host = daemon.ResolveUnder(dir, c.Host)
	c.ResolvePaths(dir)
	if c.Lease != 0 && time.Duration(c.Lease)%time.Second != 0 {
		return c, p.FaultAt([]string{"lease"}, "want whole seconds")
	}
	return c, nil
}

// readPeople returns who may confirm a policy; nil if no file says so.
func (c coordinatorConfig) readPeople() ([]api.Person, error) {
	if c.People == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.People)
	if err != nil {
		return nil, fmt.Errorf("coordinator: people_file: %w", err)
	}
	return api.ReadPeople(c.People, text)
}

// marketRules returns the rules of the market.
func (c coordinatorConfig) marketRules() market.Config {
	m := c.Market
	usual := protocol.DefaultWeights()
	out := market.Config{
		Window: time.Duration(m.Window), Lease: time.Duration(m.Lease),
		Replan: time.Duration(m.Replan), Patience: time.Duration(m.Patience), Remember: time.Duration(m.Remember),
		Terms: protocol.Weights{
			Carbon: protocol.DollarsToMicrodollars(m.Kappa, 1000*usual.Carbon) / 1000,
			Delay:  protocol.DollarsToMicrodollars(m.Delay, usual.Delay),
			Late:   protocol.DollarsToMicrodollars(m.Late, usual.Late),
		},
		Pay: accounts.PaymentRule{Margin: 100},
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
