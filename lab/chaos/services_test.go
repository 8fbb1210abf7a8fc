package chaos

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
)

// The replicas of a service stay where they are while the agent that holds them and the leader are
// killed with -9; what is asked of the next leader, and of the agent after its restart, is done; and a
// deleted service leaves all sites.
func TestServicesOutliveAgentAndLeader(t *testing.T) {
	if *long == 0 {
		t.Skip("no -chaos; make chaos runs it")
	}
	s := newTestbed(t, simulated)
	request := func(method, path, body string) (got jobstatus.Service) {
		t.Helper()
		s.wait(method+" "+path, time.Minute, func() bool {
			leader := s.leader()
			if leader < 0 {
				return false
			}
			code, err := ask(s.apis[leader], method, path, []byte(body), &got)
			if err == nil && code/100 == 4 {
				t.Fatalf("%s %s: %d", method, path, code)
			}
			return err == nil && code == http.StatusOK
		})
		return got
	}
	stands := func(what string, is func(jobstatus.Service) bool) (got jobstatus.Service) {
		t.Helper()
		s.wait(what, time.Minute, func() bool {
			got = request(http.MethodGet, "/v1/services/chat", "")
			return is(got)
		})
		return got
	}
	runs := func(n int) func(jobstatus.Service) bool {
		return func(x jobstatus.Service) bool { return x.Running == n && x.Wanted == n && x.Pending == 0 }
	}
	s.wait("all sites register", time.Minute, func() bool {
		var all []jobstatus.Site
		leader := s.leader()
		if leader < 0 {
			return false
		}
		_, err := ask(s.apis[leader], http.MethodGet, "/v1/sites", nil, &all)
		return err == nil && len(all) == len(s.sites)
	})
	request(http.MethodPost, "/v1/services", "id: chat\nreplicas: 8\ngpus: 1\ncpu: 2\ndivision: dynamic\n")
	before := stands("eight replicas run", runs(8))
	holder := -1
	for i, name := range s.sites {
		for _, x := range before.Sites {
			if x.Site == name && x.Running > 0 {
				holder = i
			}
		}
	}
	s.agents[holder].kill()
	s.coordinators[s.leader()].kill()
	s.agents[holder].start()
	after := stands("eight replicas run under the next leader", runs(8))
	if fmt.Sprint(after.Sites) != fmt.Sprint(before.Sites) {
		t.Errorf("replicas moved: %v; want %v", after.Sites, before.Sites)
	}
	request(http.MethodPost, "/v1/services/chat/scale?replicas=12", "")
	stands("twelve replicas run", runs(12))
	s.agents[holder].kill()
	request(http.MethodPost, "/v1/services/chat/scale?replicas=4", "")
	s.agents[holder].start()
	stands("four replicas run, also where the agent was away", runs(4))
	request(http.MethodDelete, "/v1/services/chat", "")
	s.wait("the service is gone", time.Minute, func() bool {
		var all []jobstatus.Service
		_, err := ask(s.apis[s.leader()], http.MethodGet, "/v1/services", nil, &all)
		return err == nil && len(all) == 0
	})
}
