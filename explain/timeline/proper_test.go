package timeline_test

import (
	"testing"
	"time"

	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// What a site says in another's name is on no page.
func TestASiteSaysNothingInTheCoordinatorsName(t *testing.T) {
	day := historytest.GenerateDay(4, 10*time.Minute)
	want := read(day)
	_, last := want.TimeSpan()
	rome := protocol.Sender{Party: "agent/rome"}
	for _, lie := range []protocol.Body{protocol.Reject{Job: "job-00000"}, protocol.Award{Job: "job-00000", Epoch: 9}, protocol.RegisterSite{Site: "oslo"}, protocol.Submit{Job: protocol.Job{ID: "x"}}} {
		d := read(append(day[:len(day):len(day)], rome.NewMessage(last, protocol.Coordinator, lie)))
		if got, was := d.InstantAt(last), want.InstantAt(last); got.Refused != 0 || got.Done != was.Done || got.Decisions != was.Decisions || got.Sites[1].GPUs != was.Sites[1].GPUs || got.Pending != was.Pending {
			t.Errorf("after %T of a site the page shows %+v; want %+v", lie, got, was)
		}
	}
}
