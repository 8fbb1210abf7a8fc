package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000

// A window is a desk that leads, before a market that the test plays.
type window struct {
	*testing.T
	desk   *Server
	market protocol.Sender
	now    protocol.Time
}

func newWindow(t *testing.T) *window {
	w := &window{t, New(), protocol.Sender{Party: protocol.Coordinator}, noon}
	w.desk.StartLeading(1)
	return w
}

// post asks, and has the market say something to what it hears.
func (w *window) post(path, kind, text string, market func(heard protocol.Message) protocol.Body) (code int, answer string) {
	w.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(text))
	r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:5000"
	r.Header.Set("Content-Type", kind)
	out, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		w.desk.HTTPHandler().ServeHTTP(out, r)
	}()
	for {
		select {
		case e := <-w.desk.LocalRequests():
			m := e.Deliver(w.now)
			w.desk.ObserveMessages([]protocol.Message{m}, []protocol.Message{w.market.NewMessage(w.now, m.From, market(m))})
			e.Done(nil)
		case <-done:
			checkAgainstDocument(w.T, r, out)
			return out.Code, out.Body.String()
		}
	}
}

// A job that the market did not take is not on the board, or its submitter would
// wait for it.
func TestAJobThatTheMarketDidNotTakeIsNotShown(t *testing.T) {
	w := newWindow(t)
	train := protocol.Job{ID: "train", CPU: 1000, Arrival: noon, Deadline: noon + 1}
	of := func(who protocol.Party) protocol.Message {
		return (&protocol.Sender{Party: who}).NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: train})
	}
	w.desk.ObserveMessages([]protocol.Message{of("agent/oslo"), of("queue/oslo")}, nil)
	w.desk.ObserveMessages([]protocol.Message{of(protocol.Submitter)}, []protocol.Message{
		w.market.NewMessage(noon, protocol.Submitter, protocol.Confirm{Job: "train", Code: protocol.JobClosed}),
	})
	if j, ok := w.desk.findJob("train"); ok {
		t.Errorf("it is shown as %+v", j)
	}
	w.desk.ObserveMessages([]protocol.Message{of("agent/oslo"), of(protocol.Submitter)}, []protocol.Message{
		w.market.NewMessage(noon, protocol.Submitter, protocol.Confirm{Job: "train", Code: protocol.Acknowledged}),
	})
	if _, ok := w.desk.findJob("train"); !ok {
		t.Error("a job that was taken is not shown")
	}
}

// A client that reads a list gets one, and not null, before there is anything in it.
func TestAnEmptyListIsNotNull(t *testing.T) {
	w := newWindow(t)
	for _, path := range []string{"/v1/jobs", "/v1/sites", "/v1/auctions", "/v1/policy/waiting"} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
		r.RemoteAddr = "127.0.0.1:7"
		out := httptest.NewRecorder()
		w.desk.HTTPHandler().ServeHTTP(out, r)
		if got := strings.TrimSpace(out.Body.String()); out.Code != http.StatusOK || got != "[]" {
			t.Errorf("GET %s is %d %s; want an empty list", path, out.Code, got)
		}
	}
}

// The market knows ids for longer than the board does.
func TestAnIDThatOnlyTheMarketKnowsIsAConflict(t *testing.T) {
	w := newWindow(t)
	code, answer := w.post("/v1/jobs", "application/yaml", "id: train\ncpu: 1\nrun: 1h\n", func(protocol.Message) protocol.Body {
		return protocol.Reject{Job: "train", Why: protocol.Reason{Code: protocol.Duplicate}}
	})
	if code != http.StatusConflict || !strings.Contains(answer, "an id of its own") {
		t.Errorf("%d %s; want 409", code, answer)
	}
}

// A client that missed the refusal of a job and submits it once more gets it then.
func TestAJobThatWasRefusedIsRefusedAgain(t *testing.T) {
	w := newWindow(t)
	for _, market := range []protocol.Body{
		protocol.Reject{Job: "train", Why: protocol.Reason{Code: protocol.Malformed, Note: "deadline: is over"}},
		protocol.Confirm{Job: "train", Code: protocol.JobClosed},
	} {
		code, answer := w.post("/v1/jobs", "application/yaml", "id: train\ncpu: 1\nrun: 1h\n", func(protocol.Message) protocol.Body { return market })
		if code != http.StatusUnprocessableEntity || !strings.Contains(answer, "deadline: is over") {
			t.Errorf("%d %s; want 422 and why", code, answer)
		}
	}
}

// A job is the same if it runs the same.
func TestAnotherTaskUnderTheSameIDIsAConflict(t *testing.T) {
	w := newWindow(t)
	taken := func(m protocol.Message) protocol.Body {
		return protocol.Confirm{Job: m.Body.(protocol.Submit).Job.ID, Code: protocol.Acknowledged}
	}
	const job = "id: train\ncpu: 1\nrun: 1h\ntask: sleep 5\n"
	for i, c := range []struct {
		text string
		want int
	}{{job, http.StatusOK}, {job, http.StatusOK}, {strings.Replace(job, "sleep 5", "sleep 6", 1), http.StatusConflict}, {strings.Replace(job, "1h", "2h", 1), http.StatusConflict}} {
		w.now = noon.Add(time.Duration(i) * time.Minute) // the same later is the same
		if code, answer := w.post("/v1/jobs", "application/yaml", c.text, taken); code != c.want {
			t.Errorf("%q: %d %s; want %d", c.text, code, answer, c.want)
		}
	}
}

// The market forgets a job a while after it ended. The same file is a new job then,
// and so is another of its id.
func TestAnIDMayBeUsedAgainWhenTheMarketHasForgottenIt(t *testing.T) {
	w := newWindow(t)
	code := protocol.Acknowledged
	answer := func(protocol.Message) protocol.Body {
		if code == protocol.Duplicate {
			return protocol.Reject{Job: "train", Why: protocol.Reason{Code: code}}
		}
		return protocol.Confirm{Job: "train", Code: code}
	}
	const job, other = "id: train\ncpu: 1\nrun: 1h\n", "id: train\ncpu: 2\nrun: 1h\n"
	for i, c := range []struct {
		text  string
		code  protocol.Code // that the market knows
		want  int
		state string
	}{
		{job, protocol.Acknowledged, http.StatusOK, `"pending"`},
		{job, protocol.Duplicate, http.StatusOK, `"done"`}, {other, protocol.Duplicate, http.StatusConflict, "an id of its own"},
		{job, protocol.Acknowledged, http.StatusOK, `"pending"`}, {other, protocol.Acknowledged, http.StatusOK, `"pending"`},
	} {
		w.now, code = noon.Add(time.Duration(i)*time.Hour), c.code
		if code, text := w.post("/v1/jobs", "application/yaml", c.text, answer); code != c.want || !strings.Contains(text, c.state) {
			t.Errorf("%d: %q: %d %s; want %d and %s", i, c.text, code, text, c.want, c.state)
		}
		oslo, epoch := protocol.AgentParty("oslo"), uint64(i+1)
		w.desk.ObserveMessages(nil, []protocol.Message{w.market.NewMessage(w.now, oslo, protocol.Award{Job: "train", Epoch: epoch})})
		w.desk.ObserveMessages([]protocol.Message{{At: w.now, From: oslo, Seq: epoch, To: protocol.Coordinator, Body: protocol.UsageReport{Job: "train", Epoch: epoch}}},
			[]protocol.Message{w.market.NewMessage(w.now, "", protocol.Settlement{Job: "train", Site: "oslo"})})
	}
}

// Who asks for one job is told what happened to it; a submission is answered without.
func TestOneJobComesWithItsEvents(t *testing.T) {
	w := newWindow(t)
	const job = "id: train\ncpu: 1\nrun: 1h\n"
	_, answer := w.post("/v1/jobs", "application/yaml", job, func(m protocol.Message) protocol.Body {
		return protocol.Confirm{Job: "train", Code: protocol.Acknowledged}
	})
	if strings.Contains(answer, `"events"`) {
		t.Errorf("submitted: %s", answer)
	}
	get := func(path string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:5000"
		out := httptest.NewRecorder()
		w.desk.HTTPHandler().ServeHTTP(out, r)
		return out.Code, out.Body.String()
	}
	if code, answer := get("/v1/jobs/train"); code != http.StatusOK || !strings.Contains(answer, `"reason":"Submitted"`) {
		t.Errorf("asked for: %d %s", code, answer)
	}
	if _, answer := get("/v1/jobs"); strings.Contains(answer, `"events"`) || !strings.Contains(answer, `"state":"pending"`) {
		t.Errorf("listed: %s", answer)
	}
}
