package division

import (
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// Bounds of a request, so that no sum or product leaves 64 bits: at most mostReplicas in all at
// mostCost each, which is 10^16 µ$, and a start of mostCost spread over a second is 3.6*10^15 µ$/h
// times at most mostHysteresis/1000.
const (
	mostReplicas   = 1_000_000      // of a service, and at a site
	mostSites      = 100_000        // of a request
	mostCost       = 10_000_000_000 // µ$: 10,000 $ a replica-hour, or a start
	mostWeight     = 1_000_000_000
	mostHysteresis = 10_000 // thousandths
)

// check returns an error if the request contradicts itself or is out of bounds.
func (r *Request) check() error {
	switch r.Kind {
	case "", ByCost, ByFreeReplicas, FewestSites, ByWeight, ByWeightUncapped:
	default:
		return fmt.Errorf("division: kind %q: want %s, %s, %s, %s or %s", r.Kind, ByCost, ByFreeReplicas, FewestSites, ByWeight, ByWeightUncapped)
	}
	for _, f := range []struct {
		name        string
		value, most int64
	}{
		{"wanted", int64(r.Wanted), mostReplicas}, {"min", int64(r.Min), mostReplicas}, {"max", int64(r.Max), mostReplicas},
		{"minPerSite", int64(r.MinPerSite), mostReplicas}, {"number of sites", int64(len(r.Sites)), mostSites},
		{"move: horizon", int64(r.Move.Horizon), 1<<63 - 1}, {"move: most", int64(r.Move.Most), mostReplicas},
		{"move: hysteresis", int64(r.Move.Hysteresis), mostHysteresis},
	} {
		if err := within(f.name, f.value, f.most); err != nil {
			return fmt.Errorf("division: %w", err)
		}
	}
	if r.Max > 0 && r.Min > r.Max {
		return fmt.Errorf("division: min is %d and max %d: min must not be above max", r.Min, r.Max)
	}
	if err := r.checkSpread(); err != nil {
		return err
	}
	if err := r.checkSites(); err != nil {
		return err
	}
	if err := r.checkLoad(); err != nil {
		return err
	}
	for _, s := range r.SpreadConstraints {
		for i := range r.Sites {
			if groupName(&r.Sites[i], s.By) == "" {
				return fmt.Errorf("division: site %s has no %s, and the service is spread by it: name it, or leave the site out", r.Sites[i].Name, s.By)
			}
		}
	}
	return nil
}

// checkSpread returns an error for constraints that no division can meet.
func (r *Request) checkSpread() error {
	for i, s := range r.SpreadConstraints {
		if slices.ContainsFunc(r.SpreadConstraints[:i], func(o SpreadConstraint) bool { return o.By == s.By }) {
			return fmt.Errorf("division: spread by %s twice: want one constraint with both min and max", s.By)
		}
		switch s.By {
		case BySite, ByRegion, ByProvider:
		default:
			return fmt.Errorf("division: spread by %q: want %s, %s or %s", s.By, BySite, ByRegion, ByProvider)
		}
		if s.MinGroups < 0 || s.MaxGroups < 0 || s.MaxGroups > 0 && s.MinGroups > s.MaxGroups {
			return fmt.Errorf("division: spread by %s over %d to %d groups: want 0 <= min <= max, or no max", s.By, s.MinGroups, s.MaxGroups)
		}
	}
	return nil
}

// checkSites returns an error for the first site that is named twice or out of bounds.
func (r *Request) checkSites() error {
	names := make([]string, 0, len(r.Sites))
	var held int64
	for i := range r.Sites {
		s := &r.Sites[i]
		if s.Name == "" {
			return fmt.Errorf("division: site %d of the request has no name", i)
		}
		names = append(names, s.Name)
		if err := r.checkSite(s); err != nil {
			return fmt.Errorf("division: site %s: %w", s.Name, err)
		}
		held += int64(s.Held)
	}
	if err := within("replicas held in all", held, mostReplicas); err != nil {
		return fmt.Errorf("division: %w", err)
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return fmt.Errorf("division: site %s is named twice: name each site once, in its first tier", names[i])
		}
	}
	return nil
}

// checkSite returns an error for a value of a site that is out of bounds, and for missing steps.
func (r *Request) checkSite(s *Site) error {
	for _, f := range []struct {
		name        string
		value, most int64
	}{
		{"held", int64(s.Held), mostReplicas}, {"free", int64(s.Free), mostReplicas}, {"weight", s.Weight, mostWeight},
		{"start", int64(s.Start), mostCost}, {"tier", int64(s.Tier), mostReplicas},
	} {
		if err := within(f.name, f.value, f.most); err != nil {
			return err
		}
	}
	covered := 0
	for i, step := range s.Steps {
		if step.Replicas < 1 || step.Replicas > mostReplicas {
			return fmt.Errorf("step %d is of %d replicas: want 1 to %d", i, step.Replicas, mostReplicas)
		}
		if step.Cost < -mostCost || step.Cost > mostCost {
			return fmt.Errorf("step %d costs %d µ$ per replica-hour: want at most %d", i, step.Cost, protocol.Microdollars(mostCost))
		}
		covered = min(covered+step.Replicas, 2*mostReplicas)
	}
	if (r.Kind == ByCost || r.Kind == "") && !s.Silent && covered < s.Held+s.Free {
		return fmt.Errorf("steps are for %d replicas, and it has %d and room for %d more: want a cost for each", covered, s.Held, s.Free)
	}
	return nil
}

// within returns an error unless a value is in 0..most.
func within(name string, value, most int64) error {
	if value < 0 || value > most {
		return fmt.Errorf("%s is %d: want 0 to %d", name, value, most)
	}
	return nil
}
