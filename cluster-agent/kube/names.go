package kube

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/protocol"
)

// What is written on objects.
const (
	// Scheduler is the schedulerName of our pods.
	Scheduler = "gridbid"

	LabelSite  = "gridbid.io/site"  // on objects and pods: whose hands made it
	LabelRun   = "gridbid.io/run"   // on objects and pods: job and epoch
	LabelQueue = "gridbid.io/queue" // on suspended Jobs: to be sold

	// TaintOwned is on nodes that are one site's alone; its value names the site.
	TaintOwned = "gridbid.io/owned"

	NoteLaunch  = "gridbid.io/launch"         // on objects: the launch, as it travels
	NoteJob     = "gridbid.io/job"            // on objects and pods: the job's id
	NoteDevices = "gridbid.io/devices"        // on pods: device indexes, "0,3"
	NoteMilli   = "gridbid.io/gpu-milli"      // on pods and tasks: thousandths of each device
	NoteMemory  = "gridbid.io/gpu-memory-mib" // on pods and tasks: MiB of each device

	// On tasks that name a Job which is there already:
	NoteRelease = "gridbid.io/release"        // its UID: it is suspended, and is let go
	NoteKueue   = "gridbid.io/kueue-workload" // the Workload for which Kueue makes it, and lets it go
)

// objectName names the object of a run. Controllers name Services after theirs, or
// want one that a Service could have, which begins with a letter: a PyTorchJob, a JobSet
// or a RayJob that begins with a digit is refused, or never has pods. Runs are named as
// before: hands find by that what older ones made.
func objectName(run string) string {
	if run[0] >= 'a' {
		return run
	}
	return "r" + run
}

// runName names a job's epoch. Ids of jobs are free text, so the
// name carries a hash of it.
func runName(id protocol.JobID, epoch uint64) string {
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

// pack writes a launch as text, and unpack reads it.
func pack(site string, l protocol.Launch) (string, error) {
	l.Task = "" // the object itself
	m := protocol.Mouth{Who: protocol.Agent(site)}
	data, err := protocol.Encode(m.Say(1, protocol.Hands(site), l))
	return base64.StdEncoding.EncodeToString(data), err
}

func unpack(text string) (protocol.Launch, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return protocol.Launch{}, fmt.Errorf("kube: annotation %s: %w", NoteLaunch, err)
	}
	m, err := protocol.Decode(data)
	if err != nil {
		return protocol.Launch{}, fmt.Errorf("kube: annotation %s: %w", NoteLaunch, err)
	}
	l, ok := m.Body.(protocol.Launch)
	if !ok {
		return l, fmt.Errorf("kube: annotation %s holds a %s", NoteLaunch, m.Kind())
	}
	return l, nil
}
