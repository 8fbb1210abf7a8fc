// Package jobfile reads jobs as people write them: in GiB, cores and spans of time. The
// coordinator's API reads a submitted job by it, and a scenario each job that it lists, so
// that a job means the same in both.
//
// Callers check what depends on a federation, such as names of sites and GPU models.
package jobfile

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
)

// Schema is the JSON schema of a job file, as published.
//
//go:embed job.schema.json
var Schema []byte

// kind reads job files by their schema.
var kind = yamlschema.SchemaKind{
	Reader: "jobfile", FileKind: "job", Docs: "docs/live.md", Schema: Schema, Pattern: DescribePattern,
}

// DescribePattern says what a pattern of the schema wants, for errors; "" for that of names.
func DescribePattern(pattern string) string {
	if strings.Contains(pattern, "ms|s|m") {
		return "a time such as 450ms, 1.5s or 2m"
	}
	if strings.Contains(pattern, "h|m|s") {
		return "a time span such as 90s, 45m or 1h30m"
	}
	if strings.Contains(pattern, "?/)?") {
		return "the key of a node label, such as topology.kubernetes.io/zone"
	}
	return ""
}

// A Spec is the content of a job file, in its units.
type Spec struct {
	ID            string   `yaml:"id"`
	Tenant        string   `yaml:"tenant"`
	Home          string   `yaml:"home"`
	GPUs          int      `yaml:"gpus"`
	Share         *float64 `yaml:"share"`
	GPUMemory     float64  `yaml:"gpu_memory"`
	CPU           float64  `yaml:"cpu"`
	Memory        float64  `yaml:"memory"`
	Models        []string `yaml:"models"`
	Run           string   `yaml:"run"`
	Within        string   `yaml:"within"`
	Deadline      string   `yaml:"deadline"`
	Urgency       string   `yaml:"urgency"`
	Deferrable    *bool    `yaml:"deferrable"`
	Priority      int      `yaml:"priority"`
	PriorityClass string   `yaml:"priority_class"`
	Regions       []string `yaml:"regions"`
	Input         float64  `yaml:"input"`
	Image         string   `yaml:"image"`
	Pause         string   `yaml:"pause"`
	Checkpoint    float64  `yaml:"checkpoint"`
	// Components make it a job of several pods: see components.go.
	Components   []ComponentSpec `yaml:"components"`
	Topology     TopologySpec    `yaml:"topology"`
	Sites        SitesSpec       `yaml:"sites"`
	MinAvailable int             `yaml:"min_available"`
	Task         string          `yaml:"task"`
}

// A Request is a parsed job file. Arrival and deadline of its job depend on the time of
// submission.
type Request struct {
	job      protocol.Job
	task     protocol.Task
	within   time.Duration
	deadline protocol.Time
}

// ID returns the job's id; "" if the file has none.
func (o Request) ID() protocol.JobID { return o.job.ID }

// Tenant returns the tenant that the file names; "" if it names none.
func (o Request) Tenant() string { return o.job.Tenant }

// WithTenant returns o for another tenant.
func (o Request) WithTenant(tenant string) Request {
	o.job.Tenant = tenant
	return o
}

// Home returns the site at which the job's input is; "" if the file has none.
func (o Request) Home() string { return o.job.Home }

// Models returns the GPU models that will do; none: any.
func (o Request) Models() []string { return o.job.Models }

// Regions returns the sites that may hold the job's data; none: any.
func (o Request) Regions() []string { return o.job.Regions }

// WithID returns o with another id.
func (o Request) WithID(id protocol.JobID) Request {
	o.job.ID = id
	return o
}

// defaultRunFactor times the run time is the deadline of a job whose file states none.
const defaultRunFactor = 4

// Parse parses a job file, YAML or JSON. Errors name the file, the line and what to change.
func Parse(file string, text []byte) (Request, error) {
	p, err := kind.ParsePage(file, text)
	if err != nil {
		return Request{}, err
	}
	var s Spec
	if err := p.DecodeInto(&s); err != nil {
		return Request{}, err
	}
	return s.Request(func(key, format string, args ...any) error {
		if key == "" {
			return p.FaultAt(nil, format, args...)
		}
		return p.FaultAt(strings.Split(key, "/"), format, args...)
	})
}

// Request converts units and fills in defaults: a file has GiB, cores and GPUs, the protocol MiB
// and thousandths. at builds the error of a key, or of a path as components/0/pods; "" is the whole job.
func (s Spec) Request(at func(key, format string, args ...any) error) (o Request, err error) {
	o = Request{task: protocol.Task(s.Task), job: protocol.Job{
		ID: protocol.JobID(s.ID), Tenant: s.Tenant, Home: s.Home, GPUs: s.GPUs, Models: s.Models,
		Priority: s.Priority, PriorityClass: s.PriorityClass, Regions: s.Regions, Image: s.Image, CPU: protocol.Milli(math.Round(s.CPU * 1000)),
		GPUMemory: gibToMiB(s.GPUMemory), Memory: gibToMiB(s.Memory), Input: gibToMiB(s.Input), State: gibToMiB(s.Checkpoint),
	}}
	// Whole GPUs unless the file states a share.
	if s.GPUs > 0 {
		o.job.Share = 1000
	}
	if s.Share != nil {
		o.job.Share = protocol.Milli(math.Round(*s.Share * 1000))
	}
	if o.job, err = s.withComponents(o.job, at); err != nil {
		return Request{}, err
	}
	if s.Priority != 0 && s.PriorityClass != "" {
		return Request{}, at("priority", "is given together with priority_class, which gives the job its priority: leave one out")
	}
	if n := len(s.Task); n > protocol.MaxText { // the schema counts characters, not bytes
		return Request{}, at("task", "is %d bytes long: want at most %d", n, protocol.MaxText)
	}
	if o.job.IsElastic() && o.task != "" {
		if why := taskThatResizes(o.task); why != "" {
			return Request{}, at("task", "%s", why)
		}
	}
	if o.job.Run, err = time.ParseDuration(cmp.Or(s.Run, "0s")); err != nil || s.Run != "" && o.job.Run == 0 {
		return Request{}, at("run", "is %q: want a time span such as 1h30m, or leave it out", s.Run)
	}
	if o.job.Pause, err = time.ParseDuration(cmp.Or(s.Pause, "0s")); err != nil || s.Pause != "" && o.job.Pause == 0 {
		return Request{}, at("pause", "is %q: want a time span above 0 such as 2m, or leave it out", s.Pause)
	}
	if s.Checkpoint != 0 && s.Pause == "" {
		return Request{}, at("checkpoint", "is the size of one, and the job is never paused: add pause, or drop it")
	}
	// The image groups runs for estimates of run time; a task names one if the file does not.
	if o.job.Image == "" {
		o.job.Image = firstImage(o.task)
	}
	if err := s.setDeadline(&o, at); err != nil {
		return Request{}, err
	}
	if o.job.Urgency, err = s.urgency(); err != nil {
		return Request{}, at("urgency", "%v", err)
	}
	// Find faults now, while the file's lines are known. Without an id or with a deadline
	// the job is complete only at its submission.
	if s.ID != "" && o.deadline == 0 {
		if err := o.checkAt(1, at); err != nil {
			return Request{}, err
		}
	}
	return o, nil
}

// setDeadline sets the deadline of a request. A file states at most one of within and deadline;
// without both, the run time sets it.
func (s Spec) setDeadline(o *Request, at func(key, format string, args ...any) error) (err error) {
	switch {
	case s.Run == "" && s.Within == "" && s.Deadline == "":
		return at("", "run time and deadline are both missing: add run, within or deadline")
	case s.Within != "" && s.Deadline != "":
		return at("within", "is given together with deadline: keep one")
	case s.Within != "":
		if o.within, err = time.ParseDuration(s.Within); err != nil {
			return at("within", "is %q: want a time span such as 8h", s.Within)
		}
	case s.Deadline != "":
		t, err := time.Parse(time.RFC3339, s.Deadline)
		if err != nil {
			return at("deadline", "is %q: want a time as 2026-11-21T18:00:00Z, or use within", s.Deadline)
		}
		o.deadline = protocol.FromStdTime(t)
	default:
		o.within = defaultRunFactor * o.job.Run
	}
	return nil
}

// checkAt returns what is wrong with the job if it is submitted at now.
func (o Request) checkAt(now protocol.Time, at func(key, format string, args ...any) error) error {
	bad := o.SubmitAt(now).Job.InvalidReason()
	if bad == "" {
		return nil
	}
	field, why, _ := strings.Cut(bad, ": ")
	return at(strings.NewReplacer("[", "/", "].", "/", "]", "").Replace(field), "%s", why)
}

// JobAt returns the job as it is submitted at an instant, or what is wrong with it then: a
// deadline may be over.
func (s Spec) JobAt(now protocol.Time, at func(key, format string, args ...any) error) (protocol.Job, error) {
	o, err := s.Request(at)
	if err != nil {
		return protocol.Job{}, err
	}
	return o.SubmitAt(now).Job, o.checkAt(now, at)
}

// urgency returns the urgency that the file names. A file from before there were three says deferrable
// instead.
func (s Spec) urgency() (protocol.Urgency, error) {
	due := s.Within != "" || s.Deadline != ""
	switch {
	case s.Urgency != "" && s.Deferrable != nil:
		return "", errors.New("is given together with deferrable: keep urgency alone")
	case s.Deferrable != nil:
		return protocol.UrgencyFromDeferrable(*s.Deferrable, due), nil
	case s.Urgency == "":
		return protocol.UrgencyStandard, nil
	}
	u, err := protocol.ParseUrgency(s.Urgency)
	if u == protocol.UrgencyFlexible && !due {
		return "", errors.New("is flexible without a deadline: add within or deadline, or drop it")
	}
	return u, err
}

// firstImage returns the first container image in a task, searched level by level, or "".
func firstImage(t protocol.Task) string {
	var doc any
	if json.Unmarshal([]byte(t), &doc) != nil {
		return ""
	}
	// Breadth first and by sorted keys: the same task always gives the same image.
	for level := []any{doc}; len(level) > 0; {
		var next []any
		for _, v := range level {
			switch v := v.(type) {
			case []any:
				next = append(next, v...)
			case map[string]any:
				if s, ok := v["image"].(string); ok && s != "" {
					return s[:min(len(s), 512)]
				}
				for _, key := range slices.Sorted(maps.Keys(v)) {
					next = append(next, v[key])
				}
			}
		}
		level = next
	}
	return ""
}

// gibToMiB converts GiB to MiB, rounded to the nearest.
func gibToMiB(v float64) protocol.MiB { return protocol.MiB(math.Round(v * 1024)) }

// SubmitAt returns the Submit message of o at time now.
func (o Request) SubmitAt(now protocol.Time) protocol.Submit {
	j := o.job
	j.Arrival, j.Deadline = now, o.deadline
	if j.Deadline == 0 {
		j.Deadline = now.Add(o.within)
	}
	return protocol.Submit{Job: j, Task: o.task}
}
