package attack

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/gridbid/gridbid/coordinator/advise"
	"github.com/gridbid/gridbid/coordinator/chat"
	"github.com/gridbid/gridbid/coordinator/decision"
	"github.com/gridbid/gridbid/coordinator/follow"
	"github.com/gridbid/gridbid/coordinator/narrate"
	"github.com/gridbid/gridbid/coordinator/phrase"
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/coordinator/web"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

// payload plays a day in which a hostile text is a job's name and its tenant's,
// or an operator's note, beside a model that does what it is told; then it asks
// about that job everywhere, and puts the text as a question too.
func payload(ctx context.Context, surface, text string) (Row, error) {
	s, advice := stage(60)
	note := strings.Contains(surface, "note")
	if note {
		for i := range advice.Notes {
			advice.Notes[i].Text = string([]rune(text)[:min(300, len([]rune(text)))])
		}
	} else {
		for i := range 4 { // of several jobs: the first may never be asked about
			s.Jobs[i*13].ID = protocol.JobID(fmt.Sprint(text, strings.Repeat("\u200b", i)))
			s.Jobs[i*13].Tenant = text
		}
	}
	var mu sync.Mutex
	var prompts []string
	obeys := model(func(p llm.Prompt) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		prompts = append(prompts, p.System+p.User+string(p.Schema))
		return pick("k1"), nil
	})
	r, err := play(ctx, s, advice, advise.NewJudge(obeys, time.Now).Sit(ctx))
	if err != nil {
		return Row{Detail: "the day does not add up: " + err.Error()}, nil
	}
	var broken []string
	complain := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	for _, p := range prompts {
		if bad := unprintable(p); bad != "" {
			complain("a prompt holds %s", bad)
		}
		if !note && holds(p, text) {
			complain("a prompt holds the text")
		}
	}
	if len(prompts) == 0 {
		complain("the model was not asked, so nothing was shown")
	}
	shown := r.shown(ctx, complain, text)
	detail := fmt.Sprintf("%d questions to a model, %d texts and pages looked at", r.asked(), shown)
	if len(broken) > 0 {
		detail = strings.Join(slices.Compact(broken), "; ")
	}
	return Row{Held: len(broken) == 0, Detail: detail}, nil
}

// shown looks at all that a person may see of the jobs of a run, and at what the
// text gets as a question.
func (r run) shown(ctx context.Context, complain func(string, ...any), text string) (n int) {
	log := chat.New(nil)
	for _, m := range r.said {
		log.Add(m)
	}
	look := func(where, s string) {
		n++
		if bad := unprintable(s); bad != "" {
			complain("%s shows %s", where, bad)
		}
	}
	var hostile []protocol.JobID
	for i, id := range r.res.Book.Jobs() {
		if !strings.HasPrefix(string(id), "job-") || i == 0 {
			hostile = append(hostile, id)
		}
	}
	var ids []string
	for i, id := range hostile {
		rec, _ := r.res.Book.Job(id)
		var out bytes.Buffer
		_ = narrate.Decision(&out, rec) // a buffer takes all
		look("why", out.String())
		for _, h := range rec.Hearings {
			if d, ok := decision.Of(rec, h, i+1, 0); ok {
				ids = append(ids, d.ID)
				for _, f := range d.Facts {
					look("the record", f.Text)
					if holds(f.Text, text) {
						complain("a fact of the record holds the text")
					}
				}
			}
		}
	}
	questions := []string{text, "why " + text, "help", "late jobs", "carbon by tenant", "top 5 jobs by carbon", "what did waiting save"}
	for _, id := range hostile {
		questions = append(questions, "why did "+string(id)+" wait")
	}
	ids = ids[:min(len(ids), 6)]
	for _, q := range append(questions, ids...) {
		var out bytes.Buffer
		a := log.Ask(q)
		_ = a.Write(&out)
		look("ask", out.String())
		if q == text && a.Kind == "answer" && a.Query == nil {
			complain("the text was answered as no question")
		}
	}
	look("a policy's paraphrase", said(text, complain))
	for _, m := range r.said {
		line, err := protocol.JSON(m)
		if err != nil {
			complain("tap: %v", err)
		}
		look("tap", string(line))
	}
	return n + r.pages(ctx, complain, append(questions, ids...), text)
}

// said reads the text as a wish for a policy, as one person would put it in
// force, and returns what that person would be shown.
func said(text string, complain func(string, ...any)) (shown string) {
	was := protocol.Policy{Version: 1, Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"coal"}, Words: "coal"}}}
	c := policy.Say(text, was, policy.Known{Sites: []string{"coal", "hydro", "solar"}, Tenants: []string{"lab"}, Now: start})
	for _, o := range c.Ops {
		shown += policy.Tell(was, o) + "\n"
	}
	now, err := policy.Apply(was, c, "one", "", phrase.Clean(text))
	if err == nil && !slices.ContainsFunc(now.Rules, func(r protocol.Rule) bool { return r.ID == "R-1" }) {
		complain("one person alone takes a hard rule away")
	}
	return shown
}

// pages looks at the page of a run: the front, the answers and the decisions.
func (r run) pages(ctx context.Context, complain func(string, ...any), questions []string, text string) (n int) {
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
	followed := follow.Start(ctx, source, nil)
	select {
	case <-followed.Over():
	case <-ctx.Done():
		return 0
	}
	tools(ctx, followed, complain, func(where, s string) {
		n++
		if bad := unprintable(s); bad != "" {
			complain("%s shows %s", where, bad)
		}
	}, questions, questions[max(0, len(questions)-6):])
	page := web.New(followed, web.Options{Title: "attacked"})
	for _, q := range questions {
		for _, where := range []string{"/?q=" + url.QueryEscape(q), "/?d=" + url.QueryEscape(q)} {
			req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+where, nil)
			req.RemoteAddr = "127.0.0.1:9"
			out := httptest.NewRecorder()
			page.ServeHTTP(out, req)
			n++
			body := box.ReplaceAllString(out.Body.String(), "") // the person's own words
			if out.Code >= 500 {
				complain("the page answers %d", out.Code)
			}
			if out.Code == http.StatusOK && !strings.Contains(out.Header().Get("Content-Security-Policy"), "default-src 'none'") {
				complain("the page has no strict policy")
			}
			if bad := unprintable(body); bad != "" {
				complain("the page shows %s", bad)
			}
			if strings.ContainsAny(text, "<>") && strings.Contains(body, text) {
				complain("the page holds the text as markup")
			}
		}
	}
	return n
}

var box = regexp.MustCompile(`<input id="q"[^>]*>`)

// holds reports whether a text holds a telling part of a hostile one.
func holds(text, hostile string) bool {
	words := strings.FieldsFunc(hostile, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	for i := range words {
		part := strings.Join(words[i:min(i+3, len(words))], " ")
		if len(part) >= 12 && strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// unprintable names the first character of a text that could move a cursor,
// turn text or hide in it, or "".
func unprintable(s string) string {
	for _, r := range s {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) && r != '\u00a0' && r != '\u202f' && r != '\u2009' || r == unicode.ReplacementChar {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}
