package jobfile

import (
	"encoding/json"
	"fmt"

	"github.com/gridbid/gridbid/protocol"
)

// taskThatResizes returns why the task of an elastic job cannot run on another number of pods on a
// cluster, or "": only a Job gets its number from what the job was awarded, and it must not name one.
func taskThatResizes(t protocol.Task) (why string) {
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Spec       struct {
			Parallelism *float64 `json:"parallelism"`
			Completions *float64 `json:"completions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal([]byte(t), &object); err != nil {
		return fmt.Sprintf("is no Kubernetes object in JSON: %v", err)
	}
	const stated = "says spec.%s: %v, and the job is elastic: leave it out, as the job runs on the number of pods that it is awarded"
	switch {
	case object.APIVersion != "batch/v1" || object.Kind != "Job":
		return fmt.Sprintf("is a %q of %q, whose number of pods cannot change on a cluster, and the job is elastic: give it a Job of batch/v1, or drop speed", object.Kind, object.APIVersion)
	case object.Spec.Parallelism != nil:
		return fmt.Sprintf(stated, "parallelism", *object.Spec.Parallelism)
	case object.Spec.Completions != nil:
		return fmt.Sprintf(stated, "completions", *object.Spec.Completions)
	}
	return ""
}
