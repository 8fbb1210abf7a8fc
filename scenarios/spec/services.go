package spec

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// A ListedService is a service that a scenario lists, and when it is submitted.
type ListedService struct {
	At      protocol.Time
	Service protocol.Service
}

// A serviceSpec is a service of a file.
type serviceSpec struct {
	At         string         `yaml:"at"`
	ID         string         `yaml:"id"`
	Tenant     string         `yaml:"tenant"`
	Priority   int            `yaml:"priority"`
	Replicas   int            `yaml:"replicas"`
	Min        int            `yaml:"min"`
	Max        int            `yaml:"max"`
	GPUs       int            `yaml:"gpus"`
	Share      *float64       `yaml:"share"`
	GPUMemory  float64        `yaml:"gpu_memory"`
	CPU        float64        `yaml:"cpu"`
	Memory     float64        `yaml:"memory"`
	Models     []string       `yaml:"models"`
	Sites      []string       `yaml:"sites"`
	Division   string         `yaml:"division"`
	Tiers      [][]string     `yaml:"tiers"`
	Exclusive  bool           `yaml:"exclusive"`
	Weights    map[string]int `yaml:"weights"`
	MinPerSite int            `yaml:"min_per_site"`
	Move       struct {
		Cost    float64 `yaml:"cost"`
		Horizon string  `yaml:"horizon"`
	} `yaml:"move"`
}

// addServices adds the services of a file, in its order.
func (out *Scenario) addServices(s scenarioSpec) error {
	for i, x := range s.Services {
		at := func(path ...any) faultLocator { return s.where(append([]any{"services", i}, path...)...) }
		listed := ListedService{At: out.Start}
		var err error
		if x.At != "" {
			if listed.At, err = out.spanAt(at("at"), x.At); err != nil {
				return err
			}
		}
		if listed.Service, err = x.service(at); err != nil {
			return err
		}
		if slices.ContainsFunc(out.Services, func(o ListedService) bool { return o.Service.ID == listed.Service.ID }) {
			return at("id")("is %q, as that of another service: give each an id of its own", x.ID)
		}
		out.Services = append(out.Services, listed)
	}
	return nil
}

// hasNoJobs reports whether a file lists services, and no jobs beside them.
func (s scenarioSpec) hasNoJobs() bool {
	return len(s.Services) > 0 && s.Jobs.Trace == "" && s.Jobs.Count == 0
}

// service converts a service; at locates a key of it.
func (x serviceSpec) service(at func(...any) faultLocator) (protocol.Service, error) {
	mib := func(gib float64) protocol.MiB { return protocol.MiB(math.Round(gib * 1024)) }
	s := protocol.Service{
		ID: protocol.ServiceID(x.ID), Tenant: x.Tenant, Priority: x.Priority, Wanted: x.Replicas, Min: x.Min, Max: x.Max,
		GPUs: x.GPUs, GPUMemory: mib(x.GPUMemory), CPU: protocol.Milli(math.Round(x.CPU * 1000)), Memory: mib(x.Memory), Models: x.Models, Sites: x.Sites,
		Division: protocol.Division{Exclusive: x.Exclusive, MinPerSite: x.MinPerSite},
		Move:     protocol.MoveSettings{Cost: protocol.Microdollars(math.Round(x.Move.Cost * 1e6))},
	}
	if x.GPUs > 0 {
		s.Share = 1000
	}
	if x.Share != nil {
		s.Share = protocol.Milli(math.Round(*x.Share * 1000))
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
			return s, at("move", "horizon")("is %q: want a time above 0", x.Move.Horizon)
		}
		s.Move.Horizon = d
	}
	for k, m := range x.Models {
		if _, known := power.DefaultTable().LookupModel(m); !known {
			return s, at("models", k)("%s", unknownModelReason(m))
		}
	}
	if why := s.InvalidReason(); why != "" {
		return s, at()("%s", why)
	}
	return s, nil
}

// checkServiceNames checks the names of sites that services use.
func (s scenarioSpec) checkServiceNames(sites []string) error {
	for i, x := range s.Services {
		for k, name := range x.Sites {
			if err := s.checkName("site", name, sites, "services", i, "sites", k); err != nil {
				return err
			}
		}
		for t, tier := range x.Tiers {
			for k, name := range tier {
				if err := s.checkName("site", name, sites, "services", i, "tiers", t, k); err != nil {
					return err
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x.Weights)) {
			if err := s.checkName("site", name, sites, "services", i, "weights", name); err != nil {
				return err
			}
		}
	}
	return nil
}

// serviceIDs returns the ids of the services that the file lists.
func (s scenarioSpec) serviceIDs() []string {
	ids := []string{} // none is known, and not unknown
	for _, x := range s.Services {
		ids = append(ids, x.ID)
	}
	return ids
}

// changePrices changes what power costs and emits at a site from an event on, as long as it lasts.
func (out *Scenario) changePrices(e Event, x eventSpec) {
	k := slices.IndexFunc(out.Sites, func(site Site) bool { return site.Name == e.Name })
	if k < 0 {
		return // checkNames says so
	}
	for q, v := range map[protocol.Quantity]*float64{protocol.GridPrice: x.Price, protocol.GridCarbon: x.Carbon} {
		if v == nil {
			continue
		}
		points := slices.Clone(out.Sites[k].Signals[q])
		for i, p := range points {
			if p.At >= e.At.Floor(time.Hour) && (e.Until == 0 || p.At < e.Until) {
				points[i].Value = int64(math.Round(1000 * *v))
			}
		}
		out.Sites[k].Signals = maps.Clone(out.Sites[k].Signals)
		out.Sites[k].Signals[q] = points
	}
}

// A ServiceDivision is how a service stands at an instant.
type ServiceDivision struct {
	At      protocol.Time
	Sites   map[string]int // that sites are to hold; none for those that are not named
	Pending int            // replicas that find no room
	Running int            // replicas that run at all sites together
	Why     protocol.Code  // of the newest decision; "": any
}

type dividedSpec struct {
	At      string         `yaml:"at"`
	Sites   map[string]int `yaml:"sites"`
	Pending int            `yaml:"pending"`
	Running *int           `yaml:"running"`
	Why     protocol.Code  `yaml:"why"`
}

// division converts an expectation of a service. All that sites are to hold is expected to run, unless
// another number is given.
func (d dividedSpec) division(at protocol.Time) *ServiceDivision {
	x := &ServiceDivision{At: at, Sites: make(map[string]int), Pending: d.Pending, Why: d.Why}
	for site, n := range d.Sites {
		x.Running += n
		if n > 0 {
			x.Sites[site] = n
		}
	}
	if d.Running != nil {
		x.Running = *d.Running
	}
	return x
}
