package acceptance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// divided judges how the replicas of a service are divided at an instant.
func (j judge) divided(id protocol.ServiceID, d spec.ServiceDivision) (expected, got string) {
	expected = fmt.Sprintf("%s at %s: %s", id, j.after(d.At), divisionText(d.Sites, d.Pending, d.Running))
	if d.Why != "" {
		expected += fmt.Sprintf(", for %s", d.Why)
	}
	s := j.history.Service(id)
	if s == nil {
		return expected, "it was not submitted"
	}
	v := s.StateAt(d.At)
	if v.Decision == nil {
		return expected, "it was not divided by then"
	}
	has := sitesOf(v)
	why := v.Decision.Division.Why.Code
	if maps.Equal(has, d.Sites) && v.Decision.Division.Pending == d.Pending && v.Running == d.Running && (d.Why == "" || d.Why == why) {
		return expected, ""
	}
	return expected, fmt.Sprintf("it has %s, for %s", divisionText(has, v.Decision.Division.Pending, v.Running), why)
}

// sitesOf returns the replicas that each site is to hold.
func sitesOf(v history.ServiceState) map[string]int {
	all := make(map[string]int)
	for _, x := range v.Sites {
		if x.Wanted > 0 {
			all[x.Site] = x.Wanted
		}
	}
	return all
}

// divisionText says how replicas are divided.
func divisionText(sites map[string]int, pending, running int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(sites)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, sites[name]))
	}
	if len(parts) == 0 {
		parts = []string{"no site any"}
	}
	return fmt.Sprintf("%s, %d pending, %d running", strings.Join(parts, ", "), pending, running)
}
