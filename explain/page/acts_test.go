package page

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/history/tenantview"
	"github.com/gridbid/gridbid/protocol"
)

// Tokens of the visitors of an actsPage.
const (
	tokenOfA       = "aaaaaaaaaaaaaaaa"
	tokenOfB       = "bbbbbbbbbbbbbbbb"
	tokenOfAuditor = "cccccccccccccccc"
)

// An actsPage is a page with visitors: team-a, team-b and an auditor.
type actsPage struct {
	*testing.T
	*httptest.Server

	mu                 sync.Mutex
	cancelled, refused []string
}

func newActsPage(t *testing.T) *actsPage {
	s := &actsPage{T: t}
	file := filepath.Join(t.TempDir(), "credentials.json")
	writeCredentials(t, file, rights.File{Credentials: []rights.Credential{
		credentialOf(tokenOfA, rights.Tenant, "team-a"), credentialOf(tokenOfB, rights.Tenant, "team-b"), credentialOf(tokenOfAuditor, rights.Auditor, ""),
	}})
	readers, err := rights.New(rights.Config{CredentialsFile: file, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	day := historytest.GenerateDay(60, 3*time.Minute)
	open := day[:len(day)/2] // so that some jobs have not ended
	read := func(all []protocol.Message) *tail.Run {
		run := tail.StartReading(t.Context(), func(_ context.Context, _ uint64, each func(protocol.Message) error) error {
			for _, m := range all {
				if err := each(m); err != nil {
					return err
				}
			}
			return nil
		}, nil)
		<-run.ReadingDone()
		return run
	}
	own := make(map[string]*tail.Run)
	for _, tenant := range []string{"team-a", "team-b"} {
		own[tenant] = read(tenantview.Of(open, func(t string) bool { return t == tenant }))
	}
	s.Server = httptest.NewServer(NewPageHandler(read(open), Options{
		Title: "test", Readers: readers, MCP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret of all") }),
		OwnRun: func(ctx context.Context) (*tail.Run, error) { return own[rights.Of(ctx).Tenant], nil },
		Acts: Acts{
			Cancel: func(ctx context.Context, id protocol.JobID) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				if id == "unknown" {
					return errors.New("api: unknown job")
				}
				s.cancelled = append(s.cancelled, rights.Of(ctx).Tenant+" "+string(id))
				return nil
			},
			Quote: func(_ context.Context, file []byte) ([]string, error) {
				if strings.Contains(string(file), "<") {
					return nil, errors.New("jobfile: <b>")
				}
				return []string{"oslo: from $1"}, nil
			},
			Log: func(ctx context.Context, id protocol.JobID) ([]string, error) {
				if rights.Of(ctx).Tenant != "team-a" || id != "j" {
					return nil, errors.New("api: unknown job")
				}
				return []string{"step 1 </pre><script>alert(1)</script>\x1b[2J"}, nil
			},
			Refused: func(_ *http.Request, who string, why error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.refused = append(s.refused, who+" "+why.Error())
			},
		},
	}))
	t.Cleanup(s.Close)
	return s
}

// signIn returns a browser that is signed in by a token.
func (s *actsPage) signIn(token string) *http.Client {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.Cleanup(client.CloseIdleConnections)
	answer, err := client.PostForm(s.URL+"/login", url.Values{"token": {token}})
	if err != nil {
		s.Fatal(err)
	}
	_ = answer.Body.Close()
	for _, c := range answer.Cookies() {
		if c.SameSite != http.SameSiteStrictMode || !c.HttpOnly {
			s.Errorf("the cookie is sent from other sites, or read by scripts: %v", c)
		}
	}
	if answer.StatusCode != http.StatusSeeOther {
		s.Fatalf("signing in: %d", answer.StatusCode)
	}
	return client
}

// do sends a request, changed by change, and returns the status and the text of the answer.
func (s *actsPage) do(client *http.Client, method, path string, form url.Values, change func(*http.Request)) (int, string) {
	s.Helper()
	r, err := http.NewRequest(method, s.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(r)
	}
	answer, err := client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

var formText = regexp.MustCompile(`name="form" value="([^"]+)"`)

// formOf returns the text that forms of a session have.
func (s *actsPage) formOf(client *http.Client) string {
	s.Helper()
	_, text := s.do(client, "GET", "/act?job=x", nil, nil)
	found := formText.FindStringSubmatch(text)
	if found == nil {
		s.Fatalf("no form in\n%s", text)
	}
	return found[1]
}

// A job is cancelled by the form of the visitor's own session, and by nothing else.
func TestAnActNeedsAFormOfItsOwnSession(t *testing.T) {
	s := newActsPage(t)
	a, b, auditor, stranger := s.signIn(tokenOfA), s.signIn(tokenOfB), s.signIn(tokenOfAuditor), &http.Client{}
	formA, formB := s.formOf(a), s.formOf(b)
	if formA == formB || len(formA) < 20 {
		t.Errorf("forms have %q and %q", formA, formB)
	}
	crossSite := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	for what, c := range map[string]struct {
		client *http.Client
		form   url.Values
		change func(*http.Request)
		want   int
	}{
		"no text":                 {a, url.Values{"job": {"j"}}, nil, 403},
		"a guessed text":          {a, url.Values{"job": {"j"}, "form": {"guess"}}, nil, 403},
		"an empty text":           {a, url.Values{"job": {"j"}, "form": {""}}, nil, 403},
		"the text of another":     {a, url.Values{"job": {"j"}, "form": {formB}}, nil, 403},
		"another site's page":     {a, url.Values{"job": {"j"}, "form": {formA}}, crossSite, 403},
		"another site, same host": {a, url.Values{"job": {"j"}, "form": {formA}}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		"another origin":          {a, url.Values{"job": {"j"}, "form": {formA}}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"no session":              {stranger, url.Values{"job": {"j"}, "form": {formA}}, nil, 401},
		"a token and no session":  {stranger, url.Values{"job": {"j"}, "form": {formA}}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+tokenOfA) }, 403},
		"an auditor":              {auditor, url.Values{"job": {"j"}, "form": {""}}, nil, 403},
	} {
		for _, path := range []string{"/cancel", "/quote"} {
			if code, text := s.do(c.client, "POST", path, c.form, c.change); code != c.want {
				t.Errorf("%s, %s: %d %.200s; want %d", what, path, code, text, c.want)
			}
		}
	}
	if code, _ := s.do(a, "GET", "/cancel?job=j&form="+formA, nil, nil); code != http.StatusMethodNotAllowed {
		t.Errorf("a link cancels: %d", code)
	}
	if code, text := s.do(auditor, "GET", "/act?job=j", nil, nil); code != 403 {
		t.Errorf("an auditor is shown acts: %d %s", code, text)
	}
	if len(s.cancelled) > 0 || !slices.Contains(s.refused, "reader cc page: no role of this credential may do that") {
		t.Errorf("cancelled %v, refused %v", s.cancelled, s.refused)
	}
	if code, text := s.do(a, "POST", "/cancel", url.Values{"job": {"j"}, "form": {formA}}, nil); code != http.StatusSeeOther || !slices.Equal(s.cancelled, []string{"team-a j"}) {
		t.Errorf("its own form: %d %s; cancelled %v", code, text, s.cancelled)
	}
	if code, text := s.do(a, "POST", "/cancel", url.Values{"job": {"unknown"}, "form": {formA}}, nil); code != 200 || !strings.Contains(text, "unknown job") {
		t.Errorf("a job that is not there: %d %s", code, text)
	}
	if code, text := s.do(a, "POST", "/quote", url.Values{"file": {"gpus: 1"}, "form": {formA}}, nil); code != 200 || !strings.Contains(text, "oslo: from $1") {
		t.Errorf("a quote: %d %s", code, text)
	}
	if code, text := s.do(a, "POST", "/quote", url.Values{"file": {"</textarea><script>"}, "form": {formA}}, nil); code != 200 || strings.Contains(text, "<script>") || strings.Contains(text, "<b>") {
		t.Errorf("a hostile file: %d %s", code, text)
	}
}

// A tenant reads what its own jobs wrote; it is text, whatever it is. Who may not submit has no logs.
func TestThePageShowsLogsOfOnesOwnJobs(t *testing.T) {
	s := newActsPage(t)
	a, b, auditor := s.signIn(tokenOfA), s.signIn(tokenOfB), s.signIn(tokenOfAuditor)
	if code, text := s.do(a, "GET", "/log?job=j", nil, nil); code != 200 || !strings.Contains(text, "step 1 &lt;/pre&gt;") || strings.ContainsAny(text, "\x1b") || strings.Contains(text, "<script>") {
		t.Errorf("its own: %d %s", code, text)
	}
	if code, text := s.do(b, "GET", "/log?job=j", nil, nil); code != 200 || strings.Contains(text, "step 1") || !strings.Contains(text, "unknown job") {
		t.Errorf("the job of another: %d %s", code, text)
	}
	if code, text := s.do(auditor, "GET", "/log?job=j", nil, nil); code != 403 || strings.Contains(text, "step 1") {
		t.Errorf("an auditor: %d %s", code, text)
	}
	if _, text := s.do(a, "GET", "/jobs?t=end", nil, nil); !strings.Contains(text, "log?job=") {
		t.Errorf("its jobs have no link to their logs:\n%s", text)
	}
}

// The page of a tenant shows its own part of the run at every address, and has no door to the whole.
func TestATenantsPageShowsItsOwnPart(t *testing.T) {
	s := newActsPage(t)
	a, auditor := s.signIn(tokenOfA), s.signIn(tokenOfAuditor)
	_, whole := s.do(auditor, "GET", "/jobs?t=end", nil, nil)
	if !strings.Contains(whole, "team-b") || strings.Contains(whole, "act?job=") {
		t.Fatalf("the auditor's page:\n%s", whole)
	}
	id := regexp.MustCompile(`job-\d{5}`)
	mine := make(map[string]bool) // by id
	for _, m := range historytest.GenerateDay(60, 3*time.Minute) {
		if j, ok := m.Body.(protocol.Submit); ok {
			mine[string(j.Job.ID)] = j.Job.Tenant == "team-a"
		}
	}
	seen := 0
	for _, path := range []string{
		"/", "/?t=end", "/at?t=end", "/jobs?t=end", "/feed?before=100000&t=end", "/?q=jobs+by+tenant", "/ask?q=late+jobs", "/ask?q=who+used+most", "/ask?q=why+job-00001", "/decision?d=D-1", "/decision?d=D-7",
		"/chart/gantt.html?t=end", "/chart/gantt.txt", "/chart/queue.txt", "/chart/day.txt", "/versus?vs=x", "/act?job=x",
	} {
		_, text := s.do(a, "GET", path, nil, nil)
		for _, found := range id.FindAllString(text, -1) {
			if seen++; !mine[found] && !strings.Contains(path, found) {
				t.Errorf("GET %s shows %s", path, found)
			}
		}
		for _, other := range []string{"team-b", "team-c", "team-d", "team-e", "secret of all"} {
			if strings.Contains(text, other) {
				t.Errorf("GET %s shows %s", path, other)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d ids were shown in all", seen)
	}
	if code, _ := s.do(a, "POST", "/mcp", nil, nil); code != 404 {
		t.Errorf("a tenant asks the whole run by /mcp: %d", code)
	}
	if _, text := s.do(a, "GET", "/jobs?t=end", nil, nil); !strings.Contains(text, "act?job=") {
		t.Errorf("its open jobs have no link to cancel them:\n%s", text)
	}
}
