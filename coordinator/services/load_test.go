package services

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// aLoad returns a service of 60 requests per second, of which a replica serves ten.
func aLoad(id string) protocol.Service {
	s := aService(id, 0)
	s.Division, s.Load, s.Variants = protocol.Division{}, 60_000, []protocol.Variant{{Model: "V100", Goodput: 10_000}}
	return s
}

// newLoads returns a federation that serves loads: b is dearer than a.
func newLoads(t *testing.T, gpus map[string]int) *federation {
	f := newFederation(t, gpus, "a", "b")
	f.rows = func(site string, row *protocol.ReplicaBid) {
		if f.held[site][row.Service].Count > 0 {
			row.HeldServes = 10_000
		}
		for i := range row.Steps {
			row.Steps[i].Serves = 10_000
			if site == "b" {
				row.Steps[i].Cost = 9
			}
		}
	}
	return f
}

func TestALoadSaysHowManyReplicasThereAre(t *testing.T) {
	f := newLoads(t, map[string]int{"a": 4, "b": 5})
	f.say(protocol.Submitter, protocol.SubmitService{Service: aLoad("chat")})
	f.run(time.Minute)
	if got := f.counts("chat"); !reflect.DeepEqual(got, map[string]int{"a": 4, "b": 2}) {
		t.Errorf("the load is served by %v; want 4 at a and 2 at b", got)
	}
	if b := f.newest("chat"); b.Wanted != 6 || b.Pending != 0 {
		t.Errorf("the decision says %+v; want 6 wanted, none pending", b)
	}
	more := aLoad("chat")
	more.Load = 120_000
	f.say(protocol.Submitter, protocol.SubmitService{Service: more})
	f.run(time.Minute)
	if b := f.newest("chat"); b.Wanted != 12 || b.Pending != 3 || !strings.Contains(b.Lack.Note, "12 wanted, 9 fit") {
		t.Errorf("twice the load: %+v; want 12 wanted, 3 pending for want of room", b)
	}
	f.say(protocol.OperatorAPI, protocol.ScaleService{Service: "chat", Wanted: 1})
	f.run(time.Minute)
	if f.it.counts["scale-of-a-load"] != 1 || f.newest("chat").Wanted != 12 {
		t.Errorf("it was scaled by hand: %+v, %v", f.newest("chat"), f.it.counts)
	}
	restored := New(Config{}, make(map[string]int))
	for _, m := range f.events {
		restored.Restore(m)
	}
	if s := restored.all["chat"]; s.wanted() != 12 || s.pending != 3 {
		t.Errorf("after a restart %d are wanted and %d pending; want 12 and 3", s.wanted(), s.pending)
	}
}

// A site that says that its replicas serve more than any can, or nothing, is not heard on that service.
func TestNoSiteServesMoreThanAReplicaCan(t *testing.T) {
	for _, says := range []protocol.Milli{0, 10_001} {
		f := newLoads(t, map[string]int{"a": 9, "b": 9})
		honest := f.rows
		f.rows = func(site string, row *protocol.ReplicaBid) {
			if honest(site, row); site == "a" {
				row.Steps[0].Serves = says
			}
		}
		f.say(protocol.Submitter, protocol.SubmitService{Service: aLoad("chat")})
		f.run(time.Minute)
		if got := f.counts("chat"); !reflect.DeepEqual(got, map[string]int{"b": 6}) || f.it.counts["impossible-capacity-bid"] == 0 {
			t.Errorf("a site says that a replica serves %d: %v, %v; want all at the other", says, got, f.it.counts)
		}
	}
}

// A site that does not answer serves with what it has.
func TestASilentSiteServesWhatItHolds(t *testing.T) {
	f := newLoads(t, map[string]int{"a": 4, "b": 9})
	f.say(protocol.Submitter, protocol.SubmitService{Service: aLoad("chat")})
	f.run(time.Minute)
	f.mute["a"] = true
	more := aLoad("chat")
	more.Load = 70_000
	f.say(protocol.Submitter, protocol.SubmitService{Service: more})
	f.run(time.Minute)
	if got := f.counts("chat"); !reflect.DeepEqual(got, map[string]int{"a": 4, "b": 3}) {
		t.Errorf("a is silent: %v; want its 4, and 3 at b", got)
	}
	less := aLoad("chat")
	less.Load = 20_000
	f.say(protocol.Submitter, protocol.SubmitService{Service: less})
	f.run(time.Minute)
	f.mute["a"] = false
	f.run(5 * time.Minute)
	f.want("chat", map[string]int{"a": 2}) // it is looked at again, as a kept too many
}

// A site that has just started again has not placed what it holds: that serves the least that it may, and stays.
func TestWhatASiteHasNotPlacedYetServes(t *testing.T) {
	f := newLoads(t, map[string]int{"a": 4, "b": 9})
	f.say(protocol.Submitter, protocol.SubmitService{Service: aLoad("chat")})
	f.run(time.Minute)
	honest := f.rows
	f.rows = func(site string, row *protocol.ReplicaBid) {
		if honest(site, row); site == "a" {
			row.HeldCost, row.HeldServes = 0, 0
		}
	}
	more := aLoad("chat")
	more.Load = 70_000
	f.say(protocol.Submitter, protocol.SubmitService{Service: more})
	f.run(time.Minute)
	f.want("chat", map[string]int{"a": 4, "b": 3})
}

// noRoom is quotas that leave room for so many GPUs.
type noRoom protocol.Milli

func (r noRoom) RoomFor(*protocol.Service) (protocol.Milli, bool) { return protocol.Milli(r), true }
func (r noRoom) Take(*protocol.Service, protocol.Milli)           {}
func (r noRoom) WithinBudgets(_ *protocol.Service, _, _ protocol.Usage, most int) (int, protocol.Reason) {
	return most, protocol.Reason{}
}

func TestALoadKeepsToItsQuotaAndItsMax(t *testing.T) {
	for _, tc := range []struct {
		room, most, want int
		lack             protocol.Code
	}{{0, 0, 0, protocol.OverQuota}, {4, 0, 4, protocol.OverQuota}, {4, 3, 3, protocol.TooFewReplicas}, {9, 0, 6, ""}} {
		f := newLoads(t, map[string]int{"a": 9, "b": 9})
		f.it.LimitBy(func(protocol.Time) QuotaRoom { return noRoom(1000 * tc.room) })
		s := aLoad("chat")
		s.Max = tc.most
		f.say(protocol.Submitter, protocol.SubmitService{Service: s})
		f.run(30 * time.Second)
		if b, got := f.newest("chat"), f.counts("chat")["a"]; got != tc.want || b.Pending != 6-tc.want || b.Lack.Code != tc.lack {
			t.Errorf("a quota of %d and a max of %d: %d run, %+v; want %d, the others waiting for %q", tc.room, tc.most, got, b, tc.want, tc.lack)
		}
	}
}
