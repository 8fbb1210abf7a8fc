package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import "fmt"

// A gang is a job of several pods, perhaps on several nodes, that start together or not at all. Its
// Pods list them, and its GPUs, CPU and Memory are sums over all of them. Its Share is one that no
// other job has, 0 with GPUs and noGPUShare without, so that a coordinator that does not know Pods
// refuses it.
type (
	// A Component is pods of a gang that are alike, such as its workers.
	Component struct {
		_msgpack  struct{} `msgpack:",as_array"`
		Role      string   // "worker"; of one gang each once
		Pods      int      // from 1
		GPUs      int      // of each pod
		Share     Milli    // of each device, as of a Job
		GPUMemory MiB      // of each device
		CPU       Milli    // of each pod
		Memory    MiB      // of each pod
	}

	// A Place is pods of one component on one node. In a bid and an award it has no devices.
	Place struct {
		_msgpack  struct{} `msgpack:",as_array"`
		Component int      // index in the job's Pods
		Pods      int
		Node      string
		Devices   []int
	}

	// A Spread says over which nodes a gang's pods would go under one option of a bid.
	Spread struct {
		_msgpack struct{} `msgpack:",as_array"`
		Job      JobID
		Option   int // index in the job's options
		Places   []Place
	}

	// A Hole is what an option of a gang that starts later keeps idle for it until then. Jobs that end before
	// run there meanwhile. An award of the option reserves the nodes; an offer reserves nothing.
	Hole struct {
		_msgpack struct{} `msgpack:",as_array"`
		Job      JobID
		Option   int          // index in the job's options
		Fit      int          // of its pods: as many as would find room at once, now
		From     Time         // since when the first of its nodes is kept for it
		GPUHours Milli        `name:"gpu_hours"` // of its GPUs, that they are kept, in thousandths
		Cost     Microdollars // of that, less what others are expected to use; a part of the option's NodeIdleShare
	}

	// A LargestSet is how much of a gang a site could hold if it were empty, where that is not all.
	LargestSet struct {
		_msgpack struct{} `msgpack:",as_array"`
		Job      JobID
		Pods     int
	}
)

// Bounds of a gang.
const (
	MaxPods       = 1024 // of all components
	maxComponents = 16
)

// IsGang reports whether j consists of several pods.
func (j *Job) IsGang() bool { return len(j.Pods) > 0 }

// PodCount returns the number of j's pods: 1 unless it is a gang.
func (j *Job) PodCount() int {
	if len(j.Pods) == 0 {
		return 1
	}
	n := 0
	for i := range j.Pods {
		n += j.Pods[i].Pods
	}
	return n
}

// LeastGPUsOnNode returns how many GPUs a node must have at least to run a part of j: those of its
// smallest pod with GPUs, or all of a job of one pod.
func (j *Job) LeastGPUsOnNode() int {
	if !j.IsGang() {
		return j.GPUs
	}
	least := 0
	for i := range j.Pods {
		if n := j.Pods[i].GPUs; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// PodsOf returns j as so many pods of its component i ask for it, together: a job that is no gang.
func (j *Job) PodsOf(i, pods int) Job {
	c, p := &j.Pods[i], *j
	p.Pods, p.MinPods, p.MostPods, p.RequiredTopology, p.PreferredTopology, p.RequiredFor, p.Groups, p.Speed, p.Parts = nil, 0, 0, "", "", 0, nil, nil, nil
	p.GPUs, p.Share, p.GPUMemory = pods*c.GPUs, c.Share, c.GPUMemory
	p.CPU, p.Memory = Milli(pods)*c.CPU, MiB(pods)*c.Memory
	return p
}

// noGPUShare is the share of a gang without GPUs.
const noGPUShare Milli = 1

// WithPods returns j as the gang of some components. One component of one pod is no gang, but a job
// as it always was, unless it is elastic.
func (j Job) WithPods(all []Component) Job {
	j.Pods = all
	if j.PodCount() == 1 && len(all) == 1 && !j.IsElastic() {
		return j.PodsOf(0, 1)
	}
	return j.withSums(all)
}

// withSums returns j with some pods, and what they ask for together.
func (j Job) withSums(all []Component) Job {
	j.Pods = all
	j.GPUs, j.Share, j.GPUMemory, j.CPU, j.Memory = 0, 0, 0, 0, 0
	for _, c := range all {
		j.GPUs += c.Pods * c.GPUs
		j.CPU += Milli(c.Pods) * c.CPU
		j.Memory += MiB(c.Pods) * c.Memory
	}
	if j.GPUs == 0 {
		j.Share = noGPUShare
	}
	return j
}

// invalidPods returns what is wrong with the pods of a gang, or "". The field is named as in a job
// file.
func (j *Job) invalidPods() string {
	if len(j.Pods) > maxComponents {
		return fmt.Sprintf("components: %d; want at most %d", len(j.Pods), maxComponents)
	}
	roles := make(map[string]bool, len(j.Pods))
	pods := 0
	for i := range j.Pods {
		c := &j.Pods[i]
		if why := c.invalidReason(); why != "" {
			return fmt.Sprintf("components[%d].%s", i, why)
		}
		if roles[c.Role] {
			return fmt.Sprintf("components[%d].role: another component is %q; give each its own", i, c.Role)
		}
		roles[c.Role] = true
		pods += c.Pods
	}
	switch {
	case pods < 2 && !j.IsElastic():
		return "components: one pod; describe it by gpus, cpu and memory of the job itself"
	case pods > MaxPods:
		return fmt.Sprintf("components: %d pods; want at most %d", pods, MaxPods)
	}
	if sum := j.WithPods(j.Pods); sum.GPUs != j.GPUs || sum.CPU != j.CPU || sum.Memory != j.Memory || sum.Share != j.Share || j.GPUMemory != 0 {
		return "components: gpus, share, cpu and memory of the job are not those of its pods together"
	}
	return ""
}

// IsShare reports whether each pod takes a part of a GPU.
func (c *Component) IsShare() bool { return c.GPUs > 0 && c.Share < 1000 }

// invalidReason returns what is wrong with a component, from the name of the field on, or "".
func (c *Component) invalidReason() string {
	switch {
	case len(c.Role) > maxName:
		return "role: longer than 128 bytes"
	case c.Pods < 1 || c.Pods > MaxPods:
		return fmt.Sprintf("pods: want 1..%d", MaxPods)
	case c.GPUs < 0 || c.GPUs > MaxGPUs:
		return "gpus: want 0..16 of one node for each pod"
	}
	if why := invalidShare(c.GPUs, c.Share); why != "" {
		return why
	}
	switch {
	case c.CPU < 0 || c.CPU > maxAmount:
		return "cpu: negative or absurdly large"
	case c.Memory < 0 || Milli(c.Memory) > maxAmount:
		return "memory: negative or absurdly large"
	case c.GPUMemory < 0 || Milli(c.GPUMemory) > maxAmount:
		return "gpu_memory: negative or absurdly large"
	case c.GPUs == 0 && c.CPU == 0:
		return "cpu: a pod without GPUs needs some"
	}
	return ""
}

// invalidShare returns what is wrong with the share of each of some devices, or "".
func invalidShare(gpus int, share Milli) string {
	switch {
	case gpus == 0 && share != 0:
		return "share: a job without GPUs has no share of one"
	case gpus > 0 && (share < 1 || share > 1000):
		return "share: want 1..1000 thousandths of each device"
	case gpus > 1 && share != 1000:
		return "share: several GPUs are held whole (1000)"
	}
	return ""
}

// PlacesOf returns where a launch goes: its Places, or its one node.
func (l *Launch) PlacesOf() []Place {
	if len(l.Places) > 0 {
		return l.Places
	}
	return []Place{{Pods: 1, Node: l.Node, Devices: l.Devices}}
}

// PartAt returns what the launch takes at one of its places, as a job.
func (l *Launch) PartAt(p Place) Job {
	if !l.Job.IsGang() {
		return l.Job
	}
	return l.Job.PodsOf(p.Component, p.Pods)
}

// InvalidPlaces returns why places cannot be those of a gang, or "". A bid must have the pods of each
// component, or as few as the gang may start with, and names no node twice for one component. Devices are
// not looked at.
func (j *Job) InvalidPlaces(places []Place) string {
	left := make([]int, len(j.Pods))
	for i := range j.Pods {
		left[i] = j.Pods[i].Pods
	}
	type key struct {
		component int
		node      string
	}
	seen := make(map[key]bool, len(places))
	for _, p := range places {
		switch {
		case p.Component < 0 || p.Component >= len(left):
			return fmt.Sprintf("component %d of %d", p.Component, len(left))
		case p.Node == "" || len(p.Node) > maxName:
			return "a node without a name, or with one longer than 128 bytes"
		case seen[key{p.Component, p.Node}]:
			return fmt.Sprintf("node %s twice", p.Node)
		case p.Pods < 1 || p.Pods > left[p.Component]:
			return fmt.Sprintf("%d pods of component %d on node %s, of which %d are left", p.Pods, p.Component, p.Node, left[p.Component])
		}
		seen[key{p.Component, p.Node}] = true
		left[p.Component] -= p.Pods
	}
	may := j.maySpare()
	for i, n := range left {
		if n != 0 && (i != j.givingWay() || n > may) {
			return fmt.Sprintf("%d pods of component %d have no place", n, i)
		}
	}
	return ""
}
