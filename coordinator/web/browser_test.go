//go:build browser

package web

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/gridbid/gridbid/bus/journal"
	"github.com/gridbid/gridbid/coordinator/diary/diarytest"
	"github.com/gridbid/gridbid/coordinator/follow"
	"github.com/gridbid/gridbid/protocol"
)

// These tests drive a real Chromium. `make test-page` runs them.

var (
	pictures = flag.String("pictures", "", "keep screenshots in this folder")
	ledger   = flag.String("ledger", "", "take pictures of this run, too")
)

// A tab is a page in a browser of its own, and what went wrong there.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string

	mu      sync.Mutex
	wrong   []string
	allowed []string // what an error may hold that is no fault of the page
}

// browse opens a browser. Without one the test fails: a page that nobody has
// seen is not tested.
func browse(t *testing.T, origin string) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("no chromium: %v; install it: apt-get install chromium", err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1360, 900), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, origin: origin}
	if err := chromedp.Listen(ctx, b.watch); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return b
}

// watch notes what a page must not do.
func (b *tab) watch(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		complaint = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			complaint += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		complaint = fmt.Sprintf("console.%s", e.Type)
	case *log.EventEntryAdded:
		complaint = fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *page.EventJavascriptDialogOpening:
		complaint = "a dialog says " + e.Message
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.origin+"/") {
			complaint = "a request to " + e.Request.URL
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			complaint = fmt.Sprintf("%d of %s", e.Response.Status, e.Response.URL)
		}
	}
	if complaint == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ok := range b.allowed {
		if strings.Contains(complaint, ok) {
			return
		}
	}
	b.wrong = append(b.wrong, complaint)
}

func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v; the page: %v", what, err, b.complaints())
	}
}

// is waits until an expression holds.
func (b *tab) is(what, expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingTimeout(20*time.Second))); err != nil {
		b.t.Fatalf("%s: %v; the page: %v", what, err, b.complaints())
	}
}

func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrong
}

func (b *tab) clean() {
	b.t.Helper()
	for _, c := range b.complaints() {
		b.t.Error(c)
	}
}

func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// looks sets the size of the window, and light or dark.
func (b *tab) looks(width, height int64, scheme string) {
	b.t.Helper()
	b.do("set the window", chromedp.EmulateViewport(width, height), func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
		return chromedp.Void{}, err
	})
}

// picture keeps what is seen, or the whole page.
func (b *tab) picture(name string, whole bool) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	time.Sleep(500 * time.Millisecond) // charts are drawn again for a new width
	if high := value[int64](b, `document.documentElement.scrollHeight`); whole {
		b.do("stretch", chromedp.EmulateViewport(value[int64](b, `innerWidth`), high))
	}
	raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), raw, 0o644)
	}
	if err != nil {
		b.t.Fatalf("picture %s: %v", name, err)
	}
}

func TestBrowserRecorded(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up · auction"})
	b := browse(t, s.URL)
	b.looks(1360, 900, "light")
	b.do("open", chromedp.Navigate(s.URL+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.is("charts are drawn", `document.querySelectorAll('#card svg.chart rect[class^="f-s"]').length > 2 && document.querySelectorAll('#figures polyline').length > 5`)
	if w := value[float64](b, `document.querySelector('#card figure[data-name="offers"] rect[class^="f-s"]').getBoundingClientRect().width`); w < 5 {
		t.Errorf("a bar is %v pixels wide", w)
	}

	// An answer, the decision that it cites, and its chart.
	b.do("ask", chromedp.SendKeys("#q", "why job-00008\n"))
	b.is("the answer cites", `document.querySelector('#reply .cites a[data-d]')`)
	b.is("the answer has a chart", `document.querySelector('#reply svg.chart')`)
	id := value[string](b, `document.querySelector('#reply .cites a').dataset.d`)
	b.do("follow the citation", chromedp.Click("#reply .cites a"))
	b.is("the decision is shown", fmt.Sprintf(`document.querySelector('#card h2').textContent.includes(%q) && document.querySelector('#card').textContent.includes('job-00008')`, id))
	b.do("ask why not", chromedp.Click(`#card .hints a`))
	b.is("it is answered", `document.querySelector('#reply .read').textContent.includes('why not')`)

	// Time.
	ended := value[string](b, `document.querySelector('#tiles').textContent`)
	value[int](b, `(s => { s.value = +s.min + (s.max - s.min) / 3; s.dispatchEvent(new Event('input')); return 0 })(document.getElementById('slide'))`)
	b.is("time moves", fmt.Sprintf(`document.querySelector('#tiles').textContent !== %q && location.search.includes('t=')`, ended))
	b.is("sites work then", `[...document.querySelectorAll('#sites tbody td:nth-child(5)')].some(td => !td.textContent.trim().startsWith('0 '))`)
	b.do("play", chromedp.Click("#play"))
	before := value[string](b, `document.getElementById('clock').textContent`)
	b.is("time goes on", fmt.Sprintf(`document.getElementById('clock').textContent !== %q`, before))
	b.do("to the end", chromedp.Click("#end"))
	b.is("the end is shown", fmt.Sprintf(`document.querySelector('#tiles').textContent === %q`, ended))

	// Names that mean harm are text.
	b.do("ask of the evil one", chromedp.Navigate(s.URL+"/?d=D-6"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.is("its name is text", `document.querySelector('#card').textContent.includes('<img src=x onerror=alert(1)>')`)
	if n := value[int](b, `document.querySelectorAll('img, script:not([src^="static/"])').length`); n != 0 {
		t.Errorf("%d elements came from a name", n)
	}
	b.clean()
}

func TestBrowserKeyboard(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up"})
	b := browse(t, s.URL)
	b.do("open", chromedp.Navigate(s.URL+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.do("slash", chromedp.KeyEvent("/"))
	b.is("the question has the focus", `document.activeElement.id === 'q'`)
	b.do("type", chromedp.KeyEvent("late jobs\r"))
	b.is("it is answered", `document.querySelector('#reply .read')`)
	value[int](b, `(document.activeElement.blur(), 0)`)
	b.do("down", chromedp.KeyEvent("jjk"))
	b.is("the first decision has the focus", `document.activeElement === document.querySelector('#entries a')`)
	b.do("down", chromedp.KeyEvent("j"))
	id := value[string](b, `document.activeElement.dataset.d`)
	b.do("open it", chromedp.KeyEvent("\r"))
	b.is("it is shown", fmt.Sprintf(`document.querySelector('#card h2').textContent.includes(%q) && document.activeElement.getAttribute('aria-current')`, id))
	at := value[string](b, `document.getElementById('clock').textContent`)
	b.do("an hour back", chromedp.KeyEvent("["))
	b.is("it is earlier", fmt.Sprintf(`document.getElementById('clock').textContent !== %q`, at))
	b.do("help", chromedp.KeyEvent("?"))
	b.is("the keys are listed", `document.getElementById('help').open`)
	b.do("close it", chromedp.KeyEvent("\u001b"))
	b.is("it is closed", `!document.getElementById('help').open`)
	// By tab alone everything is reached, and it shows where it is.
	var seen []string
	value[int](b, `(document.body.focus(), 0)`)
	for range 14 {
		b.do("tab", chromedp.KeyEvent("\t"))
		seen = append(seen, value[string](b, `(e => e.id || e.className || e.textContent.trim())(document.activeElement)`))
		if value[string](b, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
			t.Errorf("nothing shows that %s has the focus", seen[len(seen)-1])
		}
	}
	t.Logf("by tab: %q", seen)
	b.clean()
}

func TestBrowserSizes(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up · auction"})
	for _, tc := range []struct {
		name   string
		w, h   int64
		scheme string
	}{{"light", 1360, 900, "light"}, {"dark", 1360, 900, "dark"}, {"tablet", 820, 1180, "light"}, {"phone", 390, 844, "light"}, {"phone-dark", 390, 844, "dark"}} {
		t.Run(tc.name, func(t *testing.T) {
			b := browse(t, s.URL)
			b.looks(tc.w, tc.h, tc.scheme)
			b.do("open", chromedp.Navigate(s.URL+"/?q=carbon+by+site&d=D-6"), chromedp.WaitVisible(`body[data-ready="1"]`))
			b.is("charts fit", `[...document.querySelectorAll('figure')].every(f => Math.abs(f.querySelector('svg').viewBox.baseVal.width - f.clientWidth) < 20)`)
			if w := value[int64](b, `document.documentElement.scrollWidth`); w > tc.w {
				t.Errorf("the page is %d pixels wide in a window of %d: %s", w, tc.w, value[string](b,
					`[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.tagName + '.' + (e.className.baseVal ?? e.className)).join(' ')`))
			}
			if small := value[string](b, `[...document.querySelectorAll('button, select, #entries a')].filter(e => e.offsetParent && e.getBoundingClientRect().height < 24).map(e => e.id || e.textContent).join(' ')`); small != "" {
				t.Errorf("too small to touch: %s", small)
			}
			b.picture(tc.name, true)
			b.clean()
		})
	}
}

// at serves a run at an address, and returns what stops it.
func at(t *testing.T, address string, w *wire) (string, func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	run := follow.Start(ctx, w.source, nil)
	socket, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: New(run, Options{Title: "made up", Live: true}), BaseContext: func(net.Listener) context.Context { return ctx }}
	gone := make(chan struct{})
	go func() { _ = s.Serve(socket); close(gone) }()
	return socket.Addr().String(), sync.OnceFunc(func() { stop(); s.Close(); <-gone; <-run.Over() })
}

func TestBrowserLive(t *testing.T) {
	day := diarytest.Day(60, 10*time.Minute)
	third := len(day) / 3
	w := newWire(day[:third]...)
	address, stop := at(t, "127.0.0.1:0", w)
	b := browse(t, "http://"+address)
	b.allowed = []string{"ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"} // while the server is away
	b.do("open", chromedp.Navigate("http://"+address+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.is("it is live", `document.getElementById('state').textContent === 'live'`)
	w.say(day[third : 2*third]...)
	newest := func(of []protocol.Message) (n int) {
		for i, m := range of {
			switch m.Body.(type) {
			case protocol.Award, protocol.Hold:
				n = i + 1
			}
		}
		return n
	}
	b.is("decisions come", fmt.Sprintf(`document.querySelector('#entries [data-n]').dataset.n === '%d'`, newest(day[:2*third])))
	stop()
	b.is("it says that the server is away", `document.getElementById('state').textContent.includes('not reached')`)
	w.say(day[2*third:]...)
	_, stop = at(t, address, w)
	defer stop()
	b.is("what was said meanwhile comes", fmt.Sprintf(`document.querySelector('#entries [data-n]').dataset.n === '%d'`, newest(day)))
	all := value[[]string](b, `[...document.querySelectorAll('#entries [data-d]')].map(a => a.dataset.d)`)
	seen := make(map[string]bool)
	for _, id := range all {
		if seen[id] {
			t.Errorf("%s is shown twice", id)
		}
		seen[id] = true
	}
	if len(all) != 75 {
		t.Errorf("%d decisions are shown; want 75", len(all))
	}
	b.is("figures follow", `document.querySelector('#tiles').textContent.includes('60 ended')`)
	w.end()
	b.is("the end is told", `document.getElementById('state').textContent === 'ended'`)
	b.clean()
}

// Pictures of a real run, for people.
func TestBrowserLedger(t *testing.T) {
	if *ledger == "" {
		t.Skip("no -ledger: no pictures of a run")
	}
	run := follow.Start(context.Background(), func(_ context.Context, _ uint64, each func(protocol.Message) error) error {
		return readJournal(*ledger, each)
	}, nil)
	<-run.Over()
	if err := run.Err(); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: New(run, Options{Title: "six-regions · auction", Policy: "auction"})}
	go s.Serve(socket)
	defer s.Close()
	b := browse(t, "http://"+socket.Addr().String())
	for _, scheme := range []string{"light", "dark"} {
		b.looks(1360, 900, scheme)
		b.do("open", chromedp.Navigate(b.origin+"/?t=1773234000000"), chromedp.WaitVisible(`body[data-ready="1"]`))
		b.picture("run-"+scheme, true)
	}
	b.clean()
}

func readJournal(path string, each func(protocol.Message) error) error {
	r, err := journal.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		m, err := r.Read()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := each(m); err != nil {
			return err
		}
	}
}

// What a person feels: how soon a day of 10,000 decisions is on the screen, and
// whether the page stays smooth while 50 decisions come in each second. The
// figures are printed; what is required is far from them.
func TestSpeed(t *testing.T) {
	day := diarytest.Day(8000, 10*time.Second)
	decisions, most := 0, 0
	for i, m := range day {
		switch m.Body.(type) {
		case protocol.Award, protocol.Hold:
			if decisions++; decisions == 10_000-600 {
				most = i
			}
		}
	}
	w := newWire(day[:most]...)
	began := time.Now()
	address, stop := at(t, "127.0.0.1:0", w)
	defer stop()
	b := browse(t, "http://"+address)
	b.looks(1360, 900, "light")
	b.do("warm up", chromedp.Navigate("http://"+address+"/static/icon.svg"))
	b.is("all is read", `fetch('/at').then(r => r.text()).then(s => s.includes('9,400'))`)
	t.Logf("%d messages of a day with %d decisions are read after %v", most, decisions, time.Since(began).Round(time.Millisecond))
	b.do("open", chromedp.Navigate("http://"+address+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.is("it is painted", `performance.getEntriesByName('first-contentful-paint').length`)
	t.Logf("first content after %.0f ms, all of it after %.0f ms; the page is %d kB", value[float64](b, `performance.getEntriesByName('first-contentful-paint')[0].startTime`),
		value[float64](b, `performance.getEntriesByType('navigation')[0].domComplete`), value[int64](b, `performance.getEntriesByType('navigation')[0].transferSize`)/1000)

	value[int](b, `(() => { window.frames_ = []; window.tasks_ = []; let last = performance.now();
		new PerformanceObserver(l => l.getEntries().forEach(e => window.tasks_.push(e.duration))).observe({entryTypes: ['longtask']});
		(function next() { const now = performance.now(); window.frames_.push(now - last); last = now; requestAnimationFrame(next) })(); return 0 })()`)
	fed, told := time.Now(), 0
	for i := most; i < len(day) && told < 500; i++ {
		switch day[i].Body.(type) {
		case protocol.Award, protocol.Hold:
			told++
			time.Sleep(time.Until(fed.Add(time.Duration(told) * 20 * time.Millisecond)))
		}
		w.say(day[i])
		most = i
	}
	took := time.Since(fed)
	b.is("the last has come", fmt.Sprintf(`document.querySelector('#entries [data-n]').dataset.n >= %d`, most-20))
	slow := value[float64](b, `frames_.sort((a, b) => a - b)[Math.floor(frames_.length * 0.99)]`)
	t.Logf("%d decisions in %v: %.0f frames a second, 99 %% of frames within %.0f ms, %d tasks over 50 ms, the longest %.0f ms", told, took.Round(time.Millisecond),
		value[float64](b, `frames_.length`)/took.Seconds(), slow, value[int](b, `tasks_.length`), value[float64](b, `Math.max(0, ...tasks_)`))
	if slow > 500 {
		t.Errorf("one frame in a hundred takes %.0f ms; want the page to stay alive", slow)
	}
	b.clean()
}
