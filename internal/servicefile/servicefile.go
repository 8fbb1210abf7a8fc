// Package servicefile reads services as people write them: in GiB, cores and dollars. The
// coordinator's API reads a submitted service by it, and a scenario each service that it lists, so
// that a service means the same in both.
//
// Callers check what depends on a federation, such as names of sites and GPU models. Package
// jobfile, the neighbour, reads jobs.
package servicefile

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
)

// Schema is the JSON schema of a service file, as published.
//
//go:embed service.schema.json
var Schema []byte

// kind reads service files by their schema.
var kind = yamlschema.SchemaKind{
	Reader: "servicefile", FileKind: "service", Docs: "docs/services.md", Schema: Schema, Pattern: jobfile.DescribePattern,
}

// A Spec is the content of a service file, in its units.
type Spec struct {
	ID           string         `yaml:"id"`
	Tenant       string         `yaml:"tenant,omitempty"`
	Priority     int            `yaml:"priority,omitempty"`
	Replicas     int            `yaml:"replicas"`
	Min          int            `yaml:"min,omitempty"`
	Max          int            `yaml:"max,omitempty"`
	GPUs         int            `yaml:"gpus,omitempty"`
	Share        *float64       `yaml:"share,omitempty"`
	GPUMemory    float64        `yaml:"gpu_memory,omitempty"`
	CPU          float64        `yaml:"cpu,omitempty"`
	Memory       float64        `yaml:"memory,omitempty"`
	Models       []string       `yaml:"models,omitempty"`
	Sites        []string       `yaml:"sites,omitempty"`
	Division     string         `yaml:"division,omitempty"`
	Tiers        [][]string     `yaml:"tiers,omitempty"`
	Exclusive    bool           `yaml:"exclusive,omitempty"`
	Weights      map[string]int `yaml:"weights,omitempty"`
	MinPerSite   int            `yaml:"min_per_site,omitempty"`
	MinSites     int            `yaml:"min_sites,omitempty"`
	MaxSites     int            `yaml:"max_sites,omitempty"`
	Move         MoveSpec       `yaml:"move,omitempty"`
	Variants     []VariantSpec  `yaml:"variants,omitempty"`
	Task         string         `yaml:"task,omitempty"`
	MinRegions   int            `yaml:"min_regions,omitempty"`
	MaxRegions   int            `yaml:"max_regions,omitempty"`
	MinProviders int            `yaml:"min_providers,omitempty"`
	MaxProviders int            `yaml:"max_providers,omitempty"`
	Affinity     string         `yaml:"affinity,omitempty"`
	AntiAffinity string         `yaml:"anti_affinity,omitempty"`
	CarbonWeight float64        `yaml:"carbon_weight,omitempty"`

	Load     float64           `yaml:"load,omitempty"` // requests per second
	Failover float64           `yaml:"failover,omitempty"`
	Classes  []ClassSpec       `yaml:"classes,omitempty"`
	RTT      map[string]string `yaml:"rtt,omitempty"`
}

// A ClassSpec is a service level objective.
type ClassSpec struct {
	Name         string  `yaml:"name"`
	Percentile   float64 `yaml:"percentile"`
	TTFT         string  `yaml:"ttft,omitempty"`
	TPOT         string  `yaml:"tpot,omitempty"`
	Total        string  `yaml:"total,omitempty"`
	OutputTokens int     `yaml:"output_tokens,omitempty"`
}

// A RateSpec is how fast a replica answers at a load.
type RateSpec struct {
	Rate       float64 `yaml:"rate"` // requests per second
	Percentile float64 `yaml:"percentile"`
	TTFT       string  `yaml:"ttft,omitempty"`
	TPOT       string  `yaml:"tpot,omitempty"`
}

// A MoveSpec says what moving a replica costs.
type MoveSpec struct {
	Cost    float64 `yaml:"cost,omitempty"` // dollars
	Horizon string  `yaml:"horizon,omitempty"`
}

// A VariantSpec says how a replica does on GPUs of a model.
type VariantSpec struct {
	GPU     string  `yaml:"gpu"`
	Goodput float64 `yaml:"goodput,omitempty"` // requests per second
	Power   float64 `yaml:"power,omitempty"`   // watts
	Start   string  `yaml:"start,omitempty"`

	Rates []RateSpec `yaml:"rates,omitempty"`
}

// YAML returns the content as a service file.
func (x Spec) YAML() ([]byte, error) { return yaml.Marshal(x) }

// Parse parses a service file, YAML or JSON. Errors name the file, the line and what to change.
func Parse(file string, text []byte) (protocol.Service, error) {
	p, err := kind.ParsePage(file, text)
	if err != nil {
		return protocol.Service{}, err
	}
	var s Spec
	if err := p.DecodeInto(&s); err != nil {
		return protocol.Service{}, err
	}
	return s.Service(func(key, format string, args ...any) error {
		if key == "" {
			return p.FaultAt(nil, format, args...)
		}
		return p.FaultAt(strings.Split(key, "/"), format, args...)
	})
}

// Service converts units and fills in defaults: a file has GiB, cores, GPUs and dollars, the protocol
// MiB, thousandths and microdollars. at builds the error of a key, or of a path as move/horizon; "" is
// the whole service.
func (x Spec) Service(at func(key, format string, args ...any) error) (protocol.Service, error) {
	mib := func(gib float64) protocol.MiB { return protocol.MiB(math.Round(gib * 1024)) }
	milli := func(v float64) protocol.Milli { return protocol.Milli(math.Round(v * 1000)) }
	var fault error // of the first latency that is none
	latency := func(key, text string) time.Duration {
		d, err := time.ParseDuration(cmp.Or(text, "0s"))
		if err != nil && fault == nil {
			fault = at(key, "is %q: want a time such as 450ms or 1.5s", text)
		}
		return d
	}
	s := protocol.Service{
		ID: protocol.ServiceID(x.ID), Tenant: x.Tenant, Priority: x.Priority, Wanted: x.Replicas, Min: x.Min, Max: x.Max,
		GPUs: x.GPUs, GPUMemory: mib(x.GPUMemory), CPU: milli(x.CPU), Memory: mib(x.Memory), Models: x.Models, Sites: x.Sites,
		Affinity: x.Affinity, AntiAffinity: x.AntiAffinity, CarbonWeight: milli(x.CarbonWeight), Load: milli(x.Load), Failover: milli(x.Failover),
		Division: protocol.Division{Exclusive: x.Exclusive, MinPerSite: x.MinPerSite, MinSites: x.MinSites, MaxSites: x.MaxSites,
			MinRegions: x.MinRegions, MaxRegions: x.MaxRegions, MinProviders: x.MinProviders, MaxProviders: x.MaxProviders},
		Move: protocol.MoveSettings{Cost: protocol.Microdollars(math.Round(x.Move.Cost * 1e6))}, Task: protocol.Task(x.Task),
	}
	if x.GPUs > 0 {
		s.Share = 1000
	}
	if x.Share != nil {
		s.Share = milli(*x.Share)
	}
	if x.Division != "cost" {
		s.Division.Rule = protocol.DivisionRule(x.Division)
	}
	for _, t := range x.Tiers {
		s.Division.Tiers = append(s.Division.Tiers, protocol.SiteTier{Sites: t})
	}
	for _, site := range slices.Sorted(maps.Keys(x.Weights)) {
		s.Division.Weights = append(s.Division.Weights, protocol.SiteWeight{Site: site, Weight: x.Weights[site]})
	}
	if x.Move.Horizon != "" {
		d, err := time.ParseDuration(x.Move.Horizon)
		if err != nil || d <= 0 {
			return s, at("move/horizon", "is %q: want a time above 0", x.Move.Horizon)
		}
		s.Move.Horizon = d
	}
	for i, v := range x.Variants {
		y := protocol.Variant{Model: v.GPU, Goodput: milli(v.Goodput), Power: protocol.Milliwatts(math.Round(v.Power * 1000))}
		if v.Start != "" {
			d, err := time.ParseDuration(v.Start)
			if err != nil || d < 0 {
				return s, at(fmt.Sprintf("variants/%d/start", i), "is %q: want a time", v.Start)
			}
			y.Start = d
		}
		for k, r := range v.Rates {
			key := fmt.Sprintf("variants/%d/rates/%d/", i, k)
			y.Rates = append(y.Rates, protocol.ServedRate{Rate: milli(r.Rate), Percentile: milli(r.Percentile / 100), TTFT: latency(key+"ttft", r.TTFT), TPOT: latency(key+"tpot", r.TPOT)})
		}
		s.Variants = append(s.Variants, y)
	}
	for i, c := range x.Classes {
		key := fmt.Sprintf("classes/%d/", i)
		s.Classes = append(s.Classes, protocol.ServiceClass{Name: c.Name, Percentile: milli(c.Percentile / 100), Output: c.OutputTokens,
			TTFT: latency(key+"ttft", c.TTFT), TPOT: latency(key+"tpot", c.TPOT), Total: latency(key+"total", c.Total)})
	}
	for _, site := range slices.Sorted(maps.Keys(x.RTT)) {
		s.RTT = append(s.RTT, protocol.SiteRTT{Site: site, RTT: latency("rtt/"+site, x.RTT[site])})
	}
	if fault != nil {
		return s, fault
	}
	if why := s.InvalidReason(); why != "" {
		return s, at("", "%s", why)
	}
	return s, nil
}
