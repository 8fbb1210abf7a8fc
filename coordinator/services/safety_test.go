package services

import (
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// newest returns the newest division of a service.
func (f *federation) newest(id protocol.ServiceID) (d protocol.ServiceDivision) {
	for _, b := range f.said {
		if x, ok := b.(protocol.ServiceDivision); ok && x.Service == id && !x.Preview {
			d = x
		}
	}
	return d
}

// A spread that no division can keep places all replicas and says what it lacks; in a site that is in no region
// are none.
func TestASpreadThatCannotBeMetIsSaid(t *testing.T) {
	f := newFederation(t, map[string]int{"bern": 8, "lyon": 8, "oslo": 8}, "bern", "lyon", "oslo")
	f.sites[0].Location.Region, f.sites[1].Location.Region = "alps", "rhone"
	s := aService("llm", 6)
	s.Division.MinRegions = 3
	f.say(protocol.Submitter, protocol.SubmitService{Service: s})
	f.run(time.Minute)
	if d := f.newest("llm"); d.Pending != 0 || d.Lack.Code != protocol.TooFewReplicas || !strings.Contains(d.Lack.Note, "fewer sites, regions or providers") {
		t.Errorf("decision %+v", d)
	}
	if got := f.counts("llm"); got["bern"] != 3 || got["lyon"] != 3 || got["oslo"] != 0 {
		t.Errorf("divided %v", got)
	}
}

// A drained site keeps the replicas for which no other has room, and gives them up once one has.
func TestADrainStopsNothingThatFindsNoRoom(t *testing.T) {
	f := newFederation(t, map[string]int{"bern": 2, "oslo": 8}, "bern", "oslo")
	f.say(protocol.Submitter, protocol.SubmitService{Service: aService("full", 2)})
	f.run(time.Minute)
	s := aService("llm", 3)
	s.Sites = []string{"bern", "oslo"}
	f.gpus["bern"] = f.counts("full")["bern"] // it is full
	f.say(protocol.Submitter, protocol.SubmitService{Service: s})
	f.run(time.Minute)
	f.sites[1].Draining = true
	f.say(protocol.OperatorAPI, protocol.Drain{Site: "oslo"})
	f.run(time.Minute)
	if got := f.counts("llm"); got["oslo"] != 3 {
		t.Fatalf("drained, and no other site has room: %v", got)
	}
	f.gpus["bern"], f.sites[0].Pools[0].GPUs = f.gpus["bern"]+8, 16 // else its bid could not be true
	f.run(5 * time.Minute)
	if got := f.counts("llm"); got["bern"] != 3 || got["oslo"] != 0 {
		t.Errorf("another site has room: %v", got)
	}
}

// A scale-down leaves those that run, as long as others that it counts on do not.
func TestAScaleDownStopsNothingThatIsNeeded(t *testing.T) {
	f := newFederation(t, map[string]int{"bern": 4, "oslo": 4}, "bern", "oslo")
	f.starts["bern"] = true
	f.say(protocol.Submitter, protocol.SubmitService{Service: aService("llm", 6)})
	f.run(time.Minute)
	f.say(protocol.OperatorAPI, protocol.ScaleService{Service: "llm", Wanted: 3})
	f.run(time.Minute)
	if got := f.counts("llm"); got["oslo"] != 3 {
		t.Fatalf("none of bern's run: %v", got)
	}
	f.starts["bern"] = false
	f.say(protocol.AgentParty("bern"), f.status("bern", "llm"))
	f.run(time.Minute)
	if got := f.counts("llm"); got["bern"]+got["oslo"] != 3 {
		t.Errorf("bern's run: %v", got)
	}
}

// S3: a site says of 5 replicas that 4 run and 3 find no node, which cannot both be. It keeps the 4.
func TestASiteThatContradictsItselfKeepsWhatRuns(t *testing.T) {
	f := newFederation(t, map[string]int{"bern": 5, "oslo": 0}, "bern", "oslo")
	f.say(protocol.Submitter, protocol.SubmitService{Service: aService("llm", 5)})
	f.run(time.Minute)
	f.gpus["oslo"] = 9
	f.sites[1].Pools[0].GPUs = 9
	st := f.status("bern", "llm")
	st.Ready, st.Pending, st.Since = 4, 3, f.now
	f.mute["bern"] = true // its next bid is late, so this is what is known
	f.say(protocol.AgentParty("bern"), st)
	f.mute["bern"] = false
	for range 3 {
		f.run(time.Minute)
		f.say(protocol.AgentParty("bern"), st)
	}
	if got := f.newest("llm"); len(got.Sites) == 2 && got.Sites[0].Count < 4 {
		t.Errorf("decision %+v", got)
	}
}

// Anti-affinity holds against a deleted service that its site has not removed, and over a restart.
func TestAntiAffinityWaitsForARemoval(t *testing.T) {
	f := newFederation(t, map[string]int{"bern": 4}, "bern")
	apart := func(id string) protocol.Service { s := aService(id, 2); s.AntiAffinity = "db"; return s }
	f.say(protocol.Submitter, protocol.SubmitService{Service: apart("one")})
	f.run(time.Minute)
	f.mute["bern"] = true
	f.say(protocol.OperatorAPI, protocol.DeleteService{Service: "one"})
	f.say(protocol.Submitter, protocol.SubmitService{Service: apart("two")})
	again := New(Config{}, make(map[string]int))
	for _, m := range f.events {
		again.Restore(m)
	}
	f.it = again
	f.run(time.Minute)
	if d := f.newest("two"); d.Pending != 2 {
		t.Fatalf("bern has not removed the first: %+v", d)
	}
	f.mute["bern"] = false
	f.run(5 * time.Minute)
	if got := f.counts("two"); got["bern"] != 2 || f.counts("one")["bern"] != 0 {
		t.Errorf("bern has removed the first: %v", got)
	}
}
