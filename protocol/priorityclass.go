package protocol

import (
	"fmt"
	"math"
	"strings"
	"unicode"
)

// A PriorityClass is a named priority, as the PriorityClass of Kubernetes (scheduling.k8s.io/v1). Jobs
// name it; the policy in force says what it means.
type PriorityClass struct {
	Name       string           `msgpack:"n" yaml:"name"`
	Value      int              `msgpack:"v,omitempty" yaml:"value"`          // priority of its jobs: higher goes first
	Default    bool             `msgpack:"d,omitempty" yaml:"global_default"` // of jobs that name no class and state no priority
	Preemption PreemptionPolicy `msgpack:"pp,omitempty" yaml:"preemption_policy"`
}

// A PreemptionPolicy says whether jobs of a class may have others stopped. The values are those of
// Kubernetes.
type PreemptionPolicy string

// Preemption policies.
const (
	PreemptLowerPriority PreemptionPolicy = "PreemptLowerPriority" // also what "" means
	PreemptNever         PreemptionPolicy = "Never"
)

// MayPreempt reports whether jobs of the class may have others stopped.
func (c PriorityClass) MayPreempt() bool { return c.Preemption != PreemptNever }

// maxClasses bounds the priority classes of a policy.
const maxClasses = 64

// InvalidPriorityClass returns what is wrong with the first class of a list that cannot be: its index,
// its key in a file, and what to do; problem is "" if all can.
func InvalidPriorityClass(all []PriorityClass) (index int, key, problem string) {
	first, seen := -1, make(map[string]bool)
	for i, c := range all {
		switch {
		case i >= maxClasses:
			return i, "", fmt.Sprintf("over %d priority classes: join some", maxClasses)
		case c.Name == "" || len(c.Name) > maxName || strings.ContainsFunc(c.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
			return i, "name", fmt.Sprintf("is %q: want 1 to %d bytes that can be printed", c.Name, maxName)
		case seen[c.Name]:
			return i, "name", fmt.Sprintf("is %s, as that of a class before: give each a name of its own", c.Name)
		case c.Value < math.MinInt32 || c.Value > math.MaxInt32:
			return i, "value", fmt.Sprintf("is %d: want %d to %d", c.Value, math.MinInt32, math.MaxInt32)
		case c.Default && first >= 0:
			return i, "global_default", fmt.Sprintf("is set, and %s is the default already: one class can be", all[first].Name)
		case c.Preemption != "" && c.Preemption != PreemptLowerPriority && c.Preemption != PreemptNever:
			return i, "preemption_policy", fmt.Sprintf("is %q: want %s or %s", c.Preemption, PreemptLowerPriority, PreemptNever)
		}
		if seen[c.Name] = true; c.Default {
			first = i
		}
	}
	return 0, "", ""
}

// WithoutClass returns the job as it would be submitted without its priority class: the priority that
// the class gave it is none of its own.
func (j Job) WithoutClass() Job {
	if j.PriorityClass != "" {
		j.PriorityClass, j.Priority = "", 0
	}
	return j
}

// A QueueingStrategy says whether a job of a queue that finds no room holds up those behind it. The
// values are those of Kueue.
type QueueingStrategy string

// Queueing strategies.
const (
	BestEffortFIFO QueueingStrategy = "BestEffortFIFO" // no: those that find room start; also what "" means
	StrictFIFO     QueueingStrategy = "StrictFIFO"     // yes: by priority, then arrival, none starts before one that stands before it
)
