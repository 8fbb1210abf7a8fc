package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import "fmt"

// A PodGroup divides the pods of a component into groups of equal size, each of which goes into one domain
// of a level, as slices do in Kueue. A component may have groups at several levels, from wide to narrow: the
// groups of a level are divided into those of the next.
type PodGroup struct {
	_msgpack  struct{} `msgpack:",as_array"`
	Component int      // index in the job's Pods
	Level     string   // label key of nodes, as of a topology wish
	Pods      int      // of each group
}

// maxPodGroups bounds the groups of a job.
const maxPodGroups = 64

// GroupsOf returns the groups of component i, from wide to narrow.
func (j *Job) GroupsOf(i int) (all []PodGroup) {
	for _, g := range j.Groups {
		if g.Component == i {
			all = append(all, g)
		}
	}
	return all
}

// LimitsPlaces reports whether j goes only where a site's topology allows it.
func (j *Job) LimitsPlaces() bool { return j.RequiredTopology != "" || len(j.Groups) > 0 }

// WithTopologyAt returns j with the topology that it wants if it starts at an instant: what it requires for a
// time it prefers afterwards.
func (j Job) WithTopologyAt(start Time) Job {
	if j.RequiredFor > 0 && start >= j.Arrival.Add(j.RequiredFor) {
		j.RequiredTopology, j.PreferredTopology, j.RequiredFor = "", j.RequiredTopology, 0
	}
	return j
}

// invalidGroups returns what is wrong with the groups of pods, or with for how long a topology is required,
// or "". The field is named as in a job file.
func (j *Job) invalidGroups() string {
	switch {
	case j.RequiredFor != 0 && j.RequiredTopology == "":
		return "topology.for: how long a topology is required, and none is; add required, or drop it"
	case j.RequiredFor < 0 || j.RequiredFor > MaxRun:
		return "topology.for: want more than 0s, and at most 720h"
	case len(j.Groups) > maxPodGroups:
		return fmt.Sprintf("components: %d groups; want at most %d", len(j.Groups), maxPodGroups)
	case len(j.Groups) > 0 && j.IsElastic():
		return "components[0].groups: the job is elastic, and not every number of its pods divides into groups; drop groups, or speed"
	case len(j.Groups) > 0 && j.MinPods > 0:
		return "min_available: the job has groups of pods, which start whole; drop groups, or start with all pods"
	}
	wider := make(map[int]int) // pods of the groups of the level before, by component
	for _, g := range j.Groups {
		if g.Component < 0 || g.Component >= len(j.Pods) {
			return fmt.Sprintf("components: groups of component %d, and there are %d", g.Component, len(j.Pods))
		}
		at := fmt.Sprintf("components[%d].groups", g.Component)
		of, narrower := wider[g.Component]
		if !narrower {
			of = j.Pods[g.Component].Pods
		}
		switch {
		case !IsLabelKey(g.Level):
			return at + ".level: want the key of a node label, such as topology.kubernetes.io/zone"
		case g.Pods < 1 || g.Pods > of || of%g.Pods != 0:
			return fmt.Sprintf("%s.pods: %d; want a divisor of %d, so that all groups are whole", at, g.Pods, of)
		}
		wider[g.Component] = g.Pods
	}
	return ""
}

// RequiredUntil returns when a gang ceases to require its topology; 0: never.
func (j *Job) RequiredUntil() Time {
	if j.RequiredFor <= 0 {
		return 0
	}
	return j.Arrival.Add(j.RequiredFor)
}
