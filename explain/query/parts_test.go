package query

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A question about a job in parts is answered for all of its parts, by its own name, and what it cost in sum.
func TestAJobInPartsIsAnsweredByItsParts(t *testing.T) {
	s := &runBuilder{now: noon}
	for _, site := range []string{"oslo", "rome"} {
		s.addRegistration(site)
	}
	j := task("wide", "lab").WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 1, Share: 1000, CPU: 1000}})
	j, _ = j.WithEqualParts(2)
	j.MaxSites = 2
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	parts := j.PartJobs()
	s.addCall(1, parts...)
	for i, site := range []string{"oslo", "rome"} {
		o := option(0, 5, 5)
		s.addOffer(site, 1, parts[i].ID, "", o)
		s.addAward(site, 1, parts[i], o, "n1", []int{0}, time.Hour)
	}
	for question, want := range map[string][]string{
		"where did wide run":   {"Job wide has 2 parts", "Job wide.1 ran at oslo", "Job wide.2 ran at rome"},
		"what did wide cost":   {"wide.1", "wide.2", "All parts together took"},
		"why did wide wait":    {"Job wide.1 waited", "Job wide.2 waited"},
		"where did wide.2 run": {"Job wide.2 ran at rome"},
	} {
		a := s.buildDataset().AnswerQuestion(question)
		text := strings.Join(a.Text, " ")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %s %q; want %q", question, a.Kind, a.Text, w)
			}
		}
	}
}
