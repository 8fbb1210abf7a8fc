//go:build browser

package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/internal/browsertest"
	"github.com/gridbid/gridbid/protocol"
)

// These tests drive a real Chromium. `make test-page` runs them.

var (
	pictures = flag.String("pictures", "", "keep screenshots in this folder")
	ledger   = flag.String("ledger", "", "take pictures of this run, too")
)

// picture keeps what is seen of the whole page, with all charts.
func picture(b *browsertest.BrowserTab, name string) {
	if *pictures == "" {
		return
	}
	drawAll(b)
	width := browsertest.EvaluateExpression[int64](b, `innerWidth`)
	b.RunSteps("see how high it is", chromedp.EmulateViewport(width, 600)) // a page is at least as high as its window
	b.RunSteps("stretch", chromedp.EmulateViewport(width, browsertest.EvaluateExpression[int64](b, `document.documentElement.scrollHeight`)))
	b.SaveScreenshot(filepath.Join(*pictures, name+".png"))
}

// drawAll makes the window so high that every chart is near it, and waits until all are drawn for the
// width that they have.
func drawAll(b *browsertest.BrowserTab) {
	b.RunSteps("stretch", chromedp.EmulateViewport(browsertest.EvaluateExpression[int64](b, `innerWidth`), 12_000))
	b.AwaitExpression("all charts are drawn", `[...document.querySelectorAll('figure')].every(f => !f.clientWidth || Math.abs(f.querySelector('svg').viewBox.baseVal.width - f.clientWidth) < 20)`)
}

func TestBrowserRecorded(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up · auction"})
	b := browsertest.OpenBrowser(t, s.URL)
	b.SetWindow(1360, 900, "light")
	open(b, s.URL+"/?t=end&d=D-6")
	drawAll(b)
	b.AwaitExpression("charts are drawn", `document.querySelectorAll('#card svg.chart rect[class^="f-p"]:not(.f-paper)').length > 2 && document.querySelectorAll('#around polyline').length > 5`)
	b.AwaitExpression("a bar is seen", `document.querySelector('#card figure[data-name="offers"] rect[class^="f-p"]:not(.f-paper)').getBoundingClientRect().width >= 5`)

	// An answer, the decision that it cites, and its chart.
	b.RunSteps("ask", chromedp.SendKeys("#q", "why job-00008\n"))
	b.AwaitExpression("the answer cites and has a chart", `document.querySelector('#reply .cites a[data-d]') && document.querySelector('#reply svg.chart')`)
	press(b, "#reply .cites a")
	b.AwaitExpression("the decision is shown", `document.querySelector('#card h2').textContent.includes(document.querySelector('#reply .cites a').dataset.d) && document.querySelector('#card').textContent.includes('job-00008')`)
	press(b, "#card .hints a")
	b.AwaitExpression("it is answered", `document.querySelector('#reply .read').textContent.includes('why not')`)

	// Time.
	ended := browsertest.EvaluateExpression[string](b, `document.querySelector('#tiles').textContent`)
	browsertest.EvaluateExpression[int](b, `(s => { s.value = +s.min + (s.max - s.min) / 3; s.dispatchEvent(new Event('input')); return 0 })(document.getElementById('slide'))`)
	b.AwaitExpression("time moves", fmt.Sprintf(`document.querySelector('#tiles').textContent !== %q && !location.search.includes('t=end')`, ended))
	b.AwaitExpression("sites work then", `[...document.querySelectorAll('#sites tbody td[data-label="GPUs held"]')].some(td => !td.textContent.trim().startsWith('0 '))`)
	before := browsertest.EvaluateExpression[string](b, `document.getElementById('clock').textContent`) // which only play moves now
	press(b, "#play")
	b.AwaitExpression("time goes on", fmt.Sprintf(`document.getElementById('clock').textContent !== %q`, before))
	press(b, "#end")
	b.AwaitExpression("the end is shown", fmt.Sprintf(`document.querySelector('#tiles').textContent === %q`, ended))

	// Names that mean harm are text.
	open(b, s.URL+"/?d=D-6")
	b.AwaitExpression("its name is text", `document.querySelector('#card').textContent.includes('<img src=x onerror=alert(1)>')`)
	if n := browsertest.EvaluateExpression[int](b, `document.querySelectorAll('img, script:not([src^="static/"])').length`); n != 0 {
		t.Errorf("%d elements came from a name", n)
	}
	b.FailOnErrors()
}

func TestBrowserKeyboard(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up"})
	b := browsertest.OpenBrowser(t, s.URL)
	open(b, s.URL+"/")
	b.RunSteps("slash", chromedp.KeyEvent("/"))
	b.AwaitExpression("the question has the focus", `document.activeElement.id === 'q'`)
	b.RunSteps("type", chromedp.KeyEvent("late jobs\r"))
	b.AwaitExpression("it is answered", `document.querySelector('#reply .read')`)
	browsertest.EvaluateExpression[int](b, `(document.activeElement.blur(), 0)`)
	b.RunSteps("down", chromedp.KeyEvent("jjk"))
	b.AwaitExpression("the first decision has the focus", `document.activeElement === document.querySelector('#entries a')`)
	b.RunSteps("down", chromedp.KeyEvent("j"))
	b.AwaitExpression("the second decision has the focus", `document.activeElement === document.querySelectorAll('#entries a')[1]`)
	b.RunSteps("open it", chromedp.KeyEvent("\r"))
	b.AwaitExpression("it is shown", `document.querySelector('#card h2').textContent.includes(document.activeElement.dataset.d) && document.activeElement.getAttribute('aria-current')`)
	at := browsertest.EvaluateExpression[string](b, `document.getElementById('clock').textContent`)
	b.RunSteps("an hour back", chromedp.KeyEvent("["))
	b.AwaitExpression("it is earlier", fmt.Sprintf(`document.getElementById('clock').textContent !== %q`, at))
	b.RunSteps("help", chromedp.KeyEvent("?"))
	b.AwaitExpression("the keys are listed", `document.getElementById('help').open`)
	b.RunSteps("close it", chromedp.KeyEvent("\u001b"))
	b.AwaitExpression("it is closed", `!document.getElementById('help').open`)
	// By tab alone everything is reached, and it shows where it is. The jobs are the last that is
	// drawn for the hour before; until then lists are replaced, perhaps with what has the focus.
	b.AwaitExpression("all is drawn", `document.getElementById('jobs-head').textContent.includes(document.getElementById('clock').textContent)`)
	var seen []string
	browsertest.EvaluateExpression[int](b, `(document.querySelector('.skip').focus(), 0)`)
	for range 20 {
		b.RunSteps("tab", chromedp.KeyEvent("\t"))
		at := browsertest.EvaluateExpression[[]string](b, `(e => [e.id || e.className || e.textContent.trim(), getComputedStyle(e).outlineStyle])(document.activeElement)`)
		seen = append(seen, at[0])
		if at[1] == "none" {
			t.Errorf("nothing shows that %s has the focus", at[0])
		}
	}
	for _, id := range []string{"theme", "keys", "q", "oslo"} {
		if !slices.Contains(seen, id) {
			t.Errorf("%s is not reached by tab: %q", id, seen)
		}
	}
	t.Logf("by tab: %q", seen)
	b.FailOnErrors()
}

func TestBrowserSizes(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up · auction"})
	for _, tc := range []struct {
		name   string
		w, h   int64
		scheme string
	}{{"light", 1360, 900, "light"}, {"dark", 1360, 900, "dark"}, {"tablet", 820, 1180, "light"}, {"phone", 390, 844, "light"}, {"phone-dark", 390, 844, "dark"}} {
		t.Run(tc.name, func(t *testing.T) {
			b := browsertest.OpenBrowser(t, s.URL)
			b.SetWindow(tc.w, tc.h, tc.scheme)
			open(b, s.URL+"/?q=carbon+by+site&d=D-6")
			drawAll(b)
			if w := browsertest.EvaluateExpression[int64](b, `document.documentElement.scrollWidth`); w > tc.w {
				t.Errorf("the page is %d pixels wide in a window of %d: %s", w, tc.w, browsertest.EvaluateExpression[string](b,
					`[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.tagName + '.' + (e.className.baseVal ?? e.className)).join(' ')`))
			}
			if small := browsertest.EvaluateExpression[string](b, `[...document.querySelectorAll('button, select, #entries a')].filter(e => e.offsetParent && e.getBoundingClientRect().height < 24).map(e => e.id || e.textContent).join(' ')`); small != "" {
				t.Errorf("too small to touch: %s", small)
			}
			picture(b, tc.name)
			b.FailOnErrors()
		})
	}
}

// at serves a run at an address, and returns what stops it.
func at(t *testing.T, address string, w *wire) (string, func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	run := tail.StartReading(ctx, w.source, nil)
	socket, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: NewPageHandler(run, Options{Title: "made up", Live: true}), BaseContext: func(net.Listener) context.Context { return ctx }}
	gone := make(chan struct{})
	go func() { _ = s.Serve(socket); close(gone) }()
	return socket.Addr().String(), sync.OnceFunc(func() { stop(); s.Close(); <-gone; <-run.ReadingDone() })
}

func TestBrowserLive(t *testing.T) {
	day := historytest.GenerateDay(60, 10*time.Minute)
	third := len(day) / 3
	w := newWire(day[:third]...)
	address, stop := at(t, "127.0.0.1:0", w)
	b := browsertest.OpenBrowser(t, "http://"+address)
	b.AllowErrors("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_SOCKET_NOT_CONNECTED", "ERR_EMPTY_RESPONSE") // while the server is away
	open(b, "http://"+address+"/")
	b.AwaitExpression("it is live", `document.getElementById('state').textContent === 'live'`)
	w.say(day[third : 2*third]...)
	b.AwaitExpression("decisions come", isShown(day[:2*third]))
	stop()
	b.AwaitExpression("it says that the server is away", `document.getElementById('state').textContent.includes('not reached')`)
	w.say(day[2*third:]...)
	_, stop = at(t, address, w)
	defer stop()
	b.AwaitExpression("what was said meanwhile comes", isShown(day))
	if n := browsertest.EvaluateExpression[[]int](b, shownDecisions); n[0] != 75 || n[1] != 75 {
		t.Errorf("%d decisions are shown, of which %d differ; want 75", n[0], n[1])
	}
	b.AwaitExpression("figures follow", `document.querySelector('#tiles').textContent.includes('60 done')`)
	w.end()
	b.AwaitExpression("the end is told", `document.getElementById('state').textContent === 'ended'`)
	b.FailOnErrors()
}

// Pictures of a real run, for people.
func TestBrowserLedger(t *testing.T) {
	if *ledger == "" {
		t.Skip("no -ledger: no pictures of a run")
	}
	run := tail.StartReading(context.Background(), func(_ context.Context, _ uint64, each func(protocol.Message) error) error {
		return readJournal(*ledger, each)
	}, nil)
	<-run.ReadingDone()
	if err := run.Err(); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: NewPageHandler(run, Options{Title: "six-regions · auction", Policy: "auction"})}
	go s.Serve(socket)
	defer s.Close()
	b := browsertest.OpenBrowser(t, "http://"+socket.Addr().String())
	for _, scheme := range []string{"light", "dark"} {
		b.SetWindow(1360, 900, scheme)
		open(b, b.Origin+"/?t=1773234000000")
		picture(b, "run-"+scheme)
	}
	b.FailOnErrors()
}

func readJournal(path string, each func(protocol.Message) error) error {
	r, err := wal.OpenReader(path)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		m, err := r.ReadMessage()
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
// figures are printed; what is required is that all of it comes.
func TestSpeed(t *testing.T) {
	day := historytest.GenerateDay(8000, 10*time.Second)
	decisions, most := 0, 0
	for i, m := range day {
		switch m.Body.(type) {
		case protocol.Award, protocol.Defer:
			if decisions++; decisions == 10_000-600 {
				most = i + 1
			}
		}
	}
	w := newWire(day[:most]...)
	began := time.Now()
	address, stop := at(t, "127.0.0.1:0", w)
	defer stop()
	b := browsertest.OpenBrowser(t, "http://"+address)
	b.SetWindow(1360, 900, "light")
	b.RunSteps("warm up", chromedp.Navigate("http://"+address+"/static/icon.svg"))
	b.AwaitExpression("all is read", `fetch('/at').then(r => r.text()).then(s => s.includes('9,400'))`)
	t.Logf("%d messages of a day with %d decisions are read after %v", most, decisions, time.Since(began).Round(time.Millisecond))
	open(b, "http://"+address+"/")
	b.AwaitExpression("it is painted", `performance.getEntriesByName('first-contentful-paint').length`)
	t.Logf("first content after %.0f ms, all of it after %.0f ms; the page is %d kB and has %d elements", browsertest.EvaluateExpression[float64](b, `performance.getEntriesByName('first-contentful-paint')[0].startTime`),
		browsertest.EvaluateExpression[float64](b, `performance.getEntriesByType('navigation')[0].domComplete`), browsertest.EvaluateExpression[int64](b, `performance.getEntriesByType('navigation')[0].transferSize`)/1000, browsertest.EvaluateExpression[int](b, `document.querySelectorAll('*').length`))

	browsertest.EvaluateExpression[int](b, `(() => { window.frames_ = []; window.tasks_ = []; let last = performance.now();
		new PerformanceObserver(l => l.getEntries().forEach(e => window.tasks_.push(e.duration))).observe({entryTypes: ['longtask']});
		(function next() { const now = performance.now(); window.frames_.push(now - last); last = now; requestAnimationFrame(next) })(); return 0 })()`)
	fed, told := time.Now(), 0
	for i := most; i < len(day) && told < 500; i++ {
		switch day[i].Body.(type) {
		case protocol.Award, protocol.Defer:
			told++
			time.Sleep(time.Until(fed.Add(time.Duration(told) * 20 * time.Millisecond)))
		}
		w.say(day[i])
		most = i
	}
	took := time.Since(fed)
	b.AwaitExpression("the last has come", fmt.Sprintf(`document.querySelector('#entries [data-n]').dataset.n >= %d`, most-20))
	t.Logf("%d decisions in %v: %.0f frames a second, 99 %% of frames within %.0f ms, %d tasks over 50 ms, the longest %.0f ms", told, took.Round(time.Millisecond),
		browsertest.EvaluateExpression[float64](b, `frames_.length`)/took.Seconds(), browsertest.EvaluateExpression[float64](b, `frames_.sort((a, b) => a - b)[Math.floor(frames_.length * 0.99)]`), browsertest.EvaluateExpression[int](b, `tasks_.length`), browsertest.EvaluateExpression[float64](b, `Math.max(0, ...tasks_)`))
	b.FailOnErrors()
}
