package leader_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/protocol"
)

// A buffer takes log lines of several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// get reads JSON from the coordinator's API, and returns the status code.
func (c *coordinator) get(t *testing.T, path string, out any) int {
	t.Helper()
	answer, err := http.Get(c.http.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
			t.Fatal(err)
		}
	}
	return answer.StatusCode
}

// awaitSite waits until the only site is in a state, and returns it.
func (c *coordinator) awaitSite(t *testing.T, want protocol.SiteState) jobstatus.Site {
	t.Helper()
	var all []jobstatus.Site
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		all = nil // Decode leaves what a field held before
		if c.get(t, "/v1/sites", &all); len(all) == 1 && all[0].State == want {
			return all[0]
		}
	}
	t.Fatalf("the site is not %q: %+v", want, all)
	return jobstatus.Site{}
}

// beat sends heartbeats of oslo until the returned function is called.
func beat(t *testing.T, port bus.Conn, sender *protocol.Sender) (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				m := sender.NewMessage(protocol.FromStdTime(time.Now()), protocol.Coordinator, protocol.Heartbeat{Every: 200 * time.Millisecond})
				if port.Send(t.Context(), m) != nil {
					return
				}
			}
		}
	}()
	return func() { close(stop); <-done }
}

// A site that stops is silent, is so for the next leader too, and is back when it is heard: in the
// API, in the events and in the log. Its heartbeats move when it was heard, and no more.
func TestASiteThatStopsIsSilentUntilItIsHeard(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	log := new(buffer)
	first := start(t, &srv.Bus, held, slog.NewTextHandler(log, nil))
	first.leads(t)
	port, err := srv.Connect(t.Context(), "agent/oslo")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	go func() {
		for range port.Messages() {
		}
	}()
	sender := &protocol.Sender{Party: "agent/oslo"}
	if err := port.Send(t.Context(), sender.NewMessage(protocol.FromStdTime(time.Now()), protocol.Coordinator, protocol.RegisterSite{Site: "oslo"})); err != nil {
		t.Fatal(err)
	}
	stop := beat(t, port, sender)
	first.knowsSite(t, "oslo")
	heard := first.awaitSite(t, protocol.SiteOK).LastMessage
	for end := time.Now().Add(time.Minute); first.awaitSite(t, protocol.SiteOK).LastMessage == heard; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("heartbeats do not move when the site was heard")
		}
	}
	time.Sleep(1500 * time.Millisecond) // until the monitor has told that it sends heartbeats
	stop()
	silent := first.awaitSite(t, protocol.SiteSilent)
	if silent.Why != protocol.NoHeartbeat || silent.Since > silent.LastMessage {
		t.Errorf("silent since %v for %q, heard at %v", silent.Since, silent.Why, silent.LastMessage)
	}

	first.end()
	second := start(t, &srv.Bus, held, slog.NewTextHandler(log, nil))
	second.leads(t)
	if s := second.awaitSite(t, protocol.SiteSilent); s.Since != silent.Since {
		t.Errorf("the next leader shows silence since %v; want %v", s.Since, silent.Since)
	} else if s.LastMessage != 0 {
		t.Errorf("the next leader shows oslo as seen at %v; it has heard nothing of it", s.LastMessage)
	}
	for end := time.Now().Add(time.Minute); strings.Count(log.String(), "site is silent") < 2 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond) // the next leader logs it too
	}
	stop = beat(t, port, sender)
	second.awaitSite(t, protocol.SiteOK)
	time.Sleep(1500 * time.Millisecond) // until that is logged
	stop()
	var events []jobstatus.SiteEvent
	second.get(t, "/v1/events?site=oslo&since=1h", &events)
	var states []string
	for _, e := range events {
		if e.Kind == "state" {
			states = append(states, string(e.State))
		}
	}
	if got := strings.Join(states, " "); !strings.HasPrefix(got, "silent ok") {
		t.Errorf("events: %+v", events)
	}
	for _, want := range []string{"level=WARN msg=\"site is silent\" site=oslo", "level=INFO msg=\"site is ok again\" site=oslo"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	if code := second.get(t, "/v1/events?site=rome", &events); code != http.StatusNotFound {
		t.Errorf("events of an unknown site: %d", code)
	}
	if code := second.get(t, "/v1/events?since=noon", &events); code != http.StatusBadRequest {
		t.Errorf("events since noon: %d", code)
	}
}

// What an operator does to a site has a name and a reason, and a drain may end by itself.
func TestAnOperatorsActHasANameAndAReason(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	c := start(t, &srv.Bus, held)
	c.leads(t)
	port, err := srv.Connect(t.Context(), "agent/oslo")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	sender := protocol.Sender{Party: "agent/oslo"}
	if err := port.Send(t.Context(), sender.NewMessage(protocol.FromStdTime(time.Now()), protocol.Coordinator, protocol.RegisterSite{Site: "oslo"})); err != nil {
		t.Fatal(err)
	}
	c.knowsSite(t, "oslo")
	for _, x := range []struct {
		path  string
		code  int
		state protocol.SiteState
		note  string
	}{
		{"drain?by=ada&why=switches&until=2h", http.StatusOK, protocol.SiteDraining, "switches"},
		{"drain?by=ada&until=yesterday", http.StatusBadRequest, protocol.SiteDraining, "switches"},
		{"drain?by=ada&over=true&until=2h", http.StatusBadRequest, protocol.SiteDraining, "switches"},
		{"drain?by=ada&over=true", http.StatusOK, protocol.SiteOK, ""},
		{"drain?by=ada&why=short&until=1s", http.StatusOK, protocol.SiteDraining, "short"},
		{"", 0, protocol.SiteOK, ""}, // it ends by itself
		{"revoked?why=stolen", http.StatusBadRequest, protocol.SiteOK, ""},
		{"revoked?by=ben&why=stolen", http.StatusOK, protocol.SiteRevoked, "stolen"},
		{"gone?by=ben&why=sold", http.StatusOK, protocol.SiteRemoved, "sold"},
	} {
		if x.path != "" {
			answer, err := http.Post(c.http.URL+"/v1/sites/oslo/"+x.path, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != x.code {
				t.Errorf("%s: %d; want %d", x.path, answer.StatusCode, x.code)
			}
		}
		if s := c.awaitSite(t, x.state); s.Note != x.note {
			t.Errorf("after %s: %+v", x.path, s.Condition)
		}
	}
	var events []jobstatus.SiteEvent
	c.get(t, "/v1/events", &events)
	var got []string
	for _, e := range events {
		got = append(got, strings.TrimSpace(string(e.Kind)+" "+e.By+" "+e.Note))
	}
	if want := "registered; drain ada switches; undrain ada; drain ada short; undrain  its time is over; revoke ben stolen; remove ben sold"; strings.Join(got, "; ") != want {
		t.Errorf("events: %s\nwant:   %s", strings.Join(got, "; "), want)
	}
}
