package liveness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_773_230_400_000

// A room is a monitor with the messages that it hears.
type room struct {
	*Monitor
	now      protocol.Time
	told     []string
	suspects map[string]protocol.Time // of the market
}

func newRoom() *room { return &room{Monitor: New(2 * time.Second), now: noon} }

func (r *room) hear(site string, b protocol.Body) bool {
	s := protocol.Sender{Party: protocol.AgentParty(site)}
	return r.Receive(r.now, s.NewMessage(r.now, protocol.Coordinator, b))
}

// pass lets seconds pass, with a check each, and notes what is told.
func (r *room) pass(seconds int, beating ...string) {
	for range seconds {
		r.now = r.now.Add(time.Second)
		for _, site := range beating {
			r.hear(site, protocol.Heartbeat{Every: 2 * time.Second})
		}
		r.check()
	}
}

func (r *room) check() {
	for _, c := range r.Changes(r.now, r.suspects) {
		r.told = append(r.told, fmt.Sprintf("%s %s since +%v", c.Site, c.State, c.Since.Sub(noon)))
	}
}

func (r *room) want(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(r.told, "; "); got != strings.Join(want, "; ") {
		t.Errorf("told: %s\nwant: %s", got, strings.Join(want, "; "))
	}
}

func TestASiteThatStopsIsSilentOnceAndBackOnce(t *testing.T) {
	r := newRoom()
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	r.pass(3, "oslo")
	r.pass(30)
	r.pass(30, "oslo")
	r.want(t, "oslo ok since +1s", "oslo silent since +3s", "oslo ok since +34s")
}

// It is told within ten seconds of the last message.
func TestSilenceIsToldInTime(t *testing.T) {
	r := newRoom()
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	r.pass(1, "oslo")
	r.pass(7)
	r.want(t, "oslo ok since +1s", "oslo silent since +1s")
}

// An agent that is killed at once has sent one heartbeat, which may arrive before its registration.
func TestAHeartbeatMayOvertakeTheRegistration(t *testing.T) {
	r := newRoom()
	r.hear("oslo", protocol.Heartbeat{Every: 2 * time.Second})
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	r.pass(8)
	r.want(t, "oslo ok since +0s", "oslo silent since +1s") // it began to listen with its first check
}

func TestAnAgentThatSendsNoHeartbeatsIsNotJudged(t *testing.T) {
	r := newRoom()
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	r.pass(60)
	r.want(t)
	if r.LastSeen("oslo") != noon {
		t.Errorf("heard at %v; want %v", r.LastSeen("oslo"), noon)
	}
}

func TestStaleSignalsAreToldWithTheirReason(t *testing.T) {
	r := newRoom()
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	r.hear("oslo", protocol.Heartbeat{Every: 2 * time.Second, Stale: protocol.Reason{Code: protocol.SignalsOld, Note: "price"}})
	r.check()
	r.pass(2, "oslo")
	r.want(t, "oslo signals stale since +0s", "oslo ok since +1s")
}

// A second signal that becomes stale is told, and the state goes on.
func TestMoreStaleSignalsAreNoNewState(t *testing.T) {
	r := newRoom()
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	for _, note := range []string{"price", "price; carbon"} {
		r.hear("oslo", protocol.Heartbeat{Every: 2 * time.Second, Stale: protocol.Reason{Code: protocol.SignalsOld, Note: note}})
		r.check()
		r.now = r.now.Add(time.Second)
	}
	r.want(t, "oslo signals stale since +0s", "oslo signals stale since +0s")
}

// The coordinator's process was stopped, or its machine slept.
func TestACoordinatorThatDidNotRunBlamesNobody(t *testing.T) {
	r := newRoom()
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	r.pass(3, "oslo")
	r.now = r.now.Add(time.Hour)
	r.check()
	r.pass(5)
	r.want(t, "oslo ok since +1s")
	r.pass(3)
	r.want(t, "oslo ok since +1s", "oslo silent since +1h0m3s")
}

// The next leader knows which sites send heartbeats, and since when one is silent.
func TestTheNextLeaderGoesOn(t *testing.T) {
	r := newRoom()
	s := protocol.Sender{Party: protocol.SiteMonitor}
	for _, c := range []protocol.SiteCondition{
		{Site: "bern", State: protocol.SiteOK, Since: noon.Add(-time.Hour)},
		{Site: "oslo", State: protocol.SiteSilent, Since: noon.Add(-time.Hour), Why: protocol.Reason{Code: protocol.NoHeartbeat}},
		{Site: "lyon", State: protocol.SiteOK, Since: noon.Add(-time.Hour)},
	} {
		r.Restore(s.NewMessage(noon, protocol.Coordinator, c))
	}
	r.pass(9, "bern")
	r.want(t, "lyon silent since +1s")
}

// When a site was seen last is what this leader heard, or not known: the patience that a leader
// has with sites after it took over, or after it did not run, is no sign of life.
func TestLastSeenIsHeardOrUnknown(t *testing.T) {
	r := newRoom()
	s := protocol.Sender{Party: protocol.SiteMonitor}
	for _, site := range []string{"bern", "oslo"} {
		r.Restore(s.NewMessage(noon, protocol.Coordinator, protocol.SiteCondition{Site: site, State: protocol.SiteOK, Since: noon}))
	}
	r.pass(5, "bern")
	seen := r.LastSeen("bern")
	if seen != r.now || r.LastSeen("oslo") != 0 {
		t.Errorf("bern was seen at %v and oslo at %v; want %v and never", seen, r.LastSeen("oslo"), r.now)
	}
	r.now = r.now.Add(time.Hour)
	r.check()
	if got := r.LastSeen("bern"); got != seen {
		t.Errorf("after an hour in which the coordinator did not run, bern was seen at %v; want %v", got, seen)
	}
}

// A site of any name may send anything: what is not registered costs little, and no site
// speaks for another, or puts off its own silence.
func TestStrangersAreNotWatched(t *testing.T) {
	r := newRoom()
	if !r.hear("mars", protocol.Heartbeat{Every: time.Second}) || len(r.sites) != 0 {
		t.Errorf("a stranger's heartbeat: %d sites are watched", len(r.sites))
	}
	for i := range 2 * maxEarly {
		r.hear(fmt.Sprint("mars-", i), protocol.Heartbeat{Every: time.Second})
	}
	if len(r.early) > maxEarly {
		t.Errorf("of strangers %d heartbeats are kept", len(r.early))
	}
	r.hear("bern", protocol.RegisterSite{Site: "oslo"})
	if len(r.sites) != 0 {
		t.Error("bern registered oslo")
	}
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	r.hear("oslo", protocol.Heartbeat{Every: 1000 * time.Hour})
	r.check()
	r.pass(70)
	r.want(t, "oslo ok since +0s", "oslo silent since +0s")
}

// The market does not wait for a site that missed a round. That it lives after all is told once it
// is heard, and not before; of a site that is waited for, or silent, nothing is told.
func TestASuspectThatIsHeardIsToldOf(t *testing.T) {
	r := newRoom()
	for _, site := range []string{"lyon", "oslo"} {
		r.hear(site, protocol.RegisterSite{Site: site})
	}
	r.pass(3, "lyon", "oslo")
	r.suspects = map[string]protocol.Time{"oslo": r.now}
	r.pass(2, "lyon")
	r.want(t, "lyon ok since +1s", "oslo ok since +1s")
	r.pass(1, "lyon", "oslo")
	r.want(t, "lyon ok since +1s", "oslo ok since +1s", "oslo ok since +1s")
	r.suspects = nil // the market was told
	r.pass(3, "lyon", "oslo")
	r.suspects = map[string]protocol.Time{"oslo": r.now}
	r.pass(8, "lyon")
	r.want(t, "lyon ok since +1s", "oslo ok since +1s", "oslo ok since +1s", "oslo silent since +9s")
}

// A coordinator that did not run has heard nobody meanwhile.
func TestAPauseOfTheCoordinatorClearsNoSuspect(t *testing.T) {
	r := newRoom()
	r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
	r.pass(3, "oslo")
	r.suspects = map[string]protocol.Time{"oslo": r.now}
	r.now = r.now.Add(time.Minute)
	r.pass(3)
	r.want(t, "oslo ok since +1s")
}

// Whatever is lost or late: ok and silent alternate, a site that is heard within its time is
// never silent, and one that is not is.
func TestSilentMeansNotHeard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRoom()
		r.hear("oslo", protocol.RegisterSite{Site: "oslo"})
		last, state := protocol.Time(0), protocol.SiteState("")
		for range rapid.IntRange(1, 60).Draw(t, "seconds") {
			r.now = r.now.Add(time.Second)
			if rapid.Bool().Draw(t, "beats") {
				r.hear("oslo", protocol.Heartbeat{Every: 2 * time.Second})
				last = r.now
			}
			all := r.Changes(r.now, r.suspects)
			for _, c := range all {
				if c.State == state {
					t.Fatalf("told twice: %+v", c)
				}
				state = c.State
			}
			if last == 0 {
				continue
			}
			if silent := r.now.Sub(last) > 6*time.Second; silent != (state == protocol.SiteSilent) {
				t.Fatalf("%v after its last heartbeat the site is %q", r.now.Sub(last), state)
			}
		}
	})
}
