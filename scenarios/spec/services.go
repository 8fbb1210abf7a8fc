package spec

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/internal/propagation"
	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/protocol"
)

// A ListedService is a service that a scenario lists, and when it is submitted.
type ListedService struct {
	At      protocol.Time
	Service protocol.Service
}

// A listedServiceSpec is a service that a scenario lists: what a service file says, and when it is
// submitted.
type listedServiceSpec struct {
	At               string `yaml:"at"`
	servicefile.Spec `yaml:",inline"`

	from []any // where the file says it; nil: in its services
}

// An importSpec is what is imported at a time, as by gridbid import: propagation policies, and the
// workloads that they select.
type importSpec struct {
	At   string `yaml:"at"`
	Text string `yaml:"text"`
}

// readImports adds what is imported to the services of the file.
func (s *scenarioSpec) readImports() error {
	for i, x := range s.Imports {
		read, err := propagation.Parse([]propagation.File{{Name: "text", Text: []byte(x.Text)}}, propagation.Options{})
		if err != nil {
			return s.where("imports", i, "text")("%s", strings.TrimPrefix(err.Error(), "propagation: "))
		}
		for _, y := range read.Services {
			s.Services = append(s.Services, listedServiceSpec{At: x.At, Spec: y, from: []any{"imports", i}})
		}
	}
	return nil
}

// pathOfService returns where the file says something of a service.
func (s scenarioSpec) pathOfService(i int, path ...any) []any {
	if from := s.Services[i].from; from != nil {
		return from
	}
	return append([]any{"services", i}, path...)
}

// addServices adds the services of a file, in its order.
func (out *Scenario) addServices(s scenarioSpec) error {
	for i, x := range s.Services {
		at := func(path ...any) faultLocator { return s.where(s.pathOfService(i, path...)...) }
		listed := ListedService{At: out.Start}
		var err error
		if x.At != "" {
			if listed.At, err = out.spanAt(at("at"), x.At); err != nil {
				return err
			}
		}
		if listed.Service, err = x.Service(func(key, format string, args ...any) error {
			var path []any
			for part := range strings.SplitSeq(key, "/") {
				if part != "" {
					path = append(path, part)
				}
			}
			return at(path...)(format, args...)
		}); err != nil {
			return err
		}
		for k, m := range x.Models {
			if _, known := power.DefaultTable().LookupModel(m); !known {
				return at("models", k)("%s", unknownModelReason(m))
			}
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

// checkServiceNames checks the names of sites that services use.
func (s scenarioSpec) checkServiceNames(sites []string) error {
	for i, x := range s.Services {
		for k, name := range x.Sites {
			if err := s.checkName("site", name, sites, s.pathOfService(i, "sites", k)...); err != nil {
				return err
			}
		}
		for t, tier := range x.Tiers {
			for k, name := range tier {
				if err := s.checkName("site", name, sites, s.pathOfService(i, "tiers", t, k)...); err != nil {
					return err
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x.Weights)) {
			if err := s.checkName("site", name, sites, s.pathOfService(i, "weights", name)...); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x.RTT)) {
			if err := s.checkName("site", name, sites, s.pathOfService(i, "rtt", name)...); err != nil {
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
