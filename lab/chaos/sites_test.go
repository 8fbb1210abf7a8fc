package chaos

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/protocol"
)

// What happens to a site is seen rightly however one looks, and so is its return: an agent that is
// killed with -9, one that runs on while its connection is cut, a drain, and a revocation; by the
// next leader, too, which began with the event log.
func TestWhatHappensToASiteIsSeenEverywhere(t *testing.T) {
	if *long == 0 {
		t.Skip("no -chaos; make chaos runs it")
	}
	f := newWrittenFederation(t)
	oslo := f.addSite("oslo", "wind-coast")
	f.addSite("bern", "hydro-north")
	lyon := f.addSite("lyon", "solar-south")
	line := newProxy(t, f.hubAt)
	f.rewrite(f.memberFile("bern", "nats.yaml"), f.hubAt, line.listener.Addr().String())
	for _, p := range f.agents {
		p.start()
	}
	f.awaitSites(3)
	const ok, silent, draining, revoked = protocol.SiteOK, protocol.SiteSilent, protocol.SiteDraining, protocol.SiteRevoked
	type states = map[string]protocol.SiteState
	well := states{"oslo": ok, "bern": ok, "lyon": ok}
	f.awaitStandings("three sites joined", well, f.mark(), well)

	at := f.mark()
	oslo.kill()
	killed := protocol.FromStdTime(time.Now())
	line.set(true)
	f.operate("drain", "lyon", "--reason", "switches")
	broken := states{"oslo": silent, "bern": silent, "lyon": draining}
	was := f.awaitStandings("an agent is killed, one is cut off, one drains", well, at, broken)

	at = f.mark()
	f.coordinators[0].kill()
	f.coordinators[0].start()
	f.awaitSites(3)
	now := f.awaitStandings("another leader", well, at, broken)
	if !maps.Equal(now, was) {
		t.Errorf("the next leader shows %v; want %v", now, was)
	}
	if s := f.site("oslo"); s.LastMessage > killed {
		t.Errorf("oslo was killed at %v and last seen at %v", killed, s.LastMessage)
	}

	at = f.mark()
	oslo.start()
	line.set(false)
	f.operate("drain", "lyon", "--over")
	f.awaitStandings("all are back", broken, at, well)

	at = f.mark()
	f.federation("revoke-site", "lyon", "--reason", "stolen")
	gone := states{"oslo": ok, "bern": ok, "lyon": revoked}
	f.awaitStandings("a site is revoked", well, at, gone)
	f.wait("the hub refuses the revoked keys", patience, func() bool {
		return protocol.FromStdTime(time.Now()).Sub(f.site("lyon").LastMessage) > 8*time.Second // four heartbeats
	})
	f.awaitStandings("the revoked site sends no more", gone, at, gone)

	at = f.mark()
	lyon.kill()
	f.addSite("lyon", "solar-south").start() // with new keys
	f.awaitStandings("the site is admitted once more", gone, at, well)
}

// site returns a site as the API shows it.
func (f *writtenFederation) site(name string) jobstatus.Site {
	f.Helper()
	var all []jobstatus.Site
	code, err := ask(f.api, http.MethodGet, "/v1/sites", nil, &all)
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	f.must(fmt.Errorf("/v1/sites has no %s: %d, %v", name, code, err))
	return jobstatus.Site{}
}
