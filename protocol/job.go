package protocol

import (
	"math"
	"slices"
	"strings"
	"time"
)

// A JobID identifies a job in the whole federation, from its submission on.
type JobID string

// A Job is what a submitter wants to run. The zero of a field that limits something
// means no limit.
type Job struct {
	ID     JobID  `msgpack:"id"`
	Tenant string `msgpack:"tn,omitempty"`
	Home   string `msgpack:"hm,omitempty"` // site at which it was submitted and which has its input

	// Demand on one node, unless Pods spread it.
	GPUs      int      `msgpack:"g,omitempty"`  // devices; 0 is a job without GPUs
	Share     Milli    `msgpack:"s,omitempty"`  // of each device, 1..1000; below 1000 only with one device
	GPUMemory MiB      `msgpack:"gm,omitempty"` // of each device
	CPU       Milli    `msgpack:"c,omitempty"`
	Memory    MiB      `msgpack:"m,omitempty"`
	Models    []string `msgpack:"md,omitempty"` // acceptable GPU models; empty: any

	// Pods, if any, make the job a gang: what stands above of GPUs, CPU and memory are sums over them.
	Pods []Component `msgpack:"pd,omitempty"`
	// MinPods is with how many of its pods a gang may start at least; 0: with all. See minpods.go.
	MinPods int `msgpack:"mp,omitempty" json:",omitempty"`
	// MostPods is, of a job that can run on several numbers of pods as the market calls it, on how many sites offer it
	// at most, a gang with MinPods beside all, since quotas have no room for more; 0: any. No job that is submitted,
	// awarded or launched has it.
	MostPods int `msgpack:"xp,omitempty" json:",omitempty"`
	// Speed, if any, makes it elastic: its speed by number of pods, from the fewest to the most; see elastic.go.
	Speed []SpeedPoint `msgpack:"el,omitempty" json:",omitempty"`
	// A gang's topology wish: at most one of them, the label key of a level; see topology.go.
	RequiredTopology  string        `msgpack:"tr,omitempty" json:",omitempty"` // all its pods go into one domain of this level, or nowhere
	PreferredTopology string        `msgpack:"tp,omitempty" json:",omitempty"` // the same where one domain has room
	RequiredFor       time.Duration `msgpack:"tf,omitempty" json:",omitempty"` // since its arrival; then what it requires it prefers; 0: always
	Groups            []PodGroup    `msgpack:"gr,omitempty" json:",omitempty"` // of its pods; see podgroups.go

	// Parts of a gang that may go to different sites, at how many at most, and of which job this is a part; see
	// parts.go.
	Parts    []Part `msgpack:"pt,omitempty" json:",omitempty"`
	MaxSites int    `msgpack:"ms,omitempty" json:",omitempty"`
	PartOf   JobID  `msgpack:"po,omitempty" json:",omitempty"`
	// Of a part: how many pods of the whole stand before its own, how many the whole has, and which part has the
	// first; zero of a coordinator that does not say so. Programs that span the parts count their ranks so.
	FirstRank int   `msgpack:"fr,omitempty" json:",omitempty"`
	WholePods int   `msgpack:"wp,omitempty" json:",omitempty"`
	Leader    JobID `msgpack:"ld,omitempty" json:",omitempty"`
	// StartWith is, of a part as the market calls it, the first start for which sites offer, since other parts can
	// start then; 0: any. No job that is submitted, awarded or launched has it.
	StartWith Time `msgpack:"sw,omitempty" json:",omitempty"`

	// Time and place.
	Arrival  Time          `msgpack:"a"`
	Run      time.Duration `msgpack:"r"`            // run time at the reference clock, a V100 without a cap; 0: unknown, sites estimate it
	Deadline Time          `msgpack:"d"`            // latest end; a later one counts as late
	Urgency  Urgency       `msgpack:"ur,omitempty"` // how dearly its waiting is held
	Priority int           `msgpack:"p,omitempty"`  // higher goes first; of a job with a class, what the class gives it
	Regions  []string      `msgpack:"rg,omitempty"` // sites that may hold its data; empty: any

	PriorityClass string `msgpack:"cl,omitempty" json:",omitempty"` // of the policy in force; "": none

	Input MiB    `msgpack:"in,omitempty"` // to be transferred when it does not run at Home
	Image string `msgpack:"im,omitempty"` // container image; sites estimate run times by it

	// A job that may be paused saves its state in a checkpoint.
	Pause time.Duration `msgpack:"pz,omitempty"` // run time added by saving and loading it; 0: the job cannot be paused
	State MiB           `msgpack:"sz,omitempty"` // size of the checkpoint
}

// RemainderAfterPause returns the rest of a job that was paused at a site with left of its run
// time to go: a job whose input and checkpoint are at that site. Since it has started, the price and
// the limit of its waiting are behind it, and its deadline alone says how long it may wait.
func (j Job) RemainderAfterPause(site string, left time.Duration) Job {
	j.Run, j.Home, j.Input, j.Urgency = left+j.Pause, site, j.Input+j.State, UrgencyFlexible
	return j
}

// AsksTheSame reports whether two jobs of one pod differ in nothing but id, tenant, arrival and deadline.
func (j *Job) AsksTheSame(y *Job) bool {
	return j.GPUs == y.GPUs && j.Run == y.Run && j.CPU == y.CPU && j.Memory == y.Memory && j.Share == y.Share && j.GPUMemory == y.GPUMemory &&
		j.Urgency == y.Urgency && j.Priority == y.Priority && j.PriorityClass == y.PriorityClass && j.Input == y.Input && j.Pause == y.Pause && j.State == y.State &&
		j.StartWith == y.StartWith && j.MostPods == y.MostPods && j.Home == y.Home && j.Image == y.Image && j.PartOf == y.PartOf && slices.Equal(j.Models, y.Models) && slices.Equal(j.Regions, y.Regions)
}

// TotalGPUMilli returns the GPU capacity that the job takes, in thousandths of a device.
func (j Job) TotalGPUMilli() (sum Milli) {
	for i := range j.Pods {
		c := &j.Pods[i]
		sum += Milli(c.Pods*c.GPUs) * c.Share
	}
	return sum + Milli(j.GPUs)*j.Share // a gang has no share
}

// MayWait reports whether j may start later than it could: a standard or a flexible job.
func (j Job) MayWait() bool { return j.Urgency != UrgencyNow }

// IsTiedToOneSite reports whether j may run at one site only.
func (j Job) IsTiedToOneSite() bool { return len(j.Regions) == 1 }

// InvalidReason returns what is wrong with the job, for its submitter, or "".
func (j Job) InvalidReason() string {
	switch {
	case j.ID == "":
		return "id: empty; every job needs a name of its own"
	case len(j.ID) > maxName || len(j.Tenant) > maxName || len(j.Home) > maxName || len(j.PriorityClass) > maxName:
		return "id, tenant, home or priority class: longer than 128 bytes"
	case j.IsGang() && j.invalidPods() != "":
		return j.invalidPods()
	case j.invalidMinPods() != "":
		return j.invalidMinPods()
	case j.IsElastic() && !j.IsGang():
		return "components: a job without them has one pod, and no speed on several"
	case j.invalidSpeed() != "":
		return j.invalidSpeed()
	case j.invalidTopology() != "":
		return j.invalidTopology()
	case j.invalidGroups() != "":
		return j.invalidGroups()
	case j.invalidParts() != "":
		return j.invalidParts()
	case !j.IsGang() && (j.GPUs < 0 || j.GPUs > MaxGPUs):
		return "gpus: want 0..16 of one node; a job over several nodes has components"
	case !j.IsGang() && invalidShare(j.GPUs, j.Share) != "":
		return invalidShare(j.GPUs, j.Share)
	case j.CPU < 0 || j.Memory < 0 || j.GPUMemory < 0 || j.Input < 0:
		return "cpu, memory, gpu memory or input: negative"
	case j.CPU > maxAmount || Milli(j.Memory) > maxAmount || Milli(j.GPUMemory) > maxAmount || Milli(j.Input) > maxAmount:
		return "cpu, memory, gpu memory or input: absurdly large"
	case j.GPUs == 0 && j.CPU == 0:
		return "cpu: a job without GPUs needs some"
	case len(j.Image) > maxImage:
		return "image: longer than 512 bytes"
	case j.Pause < 0 || j.Pause > MaxRun || j.State < 0 || Milli(j.State) > maxAmount:
		return "pause or state: negative or absurdly large"
	case j.Pause > 0 && (!j.MayWait() || j.Run == 0):
		return "pause: a job that may be paused may wait, and says how long it runs"
	case !j.Urgency.isValid():
		return "urgency: want now, standard or flexible"
	case strings.HasPrefix(string(j.ID), replicaPrefix):
		return "id: begins as the names of replicas do: want another"
	case j.Run != 0 && j.Run < time.Second || j.Run > MaxRun:
		return "run: want 1s..720h at the reference clock"
	case j.Arrival <= 0 || j.Deadline < j.Arrival || j.Deadline-j.Arrival > Time(2*MaxRun.Milliseconds()):
		return "deadline: before the arrival, or over 1440h after it"
	case j.PriorityClass == "" && (j.Priority < -maxPriority || j.Priority > maxPriority):
		return "priority: want -1000..1000; a priority class may give more"
	case j.Priority < math.MinInt32 || j.Priority > math.MaxInt32:
		return "priority: want 32 bits"
	case len(j.Models) > maxList || len(j.Regions) > maxList:
		return "models or regions: more than 64"
	case slices.ContainsFunc(j.Models, nameTooLong) || slices.ContainsFunc(j.Regions, nameTooLong):
		return "models or regions: a name longer than 128 bytes"
	}
	return ""
}

// nameTooLong reports whether a name exceeds maxName bytes.
func nameTooLong(name string) bool { return len(name) > maxName }

// MaxWireSize returns an upper bound of the encoded size of j in bytes.
func (j Job) MaxWireSize() int {
	n := len(j.ID) + len(j.Tenant) + len(j.Home) + len(j.Image) + len(j.Urgency) + len(j.PriorityClass) + len(j.RequiredTopology) + len(j.PreferredTopology)
	for _, s := range j.Models {
		n += len(s) + 5 // a length takes at most five bytes
	}
	for _, s := range j.Regions {
		n += len(s) + 5
	}
	for i := range j.Pods {
		n += len(j.Pods[i].Role) + 64
	}
	for i := range j.Groups {
		n += len(j.Groups[i].Level) + 32
	}
	n += len(j.Speed) * 24
	n += len(j.PartOf) + len(j.Leader)
	if j.WholePods != 0 {
		n += 16
	}
	if j.StartWith != 0 || j.HasSizes() { // a call of the latter may have MostPods
		n += 12
	}
	for i := range j.Parts {
		n += len(j.Parts[i].Name) + 9*len(j.Parts[i].Pods) + 16
		for _, s := range j.Parts[i].Models {
			n += len(s) + 5
		}
	}
	return n + 328 // 30 keys with their lengths, and 16 integers
}

// Bounds of a job's values. They keep sums and products of them within 64 bits.
const (
	MaxGPUs     = 16
	MaxRun      = 720 * time.Hour
	maxName     = 128
	maxImage    = 512
	maxList     = 64
	maxPriority = 1000
	maxAmount   = 1 << 40
)
