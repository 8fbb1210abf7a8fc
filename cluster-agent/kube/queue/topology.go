package queue

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gridbid/gridbid/protocol"
)

// Annotations of pod templates by which Kueue's users say where the pods of a role go together. They
// mean here what they mean there (sigs.k8s.io/kueue/apis/kueue/v1beta1, topology_types.go): levels are
// label keys of nodes. A wish to prefer is one for all pods, since a gang has one.
const (
	AnnotationRequiredTopology      = "kueue.x-k8s.io/podset-required-topology"       // all pods of the role go into one domain of this level
	AnnotationPreferredTopology     = "kueue.x-k8s.io/podset-preferred-topology"      // the same where that is possible
	AnnotationUnconstrainedTopology = "kueue.x-k8s.io/podset-unconstrained-topology"  // "true": anywhere, as without an annotation
	AnnotationSliceTopology         = "kueue.x-k8s.io/podset-slice-required-topology" // each slice of the role goes into one domain of this level
	AnnotationSliceSize             = "kueue.x-k8s.io/podset-slice-size"              // pods of a slice
	AnnotationPodSetGroup           = "kueue.x-k8s.io/podset-group-name"              // roles with the same name go into one domain together
)

// A rolePods is the pods of one role, for its topology.
type rolePods struct {
	role  string
	pods  int
	unit  int               // pods that Kueue places as one: all, or of a LeaderWorkerSet those of one group
	notes map[string]string // of their template
}

// notesOf returns the annotations of a pod template.
func notesOf(template map[string]any) map[string]string {
	notes, _, _ := unstructured.NestedStringMap(template, "metadata", "annotations")
	return notes
}

// readTopology reads the wishes of a job's roles, which are its components in this order. One pod is in
// one domain anyway, so wishes for it are checked and dropped.
func (s *annotationReader) readTopology(j *protocol.Job, roles []rolePods) {
	required := make(map[string][]rolePods) // roles that require a domain together, by the name of their group
	for i, r := range roles {
		level, preferred := s.levelOf(r, AnnotationRequiredTopology), s.levelOf(r, AnnotationPreferredTopology)
		slice := s.levelOf(r, AnnotationSliceTopology)
		size := s.sliceSizeOf(r)
		s.checkUnconstrained(r)
		group, grouped := r.notes[AnnotationPodSetGroup]
		switch {
		case level != "" && preferred != "":
			s.addFault("annotations %s and %s of %s exclude each other: keep one", AnnotationRequiredTopology, AnnotationPreferredTopology, r)
		case grouped && (group == "" || level == "" && preferred == ""):
			s.addFault("annotation %s of %s is %q, but says nothing without a level: add %s, or drop it", AnnotationPodSetGroup, r, group, AnnotationRequiredTopology)
		case grouped && r.unit != r.pods:
			s.addFault("annotation %s of %s: the roles of each of %d groups cannot be kept together here: drop it", AnnotationPodSetGroup, r, r.pods/max(r.unit, 1))
		case grouped && level != "":
			required[group] = append(required[group], r)
		case level != "" && r.unit > 1:
			j.Groups = append(j.Groups, protocol.PodGroup{Component: i, Level: level, Pods: r.unit})
		}
		if preferred != "" && j.PreferredTopology != "" && preferred != j.PreferredTopology {
			s.addFault("annotation %s of %s is %q, and that of another role %q: a job prefers one level for all its pods", AnnotationPreferredTopology, r, preferred, j.PreferredTopology)
		} else if preferred != "" {
			j.PreferredTopology = preferred
		}
		if slice != "" && size > 1 {
			j.Groups = append(j.Groups, protocol.PodGroup{Component: i, Level: slice, Pods: size})
		}
	}
	s.readRequiredTogether(j, roles, required)
	if !j.IsGang() {
		j.Groups, j.RequiredTopology, j.PreferredTopology = nil, "", ""
	}
}

// readRequiredTogether reads the level that roles require together.
func (s *annotationReader) readRequiredTogether(j *protocol.Job, roles []rolePods, required map[string][]rolePods) {
	for _, group := range slices.Sorted(maps.Keys(required)) {
		members := required[group]
		level := members[0].notes[AnnotationRequiredTopology]
		switch {
		case len(members) < len(roles):
			s.addFault("annotation %s: group %q has %d of %d roles: want all roles with %s in one group, or none", AnnotationPodSetGroup, group, len(members), len(roles), AnnotationRequiredTopology)
		case slices.ContainsFunc(members, func(r rolePods) bool { return r.notes[AnnotationRequiredTopology] != level }):
			s.addFault("annotation %s: the roles of group %q name several levels: want one", AnnotationRequiredTopology, group)
		default:
			j.RequiredTopology = level
		}
	}
}

// String names the role, for faults.
func (r rolePods) String() string {
	if r.role == "" {
		return "the pod template"
	}
	return fmt.Sprintf("role %q", r.role)
}

// levelOf reads an annotation that names a level; "" if it is absent or faulty.
func (s *annotationReader) levelOf(r rolePods, key string) string {
	text, ok := r.notes[key]
	if ok && !protocol.IsLabelKey(text) {
		s.addFault("annotation %s of %s is %q: want the key of a node label, such as topology.kubernetes.io/zone", key, r, text)
		return ""
	}
	return text
}

// sliceSizeOf reads how many pods a slice has; 0 if it is absent or faulty.
func (s *annotationReader) sliceSizeOf(r rolePods) int {
	text, ok := r.notes[AnnotationSliceSize]
	_, level := r.notes[AnnotationSliceTopology]
	if ok != level {
		s.addFault("annotations %s and %s of %s belong together: give both, or neither", AnnotationSliceTopology, AnnotationSliceSize, r)
		return 0
	}
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > r.unit || r.unit%n != 0 {
		s.addFault("annotation %s of %s is %q: want a divisor of its %d pods, so that all slices are whole", AnnotationSliceSize, r, text, r.unit)
		return 0
	}
	return n
}

// checkUnconstrained adds faults of the annotation by which a role wishes for nothing.
func (s *annotationReader) checkUnconstrained(r rolePods) {
	text, ok := r.notes[AnnotationUnconstrainedTopology]
	if !ok {
		return
	}
	anywhere, err := strconv.ParseBool(text)
	if err != nil {
		s.addFault("annotation %s of %s is %q: want true or false", AnnotationUnconstrainedTopology, r, text)
	}
	for _, key := range []string{AnnotationRequiredTopology, AnnotationPreferredTopology} {
		if _, both := r.notes[key]; anywhere && both {
			s.addFault("annotations %s and %s of %s exclude each other: keep one", AnnotationUnconstrainedTopology, key, r)
		}
	}
}
