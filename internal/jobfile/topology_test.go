package jobfile

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

func TestATopologyIsThatOfTheJob(t *testing.T) {
	o, err := Parse("job.yaml", []byte(gangFile+"topology: {required: topology.kubernetes.io/zone}\n"))
	if j := o.SubmitAt(1).Job; err != nil || j.RequiredTopology != "topology.kubernetes.io/zone" || j.PreferredTopology != "" || j.InvalidReason() != "" {
		t.Errorf("the job is %+v: %v", j, err)
	}
	o, err = Parse("job.yaml", []byte(strings.Replace(gangFile, "min_available: 5\n", "topology: {required: zone, for: 2h}\n", 1)))
	if j := o.SubmitAt(1).Job; err != nil || j.RequiredFor != 2*time.Hour {
		t.Errorf("the job is %+v: %v", j, err)
	}
	grouped := func(groups string) string {
		return strings.Replace(gangFile, "    models: [H100]\n", "    models: [H100]\n    groups: "+groups+"\n", 1)
	}
	o, err = Parse("job.yaml", []byte(grouped("[{level: rack, pods: 4}, {level: kubernetes.io/hostname, pods: 2}]")))
	if j := o.SubmitAt(1).Job; err != nil || len(j.Groups) != 2 || j.Groups[1] != (protocol.PodGroup{Component: 1, Level: "kubernetes.io/hostname", Pods: 2}) {
		t.Errorf("the job is %+v: %v", j, err)
	}
	for _, c := range []struct{ text, want string }{
		{grouped("[{level: rack, pods: 3}]"), "job.yaml:6: components/1/groups.pods: 3; want a divisor of 4"},
		{grouped("[{level: rack, pods: 2}, {level: host, pods: 4}]"), "components/1/groups.pods: 4; want a divisor of 2"},
		{grouped("[{level: rack}]"), "job.yaml:12: components/1/groups/0"},
		{grouped("[{level: 'a b', pods: 2}]"), "job.yaml:12: components/1/groups/0/level: "},
		{strings.Replace(grouped("[{level: rack, pods: 2}]"), "min_available: 5", "min_available: 3", 1), "min_available: the job has groups of pods"},
		{gangFile + "topology: {preferred: rack, for: 2h}\n", "topology.for: how long a topology is required, and none is"},
		{gangFile + "topology: {required: rack, for: 900h}\n", "topology.for: want more than 0s"},
		{gangFile + "topology: {required: zone, preferred: rack}\n", "job.yaml:13: topology: "},
		{gangFile + "topology: {}\n", "job.yaml:13: topology: "},
		{gangFile + "topology: {required: 'a b'}\n", "job.yaml:13: topology/required: "},
		{gangFile + "topology: {preferred: /rack}\n", "want the key of a node label"},
		{"id: one\nrun: 1h\ngpus: 2\ntopology: {required: rack}\n", "job.yaml:4: topology: is that of a job of one pod"},
		{"id: one\nrun: 1h\ncomponents: [{gpus: 2}]\ntopology: {required: rack}\n", "job.yaml:4: topology: is that of a job of one pod"},
	} {
		if _, err := Parse("job.yaml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n gives %v; want %q", c.text, err, c.want)
		}
	}
}
