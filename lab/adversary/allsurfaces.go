package adversary

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/lab/mcpprobe"
	"github.com/gridbid/gridbid/protocol"
)

// inspectAllSurfaces checks all outputs about a run: about its hostile jobs, a limited number
// of other jobs, and the hostile text as a question.
func (r replayedDay) inspectAllSurfaces(ctx context.Context, seen *attackFindings, most int) {
	log, book := query.NewDataset(nil), history.New(history.Config{})
	for _, m := range r.messages {
		log.AddMessage(m)
		book.AddMessage(m)
		line, err := protocol.MessageJSON(m)
		if err != nil {
			seen.addFinding(surfaceLedger, "messages: %v", err)
		}
		seen.inspectText(surfaceLedger, string(line))
		if data, err := protocol.Encode(m); err == nil {
			seen.checkSecrets(surfaceLedger, string(data))
		}
	}
	jobs, ids := inspectJobTexts(book, seen, most)
	asked := attackQuestions(seen.hostile, jobs)
	ids = ids[:min(len(ids), 6)]
	talk := log.NewSession()
	for _, q := range append(slices.Clone(asked), ids...) {
		for where, a := range map[readingSurface]query.Answer{surfaceAsk: log.AnswerQuestion(q), surfaceChat: talk.AnswerQuestion(q)} {
			var out bytes.Buffer
			_ = a.WriteText(&out) // a bytes.Buffer never returns an error
			seen.inspectText(where, out.String())
			if q == seen.hostile && a.Kind == "answer" && a.Query == nil {
				seen.addFinding(where, "the text was answered as no question")
			}
		}
	}
	if seen.hostile != "" {
		seen.proposePolicyChange()
	}
	r.inspectServedSurfaces(ctx, seen, asked, ids, jobs)
}

// inspectJobTexts checks what is shown about jobs, and returns the jobs with the ids of their
// decisions.
func inspectJobTexts(book *history.History, seen *attackFindings, most int) (jobs []protocol.JobID, ids []string) {
	// Hostile jobs have other names than job-N and are all checked.
	n := 0
	for i, id := range book.JobIDs() {
		if strings.HasPrefix(string(id), "job-") {
			if n++; n > most {
				continue
			}
		}
		jobs = append(jobs, id)
		rec, _ := book.LatestJob(id)
		var out bytes.Buffer
		_ = query.WriteJob(&out, book, rec) // a bytes.Buffer never returns an error
		seen.inspectText(surfaceWhy, out.String())
		for _, h := range rec.FullRounds {
			d, ok := record.FromRound(rec, h, i+1, 0)
			if !ok {
				continue
			}
			ids = append(ids, d.ID)
			for _, f := range d.Facts {
				seen.inspectText(surfaceRecord, f.Text)
				if seen.hostile != "" && containsHostileText(f.Text, seen.hostile) {
					seen.addFinding(surfaceRecord, "a fact holds the text")
				}
			}
		}
	}
	return jobs, ids
}

// attackQuestions returns the questions asked about a run: some fixed ones, the hostile
// text itself, and one for each job.
func attackQuestions(hostile string, jobs []protocol.JobID) []string {
	all := []string{"help", "late jobs", "carbon by tenant", "top 5 jobs by carbon", "what did waiting save", "stuck jobs"}
	if hostile != "" {
		all = append(all, hostile, "why "+hostile)
	}
	for _, id := range jobs {
		all = append(all, "why did "+string(id)+" wait")
	}
	return all
}

// proposePolicyChange reads the hostile text as a request to change the policy, as a single operator
// would submit it, and checks what that operator is shown.
func (s *attackFindings) proposePolicyChange() {
	was := protocol.Policy{Version: 1, Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"coal"}, Words: "coal"}}}
	c := policy.ParseSentence(s.hostile, was, policy.Vocabulary{Sites: []string{"coal", "hydro", "solar"}, Tenants: []string{"lab"}, Now: startTime})
	s.findingsAt(surfacePolicy).texts++
	for _, o := range c.Ops {
		s.inspectText(surfacePolicy, policy.DescribeOp(was, o))
	}
	now, err := policy.ApplyChange(was, c, "one", "", format.CleanText(s.hostile))
	if err == nil && !slices.ContainsFunc(now.Rules, func(r protocol.Rule) bool { return r.ID == "R-1" }) {
		s.addFinding(surfacePolicy, "one person alone takes a hard rule away")
	}
}

// inspectServedSurfaces checks what is served about a run: pages, charts, and tools for models.
func (r replayedDay) inspectServedSurfaces(ctx context.Context, seen *attackFindings, asked, ids []string, jobs []protocol.JobID) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// source replays the messages as a follower of a ledger would read them.
	source := func(_ context.Context, from uint64, each func(protocol.Message) error) error {
		for _, m := range r.messages[from:] {
			if err := each(m); err != nil {
				return err
			}
		}
		return nil
	}
	followed := tail.StartReading(ctx, source, nil)
	select {
	case <-followed.ReadingDone():
	case <-ctx.Done():
		return
	}
	seen.inspectTools(ctx, followed, asked, ids)
	page := page.NewPageHandler(followed, page.Options{Title: "attacked"})
	for _, q := range append(slices.Clone(asked), ids...) {
		for _, where := range []string{"/?q=" + url.QueryEscape(q), "/?d=" + url.QueryEscape(q)} {
			seen.inspectPage(ctx, page, where)
		}
	}
	_ = followed.ViewTimeline(ctx, func(d *timeline.Timeline) { // the run is complete; an error is not expected
		for _, c := range timeline.ChartNames() {
			for _, id := range jobs[:min(len(jobs), 4)] {
				seen.inspectChart(d, timeline.Drawing{Chart: c[0], Job: id, Question: "carbon by tenant"})
			}
		}
	})
}

// chartBox is the page's input field for questions.
var chartBox = regexp.MustCompile(`<input id="q"[^>]*>`)

// inspectPage checks one page.
func (s *attackFindings) inspectPage(ctx context.Context, page http.Handler, where string) {
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+where, nil)
	req.RemoteAddr = "127.0.0.1:9"
	out := httptest.NewRecorder()
	page.ServeHTTP(out, req)
	body := chartBox.ReplaceAllString(out.Body.String(), "") // remove the input field, which repeats the user's own words
	s.inspectText(surfacePage, body)
	if out.Code >= 500 {
		s.addFinding(surfacePage, "it answers %d", out.Code)
	}
	if out.Code == http.StatusOK && !strings.Contains(out.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		s.addFinding(surfacePage, "it has no strict policy")
	}
	s.checkMarkup(surfacePage, body)
}

// checkMarkup complains if a document contains the hostile text as markup.
func (s *attackFindings) checkMarkup(where readingSurface, body string) {
	if strings.ContainsAny(s.hostile, "<>") && strings.Contains(body, s.hostile) {
		s.addFinding(where, "it holds the text as markup")
	}
}

// inspectChart checks one chart, as SVG and as a table.
func (s *attackFindings) inspectChart(d *timeline.Timeline, w timeline.Drawing) {
	c, err := d.DrawChart(w)
	if err != nil {
		s.inspectText(surfaceChart, err.Error())
		return
	}
	var out bytes.Buffer
	c.FigureTable().WriteText(&out)
	s.inspectText(surfaceChart, out.String())
	svg := string(c.ComputeLayout(640).EncodeSVG())
	s.inspectText(surfaceChart, svg)
	s.checkMarkup(surfaceChart, svg)
}

// inspectTools calls the tools of the Model Context Protocol and checks their results.
func (s *attackFindings) inspectTools(ctx context.Context, run *tail.Run, asked, ids []string) {
	calls := []mcpprobe.Call{{Tool: "list_decisions", Args: map[string]any{"limit": 200}}, {Tool: "query", Args: map[string]any{"ask": "pending"}}, {Tool: "sites", Args: map[string]any{}}}
	for _, q := range asked {
		calls = append(calls, mcpprobe.Call{Tool: "ask", Args: map[string]any{"question": q}})
	}
	for _, id := range ids {
		calls = append(calls, mcpprobe.Call{Tool: "query", Args: map[string]any{"ask": "why", "decision": id}}, mcpprobe.Call{Tool: "get_decision", Args: map[string]any{"decision": id}})
	}
	if err := mcpprobe.CallTools(ctx, run, calls, func(_, text string) { s.inspectText(surfaceTools, text) }); err != nil {
		s.addFinding(surfaceTools, "%v", err)
	}
}
