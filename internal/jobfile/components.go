package jobfile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A ComponentSpec is pods of a job that are alike, in the units of a file.
type ComponentSpec struct {
	Role      string   `yaml:"role"`
	Pods      *int     `yaml:"pods"`
	GPUs      int      `yaml:"gpus"`
	Share     *float64 `yaml:"share"`
	GPUMemory float64  `yaml:"gpu_memory"`
	CPU       float64  `yaml:"cpu"`
	Memory    float64  `yaml:"memory"`
	Models    []string `yaml:"models"`
	Groups    []struct {
		Level string `yaml:"level"`
		Pods  int    `yaml:"pods"`
	} `yaml:"groups"`
	// An elastic job's range and speed-up curve: see elastic.go.
	Min   int         `yaml:"min"`
	Max   int         `yaml:"max"`
	Speed []SpeedSpec `yaml:"speed"`
	Part  string      `yaml:"part"`
}

// A SitesSpec says at how many sites the parts of a job may run, and, unless its components name theirs,
// how many equal parts there are.
type SitesSpec struct {
	Max   int `yaml:"max"`
	Parts int `yaml:"parts"`
}

// A TopologySpec is the wish that all pods of a job go into one domain of a level, a label key of nodes.
type TopologySpec struct {
	Required  string `yaml:"required"`
	Preferred string `yaml:"preferred"`
	For       string `yaml:"for"` // with required: then it is preferred
}

// withComponents returns a job with the components of the file: a gang, or the job as it is without any.
// One component of one pod makes a job like any other.
func (s Spec) withComponents(j protocol.Job, at func(key, format string, args ...any) error) (protocol.Job, error) {
	if len(s.Components) == 0 {
		if s.MinAvailable > 1 {
			return j, at("min_available", "is %d of a job of one pod: add components, or drop it", s.MinAvailable)
		}
		if s.Topology != (TopologySpec{}) {
			return j, at("topology", "is that of a job of one pod, which is in one domain anyway: add components, or drop it")
		}
		if s.Sites != (SitesSpec{}) {
			return j, at("sites", "is that of a job of one pod, which is at one site anyway: add components, or drop it")
		}
		return j, nil
	}
	for _, x := range []struct {
		key   string
		given bool
	}{{"gpus", s.GPUs != 0}, {"share", s.Share != nil}, {"gpu_memory", s.GPUMemory != 0}, {"cpu", s.CPU != 0}, {"memory", s.Memory != 0}} {
		if x.given {
			return j, at(x.key, "is given together with components: state it there, for each pod")
		}
	}
	var err error
	if j.Speed, err = s.speedCurve(at); err != nil {
		return j, err
	}
	var all []protocol.Component
	pods, models := 0, make(map[string][]string) // by part that may go to a site of its own; "": the job
	for i, c := range s.Components {
		x := protocol.Component{
			Role: cmp.Or(c.Role, "worker"), Pods: 1, GPUs: c.GPUs,
			CPU: protocol.Milli(math.Round(c.CPU * 1000)), Memory: gibToMiB(c.Memory), GPUMemory: gibToMiB(c.GPUMemory),
		}
		if c.Pods != nil {
			x.Pods = *c.Pods
		}
		if c.GPUs > 0 {
			x.Share = 1000
		}
		if c.Share != nil {
			x.Share = protocol.Milli(math.Round(*c.Share * 1000))
		}
		// One option has one model, so only a model that will do for all components of the job, or of its part, will do.
		if len(c.Models) > 0 && c.GPUs > 0 {
			part := ""
			if s.Sites.Max > 1 {
				part = c.Part
			}
			if models[part] == nil {
				models[part] = j.Models
			}
			if models[part] = modelsOfBoth(models[part], c.Models); len(models[part]) == 0 {
				return j, at(fmt.Sprintf("components/%d/models", i), "has no model that will do for the job and the components before, too: all GPUs of a job, or of a part that may go to a site of its own, are of one model")
			}
		}
		for _, g := range c.Groups {
			j.Groups = append(j.Groups, protocol.PodGroup{Component: i, Level: g.Level, Pods: g.Pods})
		}
		pods += x.Pods
		all = append(all, x)
	}
	if s.MinAvailable > pods {
		return j, at("min_available", "is %d, and the job has %d pods: want 1..%d, or leave it out to start with all", s.MinAvailable, pods, pods)
	}
	if j = j.WithPods(all); s.MinAvailable < pods {
		j.MinPods = s.MinAvailable
	}
	if pods == 1 && len(j.Groups) > 0 {
		return j, at("components/0/groups", "are of one pod: drop them")
	}
	if !j.IsGang() && s.Topology != (TopologySpec{}) {
		return j, at("topology", "is that of a job of one pod, which is in one domain anyway: drop it")
	}
	j.RequiredTopology, j.PreferredTopology = s.Topology.Required, s.Topology.Preferred
	if s.Topology.For != "" {
		var err error
		if j.RequiredFor, err = time.ParseDuration(s.Topology.For); err != nil || j.RequiredFor == 0 {
			return j, at("topology/for", "is %q: want a time span such as 2h", s.Topology.For)
		}
	}
	if len(models[""]) > 0 {
		j.Models = models[""]
	}
	return s.withParts(j, models, at)
}

// modelsOfBoth returns the models that are among some and among others; none of them names: any.
func modelsOfBoth(some, others []string) []string {
	if len(some) == 0 {
		return others
	}
	return slices.DeleteFunc(slices.Clone(some), func(m string) bool { return !slices.Contains(others, m) })
}

// withParts returns a gang with the parts of the file, if they may go to several sites, each with the models that
// its components name.
func (s Spec) withParts(j protocol.Job, models map[string][]string, at func(key, format string, args ...any) error) (protocol.Job, error) {
	parts := make(map[string]*protocol.Part)
	var names []string
	for i, c := range s.Components {
		switch {
		case c.Part == "" && len(parts) > 0:
			return j, at(fmt.Sprintf("components/%d", i), "names no part, and others do: give it a part, too")
		case c.Part == "":
			continue
		case i > 0 && len(parts) == 0:
			return j, at(fmt.Sprintf("components/%d/part", i), "is a part, and components before it name none: give each its part")
		case s.Sites.Parts != 0:
			return j, at("sites/parts", "is given together with parts of components: leave one out")
		case s.Sites.Max == 0:
			return j, at(fmt.Sprintf("components/%d/part", i), "is a part of a job that goes to one site: add sites with max, or drop it")
		case parts[c.Part] == nil:
			parts[c.Part], names = &protocol.Part{Name: c.Part, Pods: make([]int, len(j.Pods)), Models: models[c.Part]}, append(names, c.Part)
		}
		if len(j.Pods) == len(s.Components) {
			parts[c.Part].Pods[i] = j.Pods[i].Pods
		}
	}
	for _, name := range names {
		j.Parts = append(j.Parts, *parts[name])
	}
	if s.Sites.Parts != 0 {
		var ok bool
		if j, ok = j.WithEqualParts(s.Sites.Parts); !ok {
			return j, at("sites/parts", "is %d, which does not divide the pods of each component: want a divisor, or name a part in each component", s.Sites.Parts)
		}
	}
	switch n := len(j.Parts); {
	case s.Sites.Max > 1 && n < 2:
		return j, at("sites/max", "is %d, and the job has no parts that could go to different sites: add parts, or name a part in each component", s.Sites.Max)
	case s.Sites.Max > n && n > 0:
		return j, at("sites/max", "is %d, and the job has %d parts: want at most %d", s.Sites.Max, n, n)
	case s.Sites.Max <= 1: // all parts at one site is the gang as it is
		j.Parts = nil
		return j, nil
	}
	j.MaxSites = s.Sites.Max
	return j, nil
}

// A NamedModel is a GPU model that a file names, and the path of its key.
type NamedModel struct{ Key, Model string }

// ModelNames returns all GPU models that the file names.
func (s Spec) ModelNames() (out []NamedModel) {
	for k, m := range s.Models {
		out = append(out, NamedModel{fmt.Sprintf("models/%d", k), m})
	}
	for i, c := range s.Components {
		for k, m := range c.Models {
			out = append(out, NamedModel{fmt.Sprintf("components/%d/models/%d", i, k), m})
		}
	}
	return out
}
