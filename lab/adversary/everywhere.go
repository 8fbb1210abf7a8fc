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
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/narrate"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// everywhere looks at all that may be seen of a run: of its hostile jobs, up to a
// number of others, and of what the hostile text gets as a question.
func (r run) everywhere(ctx context.Context, seen *sights, most int) {
	log, book := query.New(nil), history.New(history.Config{})
	for _, m := range r.said {
		log.Add(m)
		book.Add(m)
		line, err := protocol.JSON(m)
		if err != nil {
			seen.complain(onLedger, "tap: %v", err)
		}
		seen.look(onLedger, string(line))
		if data, err := protocol.Encode(m); err == nil {
			seen.secrets(onLedger, string(data))
		}
	}
	jobs, ids := told(book, seen, most)
	asked := questions(seen.hostile, jobs)
	ids = ids[:min(len(ids), 6)]
	talk := log.Talk()
	for _, q := range append(slices.Clone(asked), ids...) {
		for where, a := range map[surface]query.Answer{onAsk: log.Ask(q), onChat: talk.Ask(q)} {
			var out bytes.Buffer
			_ = a.Write(&out) // a buffer takes all
			seen.look(where, out.String())
			if q == seen.hostile && a.Kind == "answer" && a.Query == nil {
				seen.complain(where, "the text was answered as no question")
			}
		}
	}
	if seen.hostile != "" {
		seen.wish()
	}
	r.served(ctx, seen, asked, ids, jobs)
}

// told looks at what is told of jobs, and returns those with the ids of the
// decisions on them.
func told(book *history.Book, seen *sights, most int) (jobs []protocol.JobID, ids []string) {
	n := 0
	for i, id := range book.Jobs() {
		if strings.HasPrefix(string(id), "job-") {
			if n++; n > most {
				continue
			}
		}
		jobs = append(jobs, id)
		rec, _ := book.Job(id)
		var out bytes.Buffer
		_ = narrate.Decision(&out, rec) // a buffer takes all
		seen.look(onWhy, out.String())
		for _, h := range rec.Hearings {
			d, ok := record.Of(rec, h, i+1, 0)
			if !ok {
				continue
			}
			ids = append(ids, d.ID)
			for _, f := range d.Facts {
				seen.look(onRecord, f.Text)
				if seen.hostile != "" && holds(f.Text, seen.hostile) {
					seen.complain(onRecord, "a fact holds the text")
				}
			}
		}
	}
	return jobs, ids
}

// questions are asked of a run: the hostile text itself, and of its jobs.
func questions(hostile string, jobs []protocol.JobID) []string {
	all := []string{"help", "late jobs", "carbon by tenant", "top 5 jobs by carbon", "what did waiting save", "stuck jobs"}
	if hostile != "" {
		all = append(all, hostile, "why "+hostile)
	}
	for _, id := range jobs {
		all = append(all, "why did "+string(id)+" wait")
	}
	return all
}

// wish reads the hostile text as a wish for a policy, as one person would put it
// in force, and looks at what that person would be shown.
func (s *sights) wish() {
	was := protocol.Policy{Version: 1, Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"coal"}, Words: "coal"}}}
	c := policy.Say(s.hostile, was, policy.Known{Sites: []string{"coal", "hydro", "solar"}, Tenants: []string{"lab"}, Now: start})
	s.at(onPolicy).texts++
	for _, o := range c.Ops {
		s.look(onPolicy, policy.Tell(was, o))
	}
	now, err := policy.Apply(was, c, "one", "", format.Clean(s.hostile))
	if err == nil && !slices.ContainsFunc(now.Rules, func(r protocol.Rule) bool { return r.ID == "R-1" }) {
		s.complain(onPolicy, "one person alone takes a hard rule away")
	}
}

// served looks at what is served of a run: pages, charts, and tools for models.
func (r run) served(ctx context.Context, seen *sights, asked, ids []string, jobs []protocol.JobID) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	source := func(_ context.Context, from uint64, each func(protocol.Message) error) error {
		for _, m := range r.said[from:] {
			if err := each(m); err != nil {
				return err
			}
		}
		return nil
	}
	followed := tail.Start(ctx, source, nil)
	select {
	case <-followed.Over():
	case <-ctx.Done():
		return
	}
	seen.tools(ctx, followed, asked, ids)
	page := page.New(followed, page.Options{Title: "attacked"})
	for _, q := range append(slices.Clone(asked), ids...) {
		for _, where := range []string{"/?q=" + url.QueryEscape(q), "/?d=" + url.QueryEscape(q)} {
			seen.page(ctx, page, where)
		}
	}
	_ = followed.Look(ctx, func(d *timeline.Diary) { // it is over
		for _, c := range timeline.Charts() {
			for _, id := range jobs[:min(len(jobs), 4)] {
				seen.chart(d, timeline.Drawing{Chart: c[0], Job: id, Question: "carbon by tenant"})
			}
		}
	})
}

var box = regexp.MustCompile(`<input id="q"[^>]*>`)

// page looks at one page.
func (s *sights) page(ctx context.Context, page http.Handler, where string) {
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+where, nil)
	req.RemoteAddr = "127.0.0.1:9"
	out := httptest.NewRecorder()
	page.ServeHTTP(out, req)
	body := box.ReplaceAllString(out.Body.String(), "") // the person's own words
	s.look(onPage, body)
	if out.Code >= 500 {
		s.complain(onPage, "it answers %d", out.Code)
	}
	if out.Code == http.StatusOK && !strings.Contains(out.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		s.complain(onPage, "it has no strict policy")
	}
	s.markup(onPage, body)
}

// markup complains of a text that holds the hostile one as markup.
func (s *sights) markup(where surface, body string) {
	if strings.ContainsAny(s.hostile, "<>") && strings.Contains(body, s.hostile) {
		s.complain(where, "it holds the text as markup")
	}
}

// chart looks at one chart, as SVG and in figures.
func (s *sights) chart(d *timeline.Diary, w timeline.Drawing) {
	c, err := d.Draw(w)
	if err != nil {
		s.look(onChart, err.Error())
		return
	}
	var out bytes.Buffer
	c.Figures().Write(&out)
	s.look(onChart, out.String())
	svg := string(c.Draw(640).SVG())
	s.look(onChart, svg)
	s.markup(onChart, svg)
}

// tools asks a run through the Model Context Protocol, and looks at what it gets.
func (s *sights) tools(ctx context.Context, run *tail.Run, asked, ids []string) {
	calls := []mcp.Call{{Tool: "list_decisions", Args: map[string]any{"limit": 200}}, {Tool: "queue", Args: map[string]any{}}, {Tool: "sites", Args: map[string]any{}}}
	for _, q := range asked {
		calls = append(calls, mcp.Call{Tool: "ask", Args: map[string]any{"question": q}})
	}
	for _, id := range ids {
		calls = append(calls, mcp.Call{Tool: "explain_decision", Args: map[string]any{"decision": id}}, mcp.Call{Tool: "get_decision", Args: map[string]any{"decision": id}})
	}
	if err := mcp.Probe(ctx, run, calls, func(_, text string) { s.look(onTools, text) }); err != nil {
		s.complain(onTools, "%v", err)
	}
}
