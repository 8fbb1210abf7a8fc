package leader_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/eventlog"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/protocol"
)

// A coordinator is one that runs, with its desk.
type coordinator struct {
	desk *api.Server
	http *httptest.Server
	end  func()
}

// held is a lease that a busy machine does not lose. One that ends in order gives it
// back at once.
const held = 20 * time.Second

func start(t *testing.T, hub *natsbus.Bus, lease time.Duration, log ...slog.Handler) *coordinator {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &coordinator{desk: api.New()}
	done := make(chan error, 1)
	log = append(log, slog.DiscardHandler)
	go func() {
		done <- leader.RunWhenElected(ctx, leader.Config{
			Bus: hub, Rule: func() auction.ClearingRule { return auction.New(auction.Config{}) },
			EventLog: eventlog.Config{Lease: lease}, API: c.desk, Log: slog.New(log[0]), MaxTail: 20,
		})
	}()
	c.http = httptest.NewServer(c.desk.HTTPHandler())
	ended := false
	c.end = func() {
		if ended {
			return
		}
		ended = true
		c.http.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ended with %v", err)
		}
	}
	t.Cleanup(c.end)
	return c
}

func (c *coordinator) leads(t *testing.T) {
	t.Helper()
	for range 2400 { // two minutes, of a machine that is busy
		if c.desk.IsLeading() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("it does not lead")
}

// knowsSite waits until the API shows a site: job status follows what was sent, so that
// a site may have its answer a moment before people see it.
func (c *coordinator) knowsSite(t *testing.T, site string) {
	t.Helper()
	for range 2400 { // two minutes, of a machine that is busy
		answer, err := http.Get(c.http.URL + "/v1/sites")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if strings.Contains(string(text), `"`+site+`"`) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the API does not show site %s", site)
}

// submit submits a job until it is accepted, as the error asks clients to do.
func (c *coordinator) submit(t *testing.T, job string) int {
	t.Helper()
	for range 2400 { // two minutes, of a machine that is busy
		if code := c.ask(t, job); code != http.StatusServiceUnavailable {
			return code
		}
		time.Sleep(50 * time.Millisecond)
	}
	return http.StatusServiceUnavailable
}

func (c *coordinator) ask(t *testing.T, job string) int {
	t.Helper()
	answer, err := http.Post(c.http.URL+"/v1/jobs", "application/yaml", strings.NewReader(job))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A standby takes over from a coordinator that ends, and knows its jobs: the same
// submission is no new job, another of its id is refused.
func TestStandbyTakesOverWithTheEventLog(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	first := start(t, &srv.Bus, held)
	first.leads(t)
	second := start(t, &srv.Bus, held)
	const job = "id: train\ncpu: 2\nrun: 1h\n"
	if code := first.submit(t, job); code != http.StatusOK {
		t.Fatalf("submit: %d", code)
	}
	if code := second.ask(t, job); code != http.StatusServiceUnavailable {
		t.Errorf("a standby answers %d", code)
	}
	first.end()
	second.leads(t)
	if code := second.submit(t, job); code != http.StatusOK {
		t.Errorf("the same job: %d", code)
	}
	if code := second.submit(t, strings.Replace(job, "2", "3", 1)); code != http.StatusConflict {
		t.Errorf("another of its id: %d", code)
	}
	answer, err := http.Get(second.http.URL + "/v1/jobs/train")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
}

// lines sends what is logged.
type lines chan string

func (l lines) Write(b []byte) (int, error) { l <- string(b); return len(b), nil }

// A coordinator that begins from a summary and what came after knows all jobs.
func TestStandbyTakesOverWithASnapshot(t *testing.T) {
	srv, err := natsbus.StartServer(natsbus.Config{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	log := make(lines, 1000)
	first := start(t, &srv.Bus, 3*time.Second, slog.NewTextHandler(log, nil))
	first.leads(t)
	job := func(i int) string { return fmt.Sprintf("id: train-%d\ncpu: 2\nrun: 1h\n", i) }
	jobs := 0
	for summed := false; !summed; {
		if code := first.submit(t, job(jobs)); code != http.StatusOK {
			t.Fatalf("submit: %d", code)
		}
		jobs++
		select {
		case line := <-log:
			summed = strings.Contains(line, "wrote a snapshot of the event log")
		case <-time.After(10 * time.Millisecond):
		}
	}
	for range 5 {
		first.submit(t, job(jobs))
		jobs++
	}
	first.end()
	second := start(t, &srv.Bus, held)
	second.leads(t)
	for i := range jobs {
		if code := second.submit(t, job(i)); code != http.StatusOK {
			t.Errorf("job %d, second submission: %d", i, code)
		}
		if code := second.submit(t, strings.Replace(job(i), "cpu: 2", "cpu: 3", 1)); code != http.StatusConflict {
			t.Errorf("another job under the id %d: %d", i, code)
		}
	}
}

// An unknown site cannot be decommissioned, and the operator who does it must give a name.
func TestAPIDecommissionsASite(t *testing.T) {
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
	<-port.Messages() // its events are stored
	c.knowsSite(t, "oslo")
	for _, ask := range []struct {
		path string
		code int
		says string
	}{
		{"oslo/gone", http.StatusBadRequest, "the name of the operator"},
		{"rome/gone?by=ada", http.StatusNotFound, "unknown site"},
		{"oslo/gone?by=ada", http.StatusOK, `"gone":true`},
		{"oslo/gone?by=ada", http.StatusOK, `"gone":true`},
		{"oslo/gone?by=ada&end=true", http.StatusConflict, "cancel jobs one by one"}, // they are on sale
		{"oslo/drain", http.StatusConflict, "drain it then"},
		{"oslo/drain?over=true", http.StatusConflict, "in no round"},
	} {
		answer, err := http.Post(c.http.URL+"/v1/sites/"+ask.path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != ask.code || !strings.Contains(string(text), ask.says) {
			t.Errorf("%s: %d, want %d with %q: %s", ask.path, answer.StatusCode, ask.code, ask.says, text)
		}
	}
}
