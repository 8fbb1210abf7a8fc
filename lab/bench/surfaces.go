package bench

import (
	"context"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/record"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/lab/mcpprobe"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/report"
)

// maxCards bounds how many decisions' cards are checked, evenly spread over the run: a run can
// have tens of thousands.
const maxCards = 400

// CheckSurfaces checks what the other surfaces print about a run: a chat, the page's answers
// and cards, the MCP tools, and the report of a replay.
func (g *GroundingCheck) CheckSurfaces(ctx context.Context, messages []protocol.Message, st query.ReplaySetup, totals []history.Totals, asked []JudgedAnswer) ([]SurfaceGrounding, error) {
	all := []SurfaceGrounding{g.checkConversation(asked)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := tail.StartReading(ctx, func(_ context.Context, from uint64, each func(protocol.Message) error) error {
		for _, m := range messages[from:] {
			if err := each(m); err != nil {
				return err
			}
		}
		return nil
	}, totals)
	select {
	case <-run.ReadingDone():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := run.ViewTimeline(ctx, func(d *timeline.Timeline) { d.SetReplay(st) }); err != nil {
		return nil, err
	}
	page := page.NewPageHandler(run, page.Options{Title: "grounded"})
	tools, err := g.checkMCPTools(ctx, run, asked)
	if err != nil {
		return nil, err
	}
	all = append(all, g.checkPageReplies(ctx, page, asked), g.checkPageCards(ctx, page), tools)
	if len(totals) > 0 {
		report, err := g.checkReport(totals)
		if err != nil {
			return nil, err
		}
		all = append(all, report)
	}
	return all, nil
}

// checkConversation asks all questions in one session, as `gridbid chat` does, in which one
// may refer to the one before.
func (g *GroundingCheck) checkConversation(asked []JudgedAnswer) SurfaceGrounding {
	of, talk := SurfaceGrounding{Surface: "chat"}, g.log.NewSession()
	for _, e := range asked {
		n, loose := g.CheckAnswer(e.Asked, talk.AnswerQuestion(e.Asked))
		of.addAnswer(e, n, loose)
	}
	return of
}

// addAnswer adds a checked answer, with its question as the place of the claims.
func (x *SurfaceGrounding) addAnswer(e JudgedAnswer, n int, loose []UngroundedClaim) {
	for i := range loose {
		loose[i].ID, loose[i].Asked = e.ID, e.Asked
	}
	x.addChecked(n, loose)
}

// checkLines checks a text line by line. A figure without a unit may be of any unit that
// columns of tables have.
func (g *GroundingCheck) checkLines(a query.Answer, facts []groundFact, asked, text string) (n int, all []UngroundedClaim) {
	for line := range strings.SplitSeq(text, "\n") {
		line = exampleText.ReplaceAllString(strings.ReplaceAll(line, format.CleanText(asked), ""), "")
		line, m, loose := checkClockTimes(facts, line)
		n, all = n+m, append(all, loose...)
		m, loose = g.checkText(a, facts, line, true)
		n, all = n+m, append(all, loose...)
	}
	if a.Query == nil { // declined: it may list names that the question could mean
		all = slices.DeleteFunc(all, func(x UngroundedClaim) bool { return x.Why == notInAnswer || strings.Contains(asked, x.Claim) })
	}
	return n, all
}

// Times in forms that only pages have: with a year, in minutes, and without a day.
var (
	timeWithYear = regexp.MustCompile(`\b\d{1,2} [A-Z][a-z]{2,8} \d{4} \d\d:\d\d\b`)
	minuteTime   = regexp.MustCompile(`\b(\d[\d,]*\.\d) minutes\b`)
	entryTime    = regexp.MustCompile(`(\bsince |· from )(\d\d:\d\d)\b`)
	bareTime     = regexp.MustCompile(`(^|[^ \d]|\bfrom |\bto |\bat |\bsince |· |^\s+)\b(\d\d:\d\d(?::\d\d)?)\b`)
)

// checkClockTimes checks times in those forms against facts, and returns the line without
// them.
func checkClockTimes(facts []groundFact, line string) (rest string, n int, loose []UngroundedClaim) {
	check := func(m string, forms ...string) {
		n++
		if matchFact(facts, "instant", func(v int64) bool {
			return slices.ContainsFunc(forms, func(f string) bool { return protocol.Time(v).StdTime().Format(f) == m })
		}, nil) != "" {
			loose = append(loose, UngroundedClaim{Claim: m, In: line, Why: "no such instant"})
		}
	}
	rest = timeWithYear.ReplaceAllStringFunc(line, func(m string) string {
		check(m, "2 January 2006 15:04", "2 Jan 2006 15:04")
		return ""
	})
	rest = minuteTime.ReplaceAllStringFunc(rest, func(m string) string {
		n++
		v, err := strconv.ParseFloat(strings.ReplaceAll(minuteTime.FindStringSubmatch(m)[1], ",", ""), 64)
		if err != nil || matchFact(facts, "ms", func(ms int64) bool { return math.Abs(float64(ms)/60_000-v) <= 0.05 }, nil) != "" {
			loose = append(loose, UngroundedClaim{Claim: m, In: line, Why: "no such time"})
		}
		return ""
	})
	// In a line with a full instant the other times are of its day and are checked with it, but for
	// those of a list's entries, which are of the day of the entry.
	bare := bareTime
	if instantPattern.MatchString(rest) {
		bare = entryTime
	}
	return bare.ReplaceAllStringFunc(rest, func(m string) string {
		at := bare.FindStringSubmatch(m)
		check(at[2], "15:04", "15:04:05")
		return at[1]
	}), n, loose
}

// factsOfAnswerAndContext returns the facts of an answer, of its parts, and of its list of
// citations.
func (g *GroundingCheck) factsOfAnswerAndContext(a query.Answer) []groundFact {
	all := append(g.factsOfAnswer(a), groundFact{int64(len(a.Cites)), "count", ""})
	for _, most := range []int{6, 12} { // lists of citations are cut after 6 or 12, and print how many more there are
		all = append(all, groundFact{int64(len(a.Cites) - most), "count", ""})
	}
	if a.Table != nil {
		for _, f := range a.Figures { // cells do not name the subject of their row
			all = append(all, groundFact{f.Value, f.Unit, ""})
		}
	}
	for _, more := range a.More {
		all = append(all, g.factsOfAnswerAndContext(more)...)
	}
	return all
}

// checkPageReplies checks every answer as the page shows it.
func (g *GroundingCheck) checkPageReplies(ctx context.Context, page http.Handler, asked []JudgedAnswer) SurfaceGrounding {
	of := SurfaceGrounding{Surface: "page"}
	for _, e := range asked {
		n, loose := g.checkLines(e.answer, g.factsOfAnswerAndContext(e.answer), e.Asked, shownText(ctx, page, "/ask?q="+url.QueryEscape(e.Asked)))
		of.addAnswer(e, n, loose)
	}
	return of
}

// checkPageCards checks the cards of decisions on the page.
func (g *GroundingCheck) checkPageCards(ctx context.Context, page http.Handler) SurfaceGrounding {
	of := SurfaceGrounding{Surface: "cards"}
	ids := g.log.DecisionNumbers()
	step := max(1, len(ids)/maxCards)
	// Every step-th decision, so that the sample covers the whole run.
	for i := 0; i < len(ids); i += step {
		id := record.DecisionID(ids[i])
		n, loose := g.checkCard(ids[i], shownText(ctx, page, "/decision?d="+id))
		for k := range loose {
			loose[k].ID = id
		}
		of.addChecked(n, loose)
	}
	return of
}

// checkCard checks the text of one decision's card.
func (g *GroundingCheck) checkCard(id uint64, text string) (int, []UngroundedClaim) {
	a := g.log.AnswerQuery(ask.Query{Ask: "why", Decision: id})
	facts := g.factsOfAnswerAndContext(a)
	if d, ok := g.log.DecisionDocument(id); ok {
		facts = append(facts, g.factsOfJob(protocol.JobID(d.Job.Name))...)
	}
	return g.checkLines(a, facts, "", text)
}

// factsOfJob returns all facts about a job: those of its records, and the figures of what is answered about its
// bill and its times.
func (g *GroundingCheck) factsOfJob(id protocol.JobID) []groundFact {
	r, ok := g.log.History().LatestJob(id)
	if !ok {
		return nil
	}
	all := g.factsOfRecords(r)
	for _, name := range []string{"bill", "times"} {
		all = append(all, g.factsOfAnswerAndContext(g.log.AnswerQuery(ask.Query{Ask: name, Job: id}))...)
	}
	return all
}

// factsOfRecords returns the facts of a job's records: its offers and decisions in each round, and its runs.
func (g *GroundingCheck) factsOfRecords(r history.JobRecord) []groundFact {
	all := append(factsOfBids(r), groundFact{int64(r.Job.Arrival), "instant", ""}, groundFact{int64(r.Job.Deadline), "instant", ""}, groundFact{int64(r.Job.TotalGPUMilli()), "thousandths", ""})
	for _, h := range r.FullRounds {
		d := h.Decision
		all = append(all, groundFact{int64(d.Message.At), "instant", ""}, groundFact{int64(d.Proof.Primal), "microdollars", ""}, groundFact{int64(d.Proof.Bound), "microdollars", ""}, groundFact{int64(d.Proof.Jobs), "count", ""})
	}
	all = append(append(all, groundFact{int64(len(r.FullRounds)), "count", ""}), factsOfRuns(r)...)
	// Holds that come one after another are one line: how many there were so far, since when.
	held, since := 0, protocol.Time(0)
	for _, d := range g.log.History().AllDecisions() {
		switch {
		case d.Job != r.Job.ID:
			continue
		case d.Kind != "hold":
			held = 0
			continue
		case held == 0:
			since = d.At
		}
		held++
		all = append(all, groundFact{int64(held), "count", ""}, groundFact{int64(since), "instant", ""})
	}
	return all
}

// checkMCPTools asks all questions over the Model Context Protocol, with its official client.
func (g *GroundingCheck) checkMCPTools(ctx context.Context, run *tail.Run, asked []JudgedAnswer) (SurfaceGrounding, error) {
	of, calls := SurfaceGrounding{Surface: "mcp"}, []mcpprobe.Call(nil)
	for _, e := range asked {
		calls = append(calls, mcpprobe.Call{Tool: "ask", Args: map[string]any{"question": e.Asked}})
	}
	i := 0
	err := mcpprobe.CallTools(ctx, run, calls, func(_, text string) {
		if i < len(asked) {
			e := asked[i]
			n, loose := g.checkPrintedAnswer(e, text)
			of.addAnswer(e, n, loose)
		}
		i++
	})
	if err == nil && i != len(asked) {
		err = fmt.Errorf("bench: the MCP tools got %d questions and gave %d answers", len(asked), i)
	}
	return of, err
}

// checkPrintedAnswer checks an answer as printed for a terminal: with the lines of each
// paragraph joined, and without the commands that it prints.
func (g *GroundingCheck) checkPrintedAnswer(e JudgedAnswer, text string) (n int, all []UngroundedClaim) {
	facts := g.factsOfAnswerAndContext(e.answer)
	for part := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(part, "  ") {
			var kept []string
			for line := range strings.SplitSeq(part, "\n") {
				if !strings.HasPrefix(line, "again: ") && !strings.HasPrefix(line, "chart: ") && !strings.HasPrefix(line, "  gridbid ") {
					kept = append(kept, line)
				}
			}
			part = strings.Join(kept, " ")
		} else if strings.HasPrefix(part, "  gridbid ") {
			continue // readings: questions, not claims
		}
		m, loose := g.checkLines(e.answer, facts, e.Asked, part)
		n += m
		all = append(all, loose...)
	}
	return n, all
}

// checkReport writes the report of a replay, and checks its figures against the totals.
func (g *GroundingCheck) checkReport(totals []history.Totals) (of SurfaceGrounding, err error) {
	of.Surface = "report"
	folder, err := os.MkdirTemp("", "gridbid-report")
	if err != nil {
		return of, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	day := report.ReplayReport{Scenario: "grounded", Start: g.span[0], End: g.span[0].Add(24 * time.Hour)}
	gpus := protocol.Milli(0)
	for _, s := range g.log.History().SiteRecords() {
		x := report.SiteSignals{Name: s.Site}
		for _, p := range s.Pools {
			x.GPUs += protocol.Milli(p.GPUs) * 1000
		}
		gpus += x.GPUs
		day.Sites = append(day.Sites, x)
	}
	for _, t := range totals {
		day.Policies = append(day.Policies, report.PolicyRun{Totals: t})
	}
	path, err := report.WriteReport(folder, day)
	if err != nil {
		return of, err
	}
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return of, err
	}
	facts := append(totalFacts(totals), groundFact{int64(day.Start), "instant", ""}, groundFact{int64(day.End), "instant", ""}, groundFact{int64(gpus), "thousandths", ""}, groundFact{int64(len(day.Sites)), "count", ""})
	n, loose := g.checkReportText(facts, plainText(string(raw)))
	of.addChecked(n, loose)
	return of, nil
}

// checkReportText checks the text of a report against facts of totals.
func (g *GroundingCheck) checkReportText(facts []groundFact, text string) (int, []UngroundedClaim) {
	return g.checkLines(query.Answer{Table: &query.Table{}}, facts, "", withoutPercentiles(text))
}

// withoutPercentiles removes "p50" and "p95" from a text: names of columns, whose digits are no
// figures.
func withoutPercentiles(s string) string { return strings.NewReplacer("p50", "", "p95", "").Replace(s) }

// totalFacts returns every figure of totals in the scales in which reports print them, and the
// relative differences between policies.
func totalFacts(totals []history.Totals) (all []groundFact) {
	var columns [][]float64
	for _, t := range totals {
		var of []float64
		v := reflect.ValueOf(t)
		for i := range v.NumField() {
			switch x := v.Field(i).Interface().(type) {
			case float64:
				of = append(of, x)
			case int:
				of = append(of, float64(x))
			case history.Spread:
				of = append(of, x.Mean, x.P50, x.P95, x.Max)
			case history.Use:
				of = append(of, x.Mean, x.Peak)
			}
		}
		// Reports print these two together: idle machines, and jobs that missed their deadline.
		of = append(of, t.IdleUSD+t.IdleCarbonUSD, float64(t.Late+t.Unplaced), t.CarbonKg-t.IdleKg)
		columns = append(columns, of)
	}
	// note adds a figure in thousandths.
	note := func(v float64) {
		if !math.IsNaN(v) && math.Abs(v) < 1e12 {
			all = append(all, groundFact{int64(math.Round(v * 1000)), "thousandths", ""})
		}
	}
	for i, of := range columns {
		for k, v := range of {
			all = append(all, groundFact{int64(math.Round(v * 1e6)), "microdollars", ""}, groundFact{int64(math.Round(v * 1000)), "ms", ""})
			// Reports print seconds as such, in minutes and in hours, and shares in per cent.
			for _, scale := range []float64{1, 100, 1.0 / 60, 1.0 / 3600} {
				note(v * scale)
			}
			// Differences between two policies, from either side.
			for _, other := range columns[:i] {
				if other[k] != 0 && v != 0 {
					note(v/other[k] - 1)
					note(other[k]/v - 1)
				}
			}
		}
	}
	for _, t := range totals {
		all = append(all, groundFact{0, "name", "policy/" + format.CleanText(t.Policy)})
	}
	return append(all, groundFact{int64(len(totals)), "count", ""})
}

// shownText fetches a part of the page and returns its visible text.
func shownText(ctx context.Context, page http.Handler, where string) string {
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+where, nil)
	req.RemoteAddr = "127.0.0.1:9"
	out := httptest.NewRecorder()
	page.ServeHTTP(out, req)
	return plainText(out.Body.String())
}

// What plainText leaves out or breaks into lines.
var (
	invisibleHTML = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<svg.*?</svg>|<code>.*?</code>|<ul class="readings">.*?</ul>|<figcaption>.*?</figcaption>|<title>.*?</title>`)
	blockTags     = regexp.MustCompile(`(?i)</?(p|div|dd|dt|dl|td|th|tr|li|ol|ul|h1|h2|h3|summary|article|section|table|thead|tbody|header|main)\b[^>]*>`)
	markupTags    = regexp.MustCompile(`<[^>]*>`)
)

// plainText returns the text of HTML, a line for each block. It leaves out charts, which have
// checks of their own, and commands and readings, which make no claims.
func plainText(s string) string {
	return html.UnescapeString(markupTags.ReplaceAllString(blockTags.ReplaceAllString(invisibleHTML.ReplaceAllString(s, "\n"), "\n"), ""))
}
