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

// Labels, taints and annotations that Gridbid writes on Kubernetes objects. Their
// values are an interface: objects outlive the process that wrote them, and other
// programs select by them.
const (
	// SchedulerName is the schedulerName of our pods.
	SchedulerName = "gridbid"

	LabelSite            = "gridbid.io/site"      // on objects and pods: the site whose executor created it
	LabelRun             = "gridbid.io/run"       // on objects and pods: job and epoch
	LabelQueue           = "gridbid.io/queue"     // on suspended objects: the owner submits it to the market
	LabelOutcomeReported = "gridbid.io/told"      // on objects whose outcome was reported to the agent
	LabelComponent       = "gridbid.io/component" // on pods of a gang: the index of their component

	// GateGang is the scheduling gate of a gang's pods until all of them can be bound.
	GateGang = "gridbid.io/gang"

	// FinalizerQueue keeps an object of the cluster's users from being deleted before the
	// market has closed its job.
	FinalizerQueue = "gridbid.io/queue"

	// TaintOwned marks nodes that one site uses exclusively; its value names the site.
	TaintOwned = "gridbid.io/owned"

	AnnotationLaunch    = "gridbid.io/launch"         // on objects: the launch in its wire format (see PackLaunch)
	AnnotationJob       = "gridbid.io/job"            // on objects and pods: the job's id
	AnnotationDevices   = "gridbid.io/devices"        // on pods: device indexes, "0,3"
	AnnotationRank      = "gridbid.io/rank"           // on pods of a part of a job at several sites: the pod's rank among those of all parts
	AnnotationPodsOfJob = "gridbid.io/pods-of-job"    // on pods of a gang: how many pods each Job of their component has
	AnnotationGPUMilli  = "gridbid.io/gpu-milli"      // on pods and tasks: thousandths of each device
	AnnotationGPUMemory = "gridbid.io/gpu-memory-mib" // on pods and tasks: MiB of each device

	AnnotationPaused = "gridbid.io/paused" // on a suspended object: what is left of its run, when it began, and when it was paused

	AnnotationSubmittedAt = "gridbid.io/submitted" // on objects of the cluster's users: when the queue submitted it

	// On tasks that refer to an existing object instead of describing a new one:
	AnnotationRelease       = "gridbid.io/release"        // UID of the suspended object to be released
	AnnotationKueueWorkload = "gridbid.io/kueue-workload" // name of the Workload for which Kueue creates and releases the Job
)

// RunName returns the name of one epoch of a job, which is a valid Kubernetes label
// and object name. Job ids are free text, so the name carries a readable part of the
// id and a hash of all of it: ids that differ only in other characters do not collide.
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

// PackLaunch encodes a launch as the text of AnnotationLaunch. The task is left out,
// because the annotated object is the task. The launch is packed as a whole protocol
// message, so a later version of the executor reads it by the same rules as a message
// from the wire.
func PackLaunch(site string, l protocol.Launch) (string, error) {
	l.Task = ""
	m := protocol.Sender{Party: protocol.AgentParty(site)}
	data, err := protocol.Encode(m.NewMessage(1, protocol.ExecutorParty(site), l))
	return base64.StdEncoding.EncodeToString(data), err
}

// UnpackLaunch decodes a text that PackLaunch wrote.
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

// IsOurMark reports whether a key is reserved for Gridbid or for a GPU device plugin,
// so that a task may not set it. The key is that of a label, of an annotation, or of a
// Spark setting that creates one of those.
func IsOurMark(key string) bool {
	return slices.ContainsFunc([]string{"gridbid.io/", "hami.io/", "ALIYUN_COM_GPU", ".scheduler.name"}, func(mark string) bool { return strings.Contains(key, mark) })
}
