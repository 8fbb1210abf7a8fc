package jobfile

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

const dividedFile = `id: wide
run: 2h
components:
  - {role: head, cpu: 4, memory: 16, part: left}
  - {role: worker, pods: 4, gpus: 8, cpu: 32, memory: 256, part: left}
  - {role: far, pods: 4, gpus: 8, cpu: 32, memory: 256, part: right}
sites: {max: 2}
`

func TestPartsOfAJobFile(t *testing.T) {
	o, err := Parse("job.yaml", []byte(dividedFile))
	if err != nil {
		t.Fatal(err)
	}
	j := o.SubmitAt(1).Job
	parts := j.PartJobs()
	if j.MaxSites != 2 || len(parts) != 2 || parts[0].ID != "wide.left" || parts[0].PodCount() != 5 || parts[1].ID != "wide.right" || parts[1].GPUs != 32 || j.InvalidReason() != "" {
		t.Errorf("the job is %+v: %s", j, j.InvalidReason())
	}
	equal := "id: wide\nrun: 2h\ncomponents: [{pods: 8, gpus: 8, cpu: 32, memory: 256}]\n"
	if o, err = Parse("job.yaml", []byte(equal+"sites: {max: 2, parts: 4}\n")); err != nil || len(o.SubmitAt(1).Job.Parts) != 4 {
		t.Errorf("four equal parts: %+v, %v", o, err)
	}
	one, err := Parse("job.yaml", []byte(equal+"sites: {max: 1, parts: 4}\n"))
	plain, _ := Parse("job.yaml", []byte(equal))
	if a, b := encoded(t, one), encoded(t, plain); err != nil || a != b {
		t.Errorf("a job at one site is sent as\n%q, without sites as\n%q: %v", a, b, err)
	}
	if strings.Contains(encoded(t, plain), "\xa2ms") || protocol.MaxParts != 8 {
		t.Error("a job at one site says something of sites, or the schema has another bound than the protocol")
	}
}

func TestErrorsOfPartsNameFileLineAndField(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"max: 2", "max: 3", "job.yaml:7: sites/max: is 3, and the job has 2 parts"},
		{"max: 2", "max: 0", "job.yaml:7: sites/max"},
		{"max: 2", "max: 2, parts: 2", "job.yaml:7: sites/parts: is given together"},
		{"sites: {max: 2}", "", "job.yaml:4: components/0/part"},
		{", part: right", "", "job.yaml:6: components/2: names no part"},
		{", part: left", "", "job.yaml:5: components/1/part: is a part"},
		{"part: right", "part: 'r/2'", "job.yaml:6: components/2/part"},
	} {
		text := strings.Replace(dividedFile, tc.from, tc.to, 1)
		if _, err := Parse("job.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q for %q: %v; want %q", tc.to, tc.from, err, tc.want)
		}
	}
	odd := "id: wide\nrun: 2h\ncomponents: [{pods: 9, gpus: 8, cpu: 32, memory: 256}]\nsites: {max: 2, parts: 2}\n"
	for text, want := range map[string]string{
		odd: "job.yaml:4: sites/parts: is 2, which does not divide",
		strings.Replace(odd, ", parts: 2", "", 1):                "job.yaml:4: sites/max: is 2, and the job has no parts",
		"id: one\nrun: 1h\ngpus: 1\nsites: {max: 2, parts: 2}\n": "job.yaml:4: sites: is that of a job of one pod",
	} {
		if _, err := Parse("job.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
