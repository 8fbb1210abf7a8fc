package market

import (
	"fmt"

	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// withClass returns a submitted job with the priority class that it names, or the default one, and the
// priority that the class gives it; or what is wrong with the class that it names. A job that states a
// priority of its own keeps it. The market stores the job so, since classes may change while it waits.
func (k *Market) withClass(j protocol.Job) (_ protocol.Job, problem string) {
	var known []string
	for _, c := range k.policy.Classes {
		switch known = append(known, c.Name); {
		case j.PriorityClass == c.Name && j.Priority != 0:
			return j, "priority: is given together with a priority class, which gives the job its priority: leave one out"
		case j.PriorityClass == c.Name || c.Default && j.PriorityClass == "" && j.Priority == 0:
			j.PriorityClass, j.Priority = c.Name, c.Value
			return j, ""
		}
	}
	if j.PriorityClass == "" {
		return j, ""
	}
	return j, fmt.Sprintf("priority class: unknown class %q%s", j.PriorityClass, nearest.WhatThereIs(j.PriorityClass, known))
}
