package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// run has a job of tenant b awarded to oslo, and a site that answers each request for its log.
func (g *guarded) run(id protocol.JobID, answer func(protocol.LogRequest) protocol.JobLog) (asked *[]protocol.LogRequest) {
	g.Helper()
	g.desk.ObserveMessages(nil, []protocol.Message{g.market.NewMessage(g.now, protocol.AgentParty("oslo"), protocol.Award{Round: 1, Job: id, Epoch: 4, Option: protocol.BidOption{Model: "H100", Start: g.now, Finish: g.now + 1000}})})
	asked = new([]protocol.LogRequest)
	oslo := protocol.Sender{Party: protocol.AgentParty("oslo")}
	g.desk.SendToSitesBy(func(_ context.Context, ms ...protocol.Message) error {
		q := ms[0].Body.(protocol.LogRequest)
		*asked = append(*asked, q)
		if ms[0].To != oslo.Party || ms[0].From != protocol.Coordinator || !ms[0].IsPlausible() {
			g.Errorf("asked by %+v", ms[0])
		}
		forged := answer(q)
		forged.Lines = []protocol.LogLine{{Text: "forged"}}
		for _, other := range []protocol.Party{"agent/lyon", "queue/oslo", "submitter"} { // not asked
			if !g.desk.ReceiveFromSite(g.now, (&protocol.Sender{Party: other}).NewMessage(g.now, protocol.Coordinator, forged)) {
				g.Errorf("a log of %s reaches the market", other)
			}
		}
		if !g.desk.ReceiveFromSite(g.now, oslo.NewMessage(g.now, protocol.Coordinator, answer(q))) {
			g.Error("the log reaches the market")
		}
		g.desk.ReceiveFromSite(g.now, oslo.NewMessage(g.now, protocol.Coordinator, answer(q))) // once more
		return nil
	})
	return asked
}

// A tenant reads what its own jobs wrote, and nobody else does; a site that shows no logs says why.
func TestATenantReadsTheLogsOfItsOwnJobs(t *testing.T) {
	g := newGuarded(t)
	for _, id := range []string{"of-b", "unsold"} {
		if code, text := g.as("b", http.MethodPost, "/v1/jobs", "id: "+id+"\ncpu: 1\nrun: 1h\n"); code != http.StatusOK {
			t.Fatal(text)
		}
	}
	asked := g.run("of-b", func(q protocol.LogRequest) protocol.JobLog {
		return protocol.JobLog{Number: q.Number, Job: q.Job, Pods: []string{"p-0"}, Pod: "p-0", Lines: []protocol.LogLine{{At: 1_649_851_200_000_000_001, Text: "step <b>\x1b[2J\xff"}}, More: true}
	})
	for _, who := range []string{"b", "org"} { // org is above b
		code, text := g.as(who, http.MethodGet, "/v1/jobs/of-b/logs?pod=p-0&after=2022-04-13T12:00:00.000000001Z&tail=5", "")
		var log JobLog
		if err := json.Unmarshal([]byte(text), &log); err != nil || code != http.StatusOK || len(log.Lines) != 1 || log.Lines[0].At != "2022-04-13T12:00:00.000000001Z" || log.Lines[0].Text != "step <b>\x1b[2J\uFFFD" || !log.More || log.Over || log.Site != "oslo" {
			t.Errorf("%s: %d %s, %v", who, code, text, err)
		}
	}
	if q := (*asked)[0]; q.Job != "of-b" || q.Epoch != 4 || q.Pod != "p-0" || q.Tail != 5 || q.After != 1_649_851_200_000_000_001 || len(*asked) != 2 {
		t.Errorf("the site is asked for %+v", *asked)
	}
	for _, c := range []struct {
		who, path string
		want      int
		part      string
	}{
		{"a", "of-b/logs", 404, "unknown job"}, {"a", "of-c/logs", 404, "unknown job"}, {"auditor", "of-b/logs", 403, "no role"}, {"admin", "of-b/logs", 403, "no role"}, {"oslo", "of-b/logs", 403, "no role"}, {"", "of-b/logs", 401, ""},
		{"b", "unsold/logs", 409, "at no site"}, {"b", "of-b/logs?tail=0", 400, "tail"}, {"b", "of-b/logs?tail=10001", 400, "tail"}, {"b", "of-b/logs?after=now", 400, "after"}, {"b", "of-b/logs?after=1600-01-01T00:00:00Z", 400, "after"}, {"b", "of-b/logs?pod=" + strings.Repeat("p", 254), 400, "pod"},
	} {
		if code, text := g.as(c.who, http.MethodGet, "/v1/jobs/"+c.path, ""); code != c.want || !strings.Contains(text, c.part) {
			t.Errorf("%s asks for %s: %d %s; want %d, %q", c.who, c.path, code, text, c.want, c.part)
		}
	}
	if len(*asked) != 2 {
		t.Errorf("the site is asked for %+v", *asked)
	}
	g.run("of-b", func(q protocol.LogRequest) protocol.JobLog {
		return protocol.JobLog{Number: q.Number, Job: q.Job, Why: "shows no logs of jobs\x1b[2J"}
	})
	if code, text := g.as("b", http.MethodGet, "/v1/jobs/of-b/logs", ""); code != 409 || !strings.Contains(text, `"site oslo shows no logs of jobs·[2J"`) {
		t.Errorf("a site that shows none: %d %s", code, text)
	}
}

// One tenant cannot have a site send so many logs that its bids wait.
func TestRequestsForLogsAreBounded(t *testing.T) {
	g := newGuarded(t)
	if code, text := g.as("b", http.MethodPost, "/v1/jobs", "id: of-b\ncpu: 1\nrun: 1h\n"); code != http.StatusOK {
		t.Fatal(text)
	}
	asked := g.run("of-b", func(q protocol.LogRequest) protocol.JobLog { return protocol.JobLog{Number: q.Number, Job: q.Job} })
	refused := 0
	for range 200 {
		if code, _ := g.as("b", http.MethodGet, "/v1/jobs/of-b/logs", ""); code == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 || len(*asked)+refused != 200 {
		t.Errorf("of 200 requests %d reach the site, %d are refused", len(*asked), refused)
	}
	g.desk.mu.Lock()
	defer g.desk.mu.Unlock()
	if len(g.desk.openLogs) != 0 {
		t.Errorf("%d requests are kept", len(g.desk.openLogs))
	}
}
