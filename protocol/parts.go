package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import (
	"fmt"
	"slices"
)

// A gang with MaxSites above 1 may be divided over sites: each of its Parts goes to one site as a
// whole, like a gang of its own, and all parts start or none does. The market calls, awards and
// settles each part as a job (PartJobs), which names the whole in PartOf.
type (
	// A Part is pods of a gang that go to one site together: a sub-job of Volcano's HyperJob.
	Part struct {
		_msgpack struct{} `msgpack:",as_array"`
		Name     string   // of the job each once; ends the id of the part
		Pods     []int    // how many of each component, in the order of the job's Pods
		Models   []string // GPU models that will do for this part; empty: those of the job
	}

	// PartsDecided is the market's fact about all parts of an award: committed, they run; else their
	// awards are void, and what runs of them is stopped. It is durable before the first Confirm.
	PartsDecided struct {
		Job       JobID      `msgpack:"j"` // the whole
		Epoch     uint64     `msgpack:"e"` // of all its parts
		Parts     []PartSite `msgpack:"p"`
		Committed bool       `msgpack:"c,omitempty"`
		StartBy   Time       `msgpack:"u,omitempty"` // of a commit: all parts run by then, or all are stopped
		Why       Reason     `msgpack:"w"`           // of what is not committed
	}

	// A PartSite is a part and the site that was awarded it.
	PartSite struct {
		_msgpack struct{} `msgpack:",as_array"`
		Part     JobID
		Site     string
	}
)

// Why the parts of a job do not run.
const (
	PartsApart Code = "parts-apart" // no sites have room for all parts at about the same time
	PartLost   Code = "part-lost"   // another part of the job was declined, lost or did not start
)

// MaxParts bounds the parts of a job.
const MaxParts = 8

func (PartsDecided) messageKind() string  { return "parts" }
func (b PartsDecided) referredJob() JobID { return b.Job }

// IsDivided reports whether j has parts that may go to different sites.
func (j *Job) IsDivided() bool { return len(j.Parts) > 0 }

// PartID returns the id of a part of a job.
func PartID(whole JobID, name string) JobID { return whole + "." + JobID(name) }

// PartJobs returns the parts of j, each as a job: a gang, or a job of one pod. They make up j if it is valid.
func (j *Job) PartJobs() []Job {
	all := make([]Job, 0, len(j.Parts))
	before := 0
	for _, p := range j.Parts {
		var pods []Component
		var groups []PodGroup
		for i, n := range p.Pods {
			if n > 0 && i < len(j.Pods) {
				c := j.Pods[i]
				c.Pods = n
				for _, g := range j.GroupsOf(i) {
					g.Component = len(pods)
					groups = append(groups, g)
				}
				pods = append(pods, c)
			}
		}
		part := *j
		part.Parts, part.Groups = nil, groups
		part = part.WithPods(pods)
		if len(p.Models) > 0 {
			part.Models = p.Models
		}
		part.ID, part.PartOf = PartID(j.ID, p.Name), j.ID
		part.FirstRank, part.WholePods, part.Leader = before, j.PodCount(), PartID(j.ID, j.Parts[0].Name)
		before += part.PodCount()
		all = append(all, part)
	}
	return all
}

// WithEqualParts returns j with n equal parts, named from 1; false if a component's pods cannot be divided so.
func (j Job) WithEqualParts(n int) (Job, bool) {
	j.Parts = nil
	for i := range n {
		p := Part{Name: fmt.Sprint(i + 1)}
		for _, c := range j.Pods {
			if c.Pods%n != 0 {
				return j, false
			}
			p.Pods = append(p.Pods, c.Pods/n)
		}
		j.Parts = append(j.Parts, p)
	}
	return j, true
}

// invalidParts returns what is wrong with the parts of a job, or "". The field is named as in a job file.
func (j *Job) invalidParts() string {
	n := len(j.Parts)
	switch {
	case j.StartWith < 0 || j.StartWith != 0 && j.PartOf == "":
		return "start_with: only the market asks for it, of parts; drop it"
	case j.PartOf == "" && (j.FirstRank != 0 || j.WholePods != 0 || j.Leader != ""):
		return "part_of: only a part stands among others; submit the whole job"
	case j.FirstRank < 0 || j.WholePods != 0 && (j.FirstRank > MaxPods || j.FirstRank+j.PodCount() > j.WholePods) || j.WholePods > MaxPods || len(j.Leader) > maxName:
		return "part_of: its pods are not among those of the whole job"
	case n == 0 && j.MaxSites == 0 && j.PartOf == "":
		return ""
	case j.IsElastic():
		return "sites: an elastic job runs at one site; drop speed, or sites"
	case j.MinPods > 0:
		return "sites: a job that may start with fewer pods runs at one site; drop min_available, or sites"
	case j.PartOf != "" && n == 0 && j.MaxSites >= 2 && j.MaxSites <= MaxParts && len(j.PartOf) <= maxName:
		return "" // a part, as the market calls it
	case j.PartOf != "":
		return "part_of: a part has no parts of its own"
	case n < 2 || n > MaxParts:
		return fmt.Sprintf("sites.parts: %d; want 2..%d, or no sites at all", n, MaxParts)
	case j.MaxSites < 2 || j.MaxSites > n:
		return fmt.Sprintf("sites.max: %d; want 2..%d, at most as many as there are parts", j.MaxSites, n)
	case j.Pause != 0:
		return "sites: a job that may be paused runs at one site; drop pause, or sites"
	}
	return j.invalidDivision()
}

// invalidDivision returns why the parts of a job are not a division of its pods, or "".
func (j *Job) invalidDivision() string {
	left := make([]int, len(j.Pods))
	for i := range j.Pods {
		left[i] = j.Pods[i].Pods
	}
	names := make(map[string]bool, len(j.Parts))
	for _, p := range j.Parts {
		sum := 0
		switch {
		case !IsLabelValue(p.Name) || len(j.ID)+1+len(p.Name) > maxName:
			return fmt.Sprintf("sites.parts: %.70q is no name of a part: want letters, digits, '-', '_' and '.', at most 63, and with the job's id at most %d", p.Name, maxName-1)
		case names[p.Name]:
			return fmt.Sprintf("sites.parts: two are named %q; give each its own name", p.Name)
		case len(p.Pods) != len(j.Pods):
			return fmt.Sprintf("sites.parts: part %s counts pods of %d components, of which the job has %d", p.Name, len(p.Pods), len(j.Pods))
		case len(p.Models) > maxList || slices.ContainsFunc(p.Models, nameTooLong):
			return fmt.Sprintf("sites.parts: part %s names more than %d GPU models, or one with over 128 bytes", p.Name, maxList)
		}
		names[p.Name] = true
		for i, n := range p.Pods {
			if n < 0 || n > left[i] {
				return fmt.Sprintf("sites.parts: part %s has %d pods of component %d, of which %d are left", p.Name, n, i, left[i])
			}
			left[i] -= n
			sum += n
			for _, g := range j.GroupsOf(i) {
				if n%g.Pods != 0 {
					return fmt.Sprintf("sites.parts: part %s has %d pods of component %d, which are not whole groups of %d", p.Name, n, i, g.Pods)
				}
			}
		}
		if sum == 0 {
			return fmt.Sprintf("sites.parts: part %s has no pods", p.Name)
		}
	}
	for i, n := range left {
		if n != 0 {
			return fmt.Sprintf("sites.parts: %d pods of component %d are in no part", n, i)
		}
	}
	return ""
}
