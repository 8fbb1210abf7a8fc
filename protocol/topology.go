package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import "strings"

// A site's topology is levels, from wide to narrow, such as zone, rack and NVLink domain. A level is
// a label key of nodes, as in Kueue's Topology, and a domain is all nodes with the same values of
// that label and of those of wider levels: rack r1 of two zones is two domains.

type (
	// A Label is a level at which a node stands, and the value that it has there.
	Label struct {
		_msgpack struct{} `msgpack:",as_array"`
		Key      string
		Value    string
	}

	// A NodeTopology says where a node stands, by level, the widest first.
	NodeTopology struct {
		_msgpack struct{} `msgpack:",as_array"`
		Node     string
		Labels   []Label
	}
)

// HostnameLevel is the level at which each node is a domain of its own. Every node has it, by its name.
const HostnameLevel = "kubernetes.io/hostname"

// MaxLevels bounds the levels of a site's topology, as Kueue's Topology does.
const MaxLevels = 16

// WantsTopology reports whether j wishes for one domain for its pods.
func (j *Job) WantsTopology() bool { return j.RequiredTopology != "" || j.PreferredTopology != "" }

// TopologyLevel returns the level of j's wish; "" without one.
func (j *Job) TopologyLevel() string {
	if j.RequiredTopology != "" {
		return j.RequiredTopology
	}
	return j.PreferredTopology
}

// DomainOf returns the name of the domain at a level in which a node with some labels stands: its values
// from the widest level on, as zone-a/r1. False if it lacks the level.
func DomainOf(node string, labels []Label, level string) (domain string, ok bool) {
	if level == HostnameLevel {
		return node, true
	}
	for i := range labels {
		if labels[i].Key == level {
			var all []string
			for _, l := range labels[:i+1] {
				all = append(all, l.Value)
			}
			return strings.Join(all, "/"), labels[i].Value != ""
		}
	}
	return "", false
}

// IsLabelKey reports whether text is the key of a label of a Kubernetes node: a name of at most 63
// letters, digits, '-', '_' and '.', perhaps after a domain and '/'.
func IsLabelKey(text string) bool {
	prefix, name, has := strings.Cut(text, "/")
	if !has {
		prefix, name = "x", text
	}
	return len(text) <= maxName && isLabelName(prefix) && isLabelName(name) && len(name) <= 63
}

// IsLabelValue reports whether text can be the value of a label, and is not empty.
func IsLabelValue(text string) bool { return isLabelName(text) && len(text) <= 63 }

// isLabelName reports whether text is letters, digits, '-', '_' and '.', and begins and ends with one of
// the first two.
func isLabelName(text string) bool {
	for i := range len(text) {
		c := text[i]
		isAlphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !isAlphanumeric && (i == 0 || i == len(text)-1 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return text != ""
}

// invalidTopology returns what is wrong with the topology wish, or "". The field is named as in a job
// file.
func (j *Job) invalidTopology() string {
	switch {
	case !j.WantsTopology():
		return ""
	case j.RequiredTopology != "" && j.PreferredTopology != "":
		return "topology: required and preferred are given together; keep one"
	case !j.IsGang():
		return "topology: the job has one pod, which is in one domain anyway; drop topology, or give it components"
	case j.RequiredTopology != "" && !IsLabelKey(j.RequiredTopology):
		return "topology.required: want the key of a node label, such as topology.kubernetes.io/zone"
	case j.PreferredTopology != "" && !IsLabelKey(j.PreferredTopology):
		return "topology.preferred: want the key of a node label, such as topology.kubernetes.io/zone"
	}
	return ""
}
