package spec

import (
	"cmp"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// WithPartsAsJobs returns the scenario with the parts of each job that may go to several sites in its place. A
// bound on them alone holds for the job: each part runs at one site, at no less than it costs alone.
func (s Scenario) WithPartsAsJobs() Scenario {
	if !slices.ContainsFunc(s.Jobs, func(j protocol.Job) bool { return j.IsDivided() }) {
		return s
	}
	var jobs []protocol.Job
	for _, j := range s.Jobs {
		if j.IsDivided() {
			jobs = append(jobs, j.PartJobs()...)
		} else {
			jobs = append(jobs, j)
		}
	}
	s.Jobs = jobs
	return s
}

// SomeSiteFits reports whether some empty site that may run j could: of a job in parts, each of them.
func (s Scenario) SomeSiteFits(j protocol.Job) bool {
	if j.IsDivided() {
		return !slices.ContainsFunc(j.PartJobs(), func(p protocol.Job) bool { return !s.SomeSiteFits(p) })
	}
	j = j.WithPodCount(j.LeastPods())
	return slices.ContainsFunc(s.Sites, func(site Site) bool {
		return (len(j.Regions) == 0 || slices.Contains(j.Regions, site.Name)) && site.holds(j)
	})
}

// holds reports whether the site could run j if it were empty: on a node, or a gang on nodes with GPUs of one
// model.
func (s Site) holds(j protocol.Job) bool {
	models := []string{""}
	if j.GPUs > 0 {
		models = modelsOf(s.Nodes)
	}
	return slices.ContainsFunc(models, func(model string) bool {
		return (j.GPUs == 0 || len(j.Models) == 0 || slices.Contains(j.Models, model)) && nodesHold(s.Nodes, j, model)
	})
}

// modelsOf returns the GPU models of nodes, each once.
func modelsOf(nodes []Node) (models []string) {
	for _, n := range nodes {
		if n.GPUs > 0 && !slices.Contains(models, n.Model) {
			models = append(models, n.Model)
		}
	}
	return models
}

// nodesHold reports whether empty nodes hold j, with GPUs of a model. Of a gang the components with
// the largest pods go first, as agents place them.
func nodesHold(nodes []Node, j protocol.Job, model string) bool {
	parts := []protocol.Component{{Pods: 1, GPUs: j.GPUs, CPU: j.CPU, Memory: j.Memory, Share: j.Share}}
	if j.IsGang() {
		parts = slices.Clone(j.Pods)
		slices.SortStableFunc(parts, func(x, y protocol.Component) int {
			return cmp.Or(cmp.Compare(y.GPUs*int(y.Share), x.GPUs*int(x.Share)), cmp.Compare(y.CPU, x.CPU), cmp.Compare(y.Memory, x.Memory))
		})
	}
	free, milli := slices.Clone(nodes), make([]int, len(nodes))
	for i := range free {
		milli[i] = 1000 * free[i].GPUs
	}
	for _, c := range parts {
		left, use := c.Pods, 1000*c.GPUs
		if c.IsShare() {
			use = 1000 / int(1000/c.Share)
		}
		for i := range free {
			n := &free[i]
			for left > 0 && c.CPU <= n.CPU && c.Memory <= n.Memory && use <= milli[i] && (use == 0 || n.Model == model) {
				n.CPU, n.Memory = n.CPU-c.CPU, n.Memory-c.Memory
				milli[i] -= use
				left--
			}
		}
		if left > 0 {
			return false
		}
	}
	return true
}
