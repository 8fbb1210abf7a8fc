package jobfile

import (
	"strings"
	"testing"
)

func TestATopologyIsThatOfTheJob(t *testing.T) {
	o, err := Parse("job.yaml", []byte(gangFile+"topology: {required: topology.kubernetes.io/zone}\n"))
	if j := o.SubmitAt(1).Job; err != nil || j.RequiredTopology != "topology.kubernetes.io/zone" || j.PreferredTopology != "" || j.InvalidReason() != "" {
		t.Errorf("the job is %+v: %v", j, err)
	}
	for _, c := range []struct{ text, want string }{
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
