package propagation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gridbid/gridbid/internal/quantity"
	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/internal/yamlschema"
)

// A workload is a Deployment, a StatefulSet or a LeaderWorkerSet, of which a replica is a group of pods.
type workload struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		Replicas *int         `yaml:"replicas"`
		Template *podTemplate `yaml:"template"`
		Group    *struct {
			Size   *int         `yaml:"size"` // pods; default 1
			Leader *podTemplate `yaml:"leaderTemplate"`
			Worker *podTemplate `yaml:"workerTemplate"`
		} `yaml:"leaderWorkerTemplate"`
	} `yaml:"spec"`
	page *yamlschema.Page
	text []byte
}

type podTemplate struct {
	Spec struct {
		Containers     []container `yaml:"containers"`
		InitContainers []container `yaml:"initContainers"`
	} `yaml:"spec"`
}

// Pods of a replica that are alike.
type alikePods struct {
	path  []string // of their template
	count int
	*podTemplate
}

// pods returns the pods of a replica.
func (w *workload) pods() []alikePods {
	g := w.Spec.Group
	if g == nil || w.Spec.Template != nil {
		return []alikePods{{[]string{"spec", "template"}, 1, w.Spec.Template}}
	}
	size := 1
	if g.Size != nil {
		size = *g.Size
	}
	workers := alikePods{[]string{"spec", "leaderWorkerTemplate", "workerTemplate"}, size, g.Worker}
	if g.Leader == nil {
		return []alikePods{workers}
	}
	workers.count--
	return []alikePods{{[]string{"spec", "leaderWorkerTemplate", "leaderTemplate"}, 1, g.Leader}, workers}
}

type container struct {
	Resources struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	} `yaml:"resources"`
	RestartPolicy string `yaml:"restartPolicy"` // of an init container: Always makes it one that runs beside the others
}

// A selector says which workloads a policy is about.
type selector struct {
	APIVersion    string `yaml:"apiVersion"`
	Kind          string `yaml:"kind"`
	Namespace     string `yaml:"namespace"`
	Name          string `yaml:"name"`
	LabelSelector *struct {
		MatchLabels      map[string]string `yaml:"matchLabels"`
		MatchExpressions []struct {
			Key      string   `yaml:"key"`
			Operator string   `yaml:"operator"`
			Values   []string `yaml:"values"`
		} `yaml:"matchExpressions"`
	} `yaml:"labelSelector"`
}

// How precisely a policy selects a workload; higher goes first.
const (
	selectsNothing = iota
	selectsByKind
	selectsByLabels
	selectsByName
)

// policyOf returns the policy of a workload: one of its namespace before one of the cluster; of those the
// highest priority, then the most precise selector, then the first by name (Karmada, pkg/detector).
func (r *reader) policyOf(w *workload) (best *policy, rank int) {
	better := func(p *policy, precise int) int {
		local := func(p *policy) int {
			if p.Kind == "PropagationPolicy" {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(local(p), local(best)), cmp.Compare(p.Spec.Priority, best.Spec.Priority),
			cmp.Compare(precise, rank), cmp.Compare(best.Metadata.Name, p.Metadata.Name))
	}
	for _, p := range r.policies {
		precise := p.selectsHow(w)
		if precise > selectsNothing && (best == nil || better(p, precise) > 0) {
			best, rank = p, precise
		}
	}
	return best, rank
}

// selectsHow returns how precisely a policy selects a workload.
func (p *policy) selectsHow(w *workload) (most int) {
	space := cmp.Or(w.Metadata.Namespace, "default")
	if p.Kind == "PropagationPolicy" && p.Metadata.Namespace != space {
		return selectsNothing
	}
	for i := range p.Spec.ResourceSelectors {
		s := &p.Spec.ResourceSelectors[i]
		switch {
		case s.APIVersion != w.APIVersion || s.Kind != w.Kind || s.Namespace != "" && s.Namespace != space:
		case s.Name != "":
			if s.Name == w.Metadata.Name {
				most = selectsByName
			}
		case s.LabelSelector != nil:
			if s.matchesLabels(w.Metadata.Labels) {
				most = max(most, selectsByLabels)
			}
		default:
			most = max(most, selectsByKind)
		}
	}
	return most
}

// matchesLabels reports whether labels match the selector, as Kubernetes matches them.
func (s *selector) matchesLabels(labels map[string]string) bool {
	for key, want := range s.LabelSelector.MatchLabels {
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	for _, x := range s.LabelSelector.MatchExpressions {
		have, ok := labels[x.Key]
		in := ok && slices.Contains(x.Values, have)
		if !map[string]bool{"In": in, "NotIn": !in, "Exists": ok, "DoesNotExist": !ok}[x.Operator] {
			return false
		}
	}
	return true
}

// ReadWorkload returns a Deployment, a StatefulSet or a LeaderWorkerSet, as YAML or JSON, as a service that no policy divides.
// Errors name it by name.
func ReadWorkload(name string, text []byte) (servicefile.Spec, error) {
	w, err := parseWorkload(name, text)
	if err != nil {
		return servicefile.Spec{}, err
	}
	return w.service(&policy{})
}

// parseWorkload parses a document.
func parseWorkload(file string, text []byte) (*workload, error) {
	page, err := workloadKind.ParsePage(file, text)
	if err != nil {
		return nil, err
	}
	w := &workload{page: page, text: bytes.TrimSpace(text)}
	return w, page.DecodeInto(w)
}

// service returns a workload as a service, divided by a policy. Its namespace is the tenant, as with quotas.
func (w *workload) service(p *policy) (servicefile.Spec, error) {
	s := p.division
	s.ID, s.Tenant, s.Replicas = w.Metadata.Name, w.Metadata.Namespace, 1
	if space := w.Metadata.Namespace; space != "" && space != "default" {
		s.ID = space + "." + s.ID
	}
	near := &p.Spec.Placement.WorkloadAffinity
	s.Affinity, s.AntiAffinity = near.Affinity.groupOf(w), near.AntiAffinity.groupOf(w)
	if w.Spec.Replicas != nil {
		s.Replicas = *w.Spec.Replicas
	}
	if err := w.addRequests(&s); err != nil {
		return s, err
	}
	var object map[string]any
	if err := yaml.Unmarshal(w.text, &object); err != nil {
		return s, w.page.FaultAt(nil, "%s", err)
	}
	delete(object, "status")
	if spec, ok := object["spec"].(map[string]any); ok {
		delete(spec, "replicas") // another number of replicas is no other replica
	}
	task, err := json.Marshal(object)
	if err != nil {
		return s, w.page.FaultAt(nil, "cannot be written as JSON: %s", err)
	}
	s.Task = string(task)
	if _, err := s.Service(func(key, format string, args ...any) error {
		return w.page.FaultAt(nil, "as a service: "+strings.TrimPrefix(key+": ", ": ")+format, args...)
	}); err != nil {
		return s, err
	}
	return s, nil
}

// groupOf returns the group of a workload: key and value, as different labels are different groups. A workload
// without the label is in none.
func (g groupTerm) groupOf(w *workload) string {
	if v := w.Metadata.Labels[g.Key]; v != "" {
		return g.Key + "/" + v
	}
	return ""
}

// addRequests adds what a replica asks for: the sum of its pods, on one node.
func (w *workload) addRequests(s *servicefile.Spec) error {
	gpus := 0.0
	for _, p := range w.pods() {
		v, err := w.requestsOf(p)
		if err != nil {
			return err
		}
		s.CPU, s.Memory, gpus = s.CPU+float64(p.count)*v[0], s.Memory+float64(p.count)*v[1], gpus+float64(p.count)*v[2]
		if v[2] != float64(int(v[2])) {
			return w.page.FaultAt(append(p.path, "spec"), "asks for %g GPUs: want whole ones", v[2])
		}
	}
	s.GPUs = int(gpus)
	return nil
}

// requestsOf returns what one pod asks for, in cores, GiB and GPUs: the sum of its containers, or one init container
// where that asks for more, as Kubernetes counts. Limits stand in for requests that are not made.
func (w *workload) requestsOf(p alikePods) (most [3]float64, err error) {
	var sum, first, beside [3]float64 // cores, GiB, GPUs
	for _, list := range []struct {
		key  string
		from []container
		add  func(c container, v [3]float64)
	}{
		{"containers", p.Spec.Containers, func(_ container, v [3]float64) {
			for k := range v {
				sum[k] += v[k]
			}
		}},
		{"initContainers", p.Spec.InitContainers, func(c container, v [3]float64) {
			for k := range v {
				if c.RestartPolicy == "Always" {
					beside[k] += v[k]
				} else {
					first[k] = max(first[k], beside[k]+v[k])
				}
			}
		}},
	} {
		for i, c := range list.from {
			v, err := c.requests(func(path []string, format string, args ...any) error {
				return w.page.FaultAt(append(append(slices.Clone(p.path), "spec", list.key, strconv.Itoa(i), "resources"), path...), format, args...)
			})
			if err != nil {
				return most, err
			}
			list.add(c, v)
		}
	}
	for k := range most {
		most[k] = max(sum[k]+beside[k], first[k])
	}
	return most, nil
}

// gpuResource is the name under which a task asks for GPUs.
const gpuResource = "nvidia.com/gpu"

// requests returns what a container asks for: cores, GiB, and GPUs. at builds the error of a path below its
// resources.
func (c *container) requests(at func(path []string, format string, args ...any) error) (v [3]float64, err error) {
	for _, list := range []string{"requests", "limits"} {
		amounts := map[string]map[string]string{"requests": c.Resources.Requests, "limits": c.Resources.Limits}[list]
		for _, name := range slices.Sorted(maps.Keys(amounts)) {
			k := slices.Index([]string{"cpu", "memory", gpuResource}, name)
			switch _, requested := c.Resources.Requests[name]; {
			case k < 0 && (strings.HasPrefix(name, "nvidia.com/") || strings.Contains(name, "gpu")):
				return v, at([]string{list, name}, "is not a resource that services ask for: want %s", gpuResource)
			case k < 0 || list == "limits" && requested:
				continue
			}
			amount, ok := quantity.Parse(amounts[name], 1<<50, "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti")
			if !ok {
				return v, at([]string{list, name}, "is %q: want a quantity, such as 4, 500m or 16Gi", amounts[name])
			}
			if k == 1 {
				amount /= 1 << 30
			}
			v[k] = amount
		}
	}
	return v, nil
}
