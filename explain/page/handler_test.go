package page

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A wire is a live run: the messages so far, and those to come.
type wire struct {
	mu    sync.Mutex
	said  []protocol.Message
	more  chan struct{}
	ended bool
}

func newWire(said ...protocol.Message) *wire { return &wire{said: said, more: make(chan struct{})} }

func (w *wire) say(all ...protocol.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, all...)
	close(w.more)
	w.more = make(chan struct{})
}

func (w *wire) end() { w.mu.Lock(); w.ended = true; w.mu.Unlock(); w.say() }

func (w *wire) source(ctx context.Context, from uint64, each func(protocol.Message) error) error {
	for {
		w.mu.Lock()
		fresh, more, ended := w.said[from:], w.more, w.ended
		w.mu.Unlock()
		for _, m := range fresh {
			if err := each(m); err != nil {
				return err
			}
			from++
		}
		if ended && len(fresh) == 0 {
			return nil
		}
		if len(fresh) > 0 {
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// finished serves a run that is over, of so many jobs.
func finished(t *testing.T, jobs int, opts Options) *httptest.Server {
	t.Helper()
	w := newWire(historytest.GenerateDay(jobs, 10*time.Minute)...)
	w.ended = true
	run := tail.StartReading(context.Background(), w.source, nil)
	<-run.ReadingDone()
	return served(t, run, opts)
}

// served serves the page of a run.
func served(t *testing.T, run *tail.Run, opts Options) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(NewPageHandler(run, opts))
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, address string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(text)
}

func TestThePageAndItsPieces(t *testing.T) {
	s := finished(t, 30, Options{Title: "made up"})
	for _, tc := range []struct {
		path   string
		status int
		want   string
	}{
		{"/", 200, "Ask this run"},
		{"/?t=1773230000000", 200, "data-pinned"},
		{"/?t=nonsense", 200, "Ask this run"},
		{"/?q=carbon+by+site", 200, "read as: carbon used by site"},
		{"/?d=D-2", 200, "Decision D-2"},
		{"/?d=D-999999", 200, "No decision D-999999 is in this run."},
		{"/at?t=1773230000000", 200, `id="tiles"`},
		{"/feed?before=100", 200, "data-n="},
		{"/feed", 400, "want a position"},
		{"/decision?d=D-2", 200, "job-00000"},
		{"/decision?d=x", 404, "No decision x"},
		{"/ask?q=why+job-00000", 200, `data-d="D-2"`},
		{"/ask?q=colour+of+the+moon", 200, "unclear"},
		{"/ask?q=" + url.QueryEscape("late jobs? what did waiting save?"), 200, `data-asked="what did waiting save"`}, // the second of two
		{"/ask", 200, "Ask in plain words"},
		{"/chart/day.svg", 200, "<svg"},
		{"/chart/day.html?w=360", 200, "<figure"},
		{"/chart/offers.txt?d=D-2", 200, "oslo"},
		{"/chart/offers.svg?d=D-x", 404, "no decision"},
		{"/chart/nonsense.svg", 404, "there are"},
		{"/chart/day.gif", 404, "want .svg"},
		{"/static/page.css", 200, "--paper"},
		{"/static/page.go", 404, ""},
		{"/mcp", 404, ""},
		{"/nonsense", 404, ""},
	} {
		t.Run(tc.path, func(t *testing.T) {
			a, text := get(t, s.URL+tc.path, nil)
			if a.StatusCode != tc.status || !strings.Contains(text, tc.want) {
				t.Errorf("%s: %d, want %d with %q in\n%.600s", tc.path, a.StatusCode, tc.status, tc.want, text)
			}
			for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Access-Control-Allow-Origin": ""} {
				if got := a.Header.Get(header); got != want {
					t.Errorf("%s: %s is %q; want %q", tc.path, header, got, want)
				}
			}
			if csp := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") && !strings.HasSuffix(strings.Split(tc.path, "?")[0], ".svg") {
				t.Errorf("%s: policy %q", tc.path, csp)
			}
		})
	}
}

func TestTheChartAsAPicture(t *testing.T) {
	s := finished(t, 5, Options{})
	a, err := http.Get(s.URL + "/chart/day.png?w=400")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if im, err := png.Decode(a.Body); err != nil || im.Bounds().Dx() != 800 {
		t.Errorf("a picture: %v; want it 800 pixels wide", err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// Nothing on the page needs what its policy forbids, and no name is markup.
func TestThePageHoldsNoScriptOfItsOwnAndNoName(t *testing.T) {
	s := finished(t, 6, Options{Title: "<b>run</b>"})
	job := url.QueryEscape(string(historytest.HostileText))
	for _, path := range []string{"/", "/at", "/ask?q=late+jobs", "/ask?q=top+5+jobs+by+carbon", "/ask?q=" + url.QueryEscape(`"><script>alert(1)</script>`),
		"/?q=" + url.QueryEscape(`"><img src=x onerror=alert(1)>`), "/?d=" + url.QueryEscape(`"><b>`), "/chart/job.html?j=" + job, "/decision?d=D-6", "/events?after=0"} {
		_, text := get(t, s.URL+path, nil)
		for _, bad := range []string{"<img", "<b>run", "<script>", "onerror=alert(1)>", " style=", " onclick", "javascript:", "\x1b", "\u202e"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		for _, m := range regexp.MustCompile(`<script[^>]*>`).FindAllString(text, -1) {
			if !strings.Contains(m, `src="static/`) {
				t.Errorf("%s holds %s", path, m)
			}
		}
		if m := regexp.MustCompile(`https?://[^ "<]*`).FindString(text); m != "" {
			t.Errorf("%s names %s", path, m)
		}
	}
	if _, text := get(t, s.URL+"/decision?d=D-6", nil); !strings.Contains(text, "&lt;img src=x onerror=alert(1)&gt;") {
		t.Errorf("the name of the job is not on its card:\n%s", text)
	}
}

func TestWhoMayRead(t *testing.T) {
	const token = "0123456789abcdef"
	open, locked := finished(t, 3, Options{}), finished(t, 3, lockedWith(t, token))
	byName := lockedWith(t, token)
	byName.Hosts = []string{"gridbid.example", "Hub.Example:8443"}
	named := finished(t, 3, byName)
	bearer := func(s string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s) }
	}
	host := func(s string) func(*http.Request) { return func(r *http.Request) { r.Host = s } }
	for _, tc := range []struct {
		name   string
		server *httptest.Server
		path   string
		change func(*http.Request)
		want   int
	}{
		{"this machine reads", open, "/", nil, 200},
		{"by its name", open, "/", host("localhost:8080"), 200},
		{"by its number, version 6", open, "/", host("[::1]:8080"), 200},
		{"a name that was pointed here", open, "/", host("evil.example"), 421},
		{"a name that looks like ours", open, "/", host("localhost.evil.example"), 421},
		{"without a token", locked, "/at", nil, 401},
		{"with another token", locked, "/at", bearer(token + "x"), 401},
		{"with an empty token", locked, "/at", bearer(""), 401},
		{"with the token", locked, "/at", bearer(token), 200},
		{"a browser is asked to sign in", locked, "/", nil, 303},
		{"where it can", locked, "/login", nil, 200},
		{"with its looks", locked, "/static/page.css", nil, 200},
		{"the feed is locked", locked, "/events", nil, 401},
		{"a chart is locked", locked, "/chart/day.png", nil, 401},
		{"mcp is locked", locked, "/mcp", nil, 401},
		{"a forged cookie", locked, "/at", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "gridbid", Value: token}) }, 401},
		{"the name that it has", named, "/at", func(r *http.Request) { r.Host = "gridbid.example"; bearer(token)(r) }, 200},
		{"a name that was given in capitals and with a port", named, "/at", func(r *http.Request) { r.Host = "hub.example:8443"; bearer(token)(r) }, 200},
		{"another name", named, "/at", func(r *http.Request) { r.Host = "evil.example"; bearer(token)(r) }, 421},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if a, text := get(t, tc.server.URL+tc.path, tc.change); a.StatusCode != tc.want {
				t.Errorf("%s: %d, want %d\n%.200s", tc.path, a.StatusCode, tc.want, text)
			}
		})
	}
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	r.RemoteAddr = "192.0.2.7:4000"
	w := httptest.NewRecorder()
	open.Config.Handler.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("another machine, without a token: %d; want 403", w.Code)
	}
}

func TestSigningIn(t *testing.T) {
	s := finished(t, 3, lockedWith(t, "0123456789abcdef"))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	post := func(token, site string) *http.Response {
		r, _ := http.NewRequest(http.MethodPost, s.URL+"/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a
	}
	if a := post("wrong", ""); a.StatusCode != 401 || len(a.Cookies()) != 0 {
		t.Errorf("a wrong token: %d with %d cookies", a.StatusCode, len(a.Cookies()))
	}
	if a := post("0123456789abcdef", "cross-site"); a.StatusCode != 403 {
		t.Errorf("from another site: %d; want 403", a.StatusCode)
	}
	a := post("0123456789abcdef", "same-origin")
	if a.StatusCode != 303 || len(a.Cookies()) != 1 {
		t.Fatalf("the token: %d with %d cookies", a.StatusCode, len(a.Cookies()))
	}
	c := a.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, "0123456789abcdef") {
		t.Errorf("cookie %+v", c)
	}
	if a, _ := get(t, s.URL+"/", func(r *http.Request) { r.AddCookie(c) }); a.StatusCode != 200 {
		t.Errorf("signed in: %d", a.StatusCode)
	}
}

func TestThePageChangesNothing(t *testing.T) {
	s := finished(t, 3, Options{})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		for _, path := range []string{"/", "/ask", "/at", "/decision", "/events", "/login"} {
			r, _ := http.NewRequest(method, s.URL+path, strings.NewReader("q=summary"))
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			a.Body.Close()
			if a.StatusCode != http.StatusMethodNotAllowed && a.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s: %d; want it refused", method, path, a.StatusCode)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// listen reads a feed until it has so many decisions, and returns their
// positions.
func listen(t *testing.T, address, after string, want int) (ids []uint64) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	client := &http.Client{}
	defer client.CloseIdleConnections()
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 1<<20)
	for len(ids) < want && lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			n, err := strconv.ParseUint(id, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, n)
		}
	}
	return ids
}

// A reader that was cut off, also by a restart of the server, gets every
// decision once and in order.
func TestTheFeedGoesOnAfterARestart(t *testing.T) {
	day := historytest.GenerateDay(40, 10*time.Minute)
	w := newWire(day[:len(day)/3]...)
	serve := func(beat time.Duration) (*httptest.Server, func()) {
		ctx, stop := context.WithCancel(context.Background())
		run := tail.StartReading(ctx, w.source, nil)
		s := httptest.NewServer(NewPageHandler(run, Options{Live: true, HeartbeatInterval: beat}))
		return s, func() { stop(); <-run.ReadingDone(); s.CloseClientConnections(); s.Close() }
	}
	s, stop := serve(10 * time.Millisecond)
	ids := listen(t, s.URL+"/events?after=0", "", 5)
	stop()
	w.say(day[len(day)/3:]...)
	s, stop = serve(time.Minute) // for so long it is waited for what was said before to be read again
	defer stop()
	rest := listen(t, s.URL+"/events?after=0", fmt.Sprint(ids[len(ids)-1]), 45)
	ids = append(ids, rest...)
	if len(ids) != 50 {
		t.Fatalf("%d decisions were told; want 50", len(ids))
	}
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Errorf("decision %d is at %d, after one at %d", i, ids[i], ids[i-1])
		}
	}
}

// The end is sent after everything before it, and only then.
func TestTheFeedTellsTheEnd(t *testing.T) {
	day := historytest.GenerateDay(10, 10*time.Minute)
	w := newWire(day[:5]...)
	run := tail.StartReading(context.Background(), w.source, nil)
	s := httptest.NewServer(NewPageHandler(run, Options{Live: true}))
	defer s.Close()
	told := make(chan string)
	go func() {
		a, err := http.Get(s.URL + "/events?after=0")
		if err != nil {
			told <- err.Error()
			return
		}
		defer a.Body.Close()
		text, _ := io.ReadAll(a.Body)
		told <- string(text)
	}()
	w.say(day[5:]...)
	w.end()
	text := <-told
	if n := strings.Count(text, "event: decision"); n != 12 || !strings.HasSuffix(text, "event: over\ndata: {}\n\n") {
		t.Errorf("%d decisions, then %q; want 12, then the end", n, text[max(0, len(text)-80):])
	}
	http.DefaultClient.CloseIdleConnections()
}

// A server that lost the run says so, and does not keep a client waiting for positions
// with a new meaning; a server that is still reading makes it wait.
func TestTheFeedOfAnotherRunSaysSo(t *testing.T) {
	day := historytest.GenerateDay(10, 10*time.Minute)
	w := newWire(day[:10]...)
	ctx, stop := context.WithCancel(context.Background())
	run := tail.StartReading(ctx, w.source, nil)
	s := httptest.NewServer(NewPageHandler(run, Options{Live: true, HeartbeatInterval: 100 * time.Millisecond}))
	defer func() { stop(); <-run.ReadingDone(); s.Close() }()
	if _, text := get(t, s.URL+"/events?after=100000", nil); !strings.HasSuffix(text, "event: other\ndata: {}\n\n") {
		t.Errorf("the feed says %q", text)
	}
	patient := httptest.NewServer(NewPageHandler(run, Options{Live: true, HeartbeatInterval: time.Minute}))
	defer func() { patient.CloseClientConnections(); patient.Close() }()
	told := make(chan []uint64)
	go func() { told <- listen(t, patient.URL+"/events?after=30", "", 3) }()
	w.say(day[10:]...)
	if ids := <-told; len(ids) != 3 || ids[0] <= 30 {
		t.Errorf("after 30 of %d the feed says %v", len(day), ids)
	}
}

func TestARunThatCannotBeReadSaysWhy(t *testing.T) {
	broken := errors.New("the stream broke")
	run := tail.StartReading(context.Background(), func(context.Context, uint64, func(protocol.Message) error) error { return broken }, nil)
	<-run.ReadingDone()
	if !errors.Is(run.Err(), broken) {
		t.Errorf("Err() = %v; want %v", run.Err(), broken)
	}
	s := httptest.NewServer(NewPageHandler(run, Options{}))
	defer s.Close()
	if a, text := get(t, s.URL+"/", nil); a.StatusCode != 200 || !strings.Contains(text, "No site has said what it is yet") || !strings.Contains(text, "stands still") {
		t.Errorf("an empty page: %d\n%.400s", a.StatusCode, text)
	}
	if _, text := get(t, s.URL+"/events?after=0", nil); !strings.HasSuffix(text, "event: broken\ndata: {}\n\n") { // and not that it is over
		t.Errorf("the feed says %q", text)
	}
}

// scripted is a model that always replies the same.
type scripted string

func (scripted) Name() string { return "scripted" }
func (s scripted) Ask(context.Context, llm.Prompt) (llm.Reply, error) {
	return llm.Reply{Text: string(s)}, nil
}

// Where a model takes part, a question that is not read is answered by the query that it
// made, with and without the page around it.
func TestAModelMayReadAQuestion(t *testing.T) {
	reads := translate.New(scripted(`{"ask":"bill","metric":"carbon","by":"site"}`), time.Minute)
	for _, path := range []string{"/ask?q=", "/?q="} {
		for question, want := range map[string]string{"kohlendioxid+nach+standorten": "I understood: carbon used by site", "carbon+by+site": "read as: carbon used by site"} {
			if _, text := get(t, finished(t, 10, Options{Reads: reads}).URL+path+question, nil); !strings.Contains(text, want) {
				t.Errorf("%s%s: want %q", path, question, want)
			}
		}
		if _, text := get(t, finished(t, 10, Options{}).URL+path+"kohlendioxid+nach+standorten", nil); strings.Contains(text, "I understood") {
			t.Errorf("%s: it is read without a model", path)
		}
	}
}
