package kube

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// What is written on objects.
const (
	// SchedulerName is the schedulerName of our pods.
	SchedulerName = "gridbid"

	LabelSite     = "gridbid.io/site"  // on objects and pods: whose hands made it
	LabelRun      = "gridbid.io/run"   // on objects and pods: job and epoch
	LabelQueue    = "gridbid.io/queue" // on suspended Jobs: to be sold
	LabelReported = "gridbid.io/told"  // on objects of which the agent was told how they ended

	// TaintOwned is on nodes that are one site's alone; its value names the site.
	TaintOwned = "gridbid.io/owned"

	AnnotationLaunch    = "gridbid.io/launch"         // on objects: the launch, as it travels
	AnnotationJob       = "gridbid.io/job"            // on objects and pods: the job's id
	AnnotationDevices   = "gridbid.io/devices"        // on pods: device indexes, "0,3"
	AnnotationGPUMilli  = "gridbid.io/gpu-milli"      // on pods and tasks: thousandths of each device
	AnnotationGPUMemory = "gridbid.io/gpu-memory-mib" // on pods and tasks: MiB of each device

	// On tasks that name a Job which is there already:
	AnnotationRelease       = "gridbid.io/release"        // its UID: it is suspended, and is let go
	AnnotationKueueWorkload = "gridbid.io/kueue-workload" // the Workload for which Kueue makes it, and lets it go
)

// RunName names a job's epoch. Ids of jobs are free text, so the
// name carries a hash of it.
func RunName(id protocol.JobID, epoch uint64) string {
	slug := []byte(strings.ToLower(string(id)))
	for i, c := range slug {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			slug[i] = '-'
		}
	}
	text := strings.Trim(string(slug[:min(len(slug), 24)]), "-")
	sum := sha256.Sum256([]byte(id))
	return strings.Trim(fmt.Sprintf("%s-%s-e%d", text, hex.EncodeToString(sum[:5]), epoch), "-")
}

// PackLaunch writes a launch as the text of AnnotationLaunch, without its task, which is
// the object itself.
func PackLaunch(site string, l protocol.Launch) (string, error) {
	l.Task = ""
	m := protocol.Sender{Party: protocol.AgentParty(site)}
	data, err := protocol.Encode(m.NewMessage(1, protocol.ExecutorParty(site), l))
	return base64.StdEncoding.EncodeToString(data), err
}

// UnpackLaunch reads what PackLaunch wrote.
func UnpackLaunch(text string) (protocol.Launch, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return protocol.Launch{}, fmt.Errorf("kube: annotation %s: %w", AnnotationLaunch, err)
	}
	m, err := protocol.Decode(data)
	if err != nil {
		return protocol.Launch{}, fmt.Errorf("kube: annotation %s: %w", AnnotationLaunch, err)
	}
	l, ok := m.Body.(protocol.Launch)
	if !ok {
		return l, fmt.Errorf("kube: annotation %s holds a %s", AnnotationLaunch, m.KindName())
	}
	return l, nil
}

// IsOurMark reports whether a key of labels or annotations, or of a Spark setting that
// makes some, is not the task's to say.
func IsOurMark(key string) bool {
	return slices.ContainsFunc([]string{"gridbid.io/", "hami.io/", "ALIYUN_COM_GPU", ".scheduler.name"}, func(mark string) bool { return strings.Contains(key, mark) })
}
