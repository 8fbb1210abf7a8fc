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
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/explain/page/pagetest"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/explain/timeline/timelinetest"
	"github.com/gridbid/gridbid/protocol"
)

// These tests drive a real Chromium. `make test-page` runs them.

var (
	pictures = flag.String("pictures", "", "keep screenshots in this folder")
	ledger   = flag.String("ledger", "", "take pictures of this run, too")
)

// picture keeps what is seen, or the whole page.
func picture(b *pagetest.BrowserTab, name string, whole bool) {
	if *pictures == "" {
		return
	}
	time.Sleep(500 * time.Millisecond) // charts are drawn again for a new width
	if high := pagetest.EvaluateExpression[int64](b, `document.documentElement.scrollHeight`); whole {
		b.RunSteps("stretch", chromedp.EmulateViewport(pagetest.EvaluateExpression[int64](b, `innerWidth`), high))
	}
	b.SaveScreenshot(filepath.Join(*pictures, name+".png"))
}

func TestBrowserRecorded(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up · auction"})
	b := pagetest.OpenBrowser(t, s.URL)
	b.SetWindow(1360, 900, "light")
	b.RunSteps("open", chromedp.Navigate(s.URL+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.AwaitExpression("charts are drawn", `document.querySelectorAll('#card svg.chart rect[class^="f-s"]').length > 2 && document.querySelectorAll('#figures polyline').length > 5`)
	if w := pagetest.EvaluateExpression[float64](b, `document.querySelector('#card figure[data-name="offers"] rect[class^="f-s"]').getBoundingClientRect().width`); w < 5 {
		t.Errorf("a bar is %v pixels wide", w)
	}

	// An answer, the decision that it cites, and its chart.
	b.RunSteps("ask", chromedp.SendKeys("#q", "why job-00008\n"))
	b.AwaitExpression("the answer cites", `document.querySelector('#reply .cites a[data-d]')`)
	b.AwaitExpression("the answer has a chart", `document.querySelector('#reply svg.chart')`)
	id := pagetest.EvaluateExpression[string](b, `document.querySelector('#reply .cites a').dataset.d`)
	b.RunSteps("follow the citation", chromedp.Click("#reply .cites a"))
	b.AwaitExpression("the decision is shown", fmt.Sprintf(`document.querySelector('#card h2').textContent.includes(%q) && document.querySelector('#card').textContent.includes('job-00008')`, id))
	b.RunSteps("ask why not", chromedp.Click(`#card .hints a`))
	b.AwaitExpression("it is answered", `document.querySelector('#reply .read').textContent.includes('why not')`)

	// Time.
	ended := pagetest.EvaluateExpression[string](b, `document.querySelector('#tiles').textContent`)
	pagetest.EvaluateExpression[int](b, `(s => { s.value = +s.min + (s.max - s.min) / 3; s.dispatchEvent(new Event('input')); return 0 })(document.getElementById('slide'))`)
	b.AwaitExpression("time moves", fmt.Sprintf(`document.querySelector('#tiles').textContent !== %q && location.search.includes('t=')`, ended))
	b.AwaitExpression("sites work then", `[...document.querySelectorAll('#sites tbody td:nth-child(5)')].some(td => !td.textContent.trim().startsWith('0 '))`)
	b.RunSteps("play", chromedp.Click("#play"))
	before := pagetest.EvaluateExpression[string](b, `document.getElementById('clock').textContent`)
	b.AwaitExpression("time goes on", fmt.Sprintf(`document.getElementById('clock').textContent !== %q`, before))
	b.RunSteps("to the end", chromedp.Click("#end"))
	b.AwaitExpression("the end is shown", fmt.Sprintf(`document.querySelector('#tiles').textContent === %q`, ended))

	// Names that mean harm are text.
	b.RunSteps("ask of the evil one", chromedp.Navigate(s.URL+"/?d=D-6"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.AwaitExpression("its name is text", `document.querySelector('#card').textContent.includes('<img src=x onerror=alert(1)>')`)
	if n := pagetest.EvaluateExpression[int](b, `document.querySelectorAll('img, script:not([src^="static/"])').length`); n != 0 {
		t.Errorf("%d elements came from a name", n)
	}
	b.FailOnErrors()
}

func TestBrowserKeyboard(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up"})
	b := pagetest.OpenBrowser(t, s.URL)
	b.RunSteps("open", chromedp.Navigate(s.URL+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.RunSteps("slash", chromedp.KeyEvent("/"))
	b.AwaitExpression("the question has the focus", `document.activeElement.id === 'q'`)
	b.RunSteps("type", chromedp.KeyEvent("late jobs\r"))
	b.AwaitExpression("it is answered", `document.querySelector('#reply .read')`)
	pagetest.EvaluateExpression[int](b, `(document.activeElement.blur(), 0)`)
	b.RunSteps("down", chromedp.KeyEvent("jjk"))
	b.AwaitExpression("the first decision has the focus", `document.activeElement === document.querySelector('#entries a')`)
	b.RunSteps("down", chromedp.KeyEvent("j"))
	id := pagetest.EvaluateExpression[string](b, `document.activeElement.dataset.d`)
	b.RunSteps("open it", chromedp.KeyEvent("\r"))
	b.AwaitExpression("it is shown", fmt.Sprintf(`document.querySelector('#card h2').textContent.includes(%q) && document.activeElement.getAttribute('aria-current')`, id))
	at := pagetest.EvaluateExpression[string](b, `document.getElementById('clock').textContent`)
	b.RunSteps("an hour back", chromedp.KeyEvent("["))
	b.AwaitExpression("it is earlier", fmt.Sprintf(`document.getElementById('clock').textContent !== %q`, at))
	b.RunSteps("help", chromedp.KeyEvent("?"))
	b.AwaitExpression("the keys are listed", `document.getElementById('help').open`)
	b.RunSteps("close it", chromedp.KeyEvent("\u001b"))
	b.AwaitExpression("it is closed", `!document.getElementById('help').open`)
	// By tab alone everything is reached, and it shows where it is.
	var seen []string
	pagetest.EvaluateExpression[int](b, `(document.body.focus(), 0)`)
	for range 14 {
		b.RunSteps("tab", chromedp.KeyEvent("\t"))
		seen = append(seen, pagetest.EvaluateExpression[string](b, `(e => e.id || e.className || e.textContent.trim())(document.activeElement)`))
		if pagetest.EvaluateExpression[string](b, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
			t.Errorf("nothing shows that %s has the focus", seen[len(seen)-1])
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
			b := pagetest.OpenBrowser(t, s.URL)
			b.SetWindow(tc.w, tc.h, tc.scheme)
			b.RunSteps("open", chromedp.Navigate(s.URL+"/?q=carbon+by+site&d=D-6"), chromedp.WaitVisible(`body[data-ready="1"]`))
			b.AwaitExpression("charts fit", `[...document.querySelectorAll('figure')].every(f => Math.abs(f.querySelector('svg').viewBox.baseVal.width - f.clientWidth) < 20)`)
			if w := pagetest.EvaluateExpression[int64](b, `document.documentElement.scrollWidth`); w > tc.w {
				t.Errorf("the page is %d pixels wide in a window of %d: %s", w, tc.w, pagetest.EvaluateExpression[string](b,
					`[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.tagName + '.' + (e.className.baseVal ?? e.className)).join(' ')`))
			}
			if small := pagetest.EvaluateExpression[string](b, `[...document.querySelectorAll('button, select, #entries a')].filter(e => e.offsetParent && e.getBoundingClientRect().height < 24).map(e => e.id || e.textContent).join(' ')`); small != "" {
				t.Errorf("too small to touch: %s", small)
			}
			picture(b, tc.name, true)
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
	day := timelinetest.GenerateDay(60, 10*time.Minute)
	third := len(day) / 3
	w := newWire(day[:third]...)
	address, stop := at(t, "127.0.0.1:0", w)
	b := pagetest.OpenBrowser(t, "http://"+address)
	b.AllowErrors("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE") // while the server is away
	b.RunSteps("open", chromedp.Navigate("http://"+address+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.AwaitExpression("it is live", `document.getElementById('state').textContent === 'live'`)
	w.say(day[third : 2*third]...)
	newest := func(of []protocol.Message) (n int) {
		for i, m := range of {
			switch m.Body.(type) {
			case protocol.Award, protocol.Defer:
				n = i + 1
			}
		}
		return n
	}
	b.AwaitExpression("decisions come", fmt.Sprintf(`document.querySelector('#entries [data-n]').dataset.n === '%d'`, newest(day[:2*third])))
	stop()
	b.AwaitExpression("it says that the server is away", `document.getElementById('state').textContent.includes('not reached')`)
	w.say(day[2*third:]...)
	_, stop = at(t, address, w)
	defer stop()
	b.AwaitExpression("what was said meanwhile comes", fmt.Sprintf(`document.querySelector('#entries [data-n]').dataset.n === '%d'`, newest(day)))
	all := pagetest.EvaluateExpression[[]string](b, `[...document.querySelectorAll('#entries [data-d]')].map(a => a.dataset.d)`)
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
	b.AwaitExpression("figures follow", `document.querySelector('#tiles').textContent.includes('60 ended')`)
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
	b := pagetest.OpenBrowser(t, "http://"+socket.Addr().String())
	for _, scheme := range []string{"light", "dark"} {
		b.SetWindow(1360, 900, scheme)
		b.RunSteps("open", chromedp.Navigate(b.Origin+"/?t=1773234000000"), chromedp.WaitVisible(`body[data-ready="1"]`))
		picture(b, "run-"+scheme, true)
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
	day := timelinetest.GenerateDay(8000, 10*time.Second)
	decisions, most := 0, 0
	for i, m := range day {
		switch m.Body.(type) {
		case protocol.Award, protocol.Defer:
			if decisions++; decisions == 10_000-600 {
				most = i
			}
		}
	}
	w := newWire(day[:most]...)
	began := time.Now()
	address, stop := at(t, "127.0.0.1:0", w)
	defer stop()
	b := pagetest.OpenBrowser(t, "http://"+address)
	b.SetWindow(1360, 900, "light")
	b.RunSteps("warm up", chromedp.Navigate("http://"+address+"/static/icon.svg"))
	b.AwaitExpression("all is read", `fetch('/at').then(r => r.text()).then(s => s.includes('9,400'))`)
	t.Logf("%d messages of a day with %d decisions are read after %v", most, decisions, time.Since(began).Round(time.Millisecond))
	b.RunSteps("open", chromedp.Navigate("http://"+address+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.AwaitExpression("it is painted", `performance.getEntriesByName('first-contentful-paint').length`)
	t.Logf("first content after %.0f ms, all of it after %.0f ms; the page is %d kB", pagetest.EvaluateExpression[float64](b, `performance.getEntriesByName('first-contentful-paint')[0].startTime`),
		pagetest.EvaluateExpression[float64](b, `performance.getEntriesByType('navigation')[0].domComplete`), pagetest.EvaluateExpression[int64](b, `performance.getEntriesByType('navigation')[0].transferSize`)/1000)

	pagetest.EvaluateExpression[int](b, `(() => { window.frames_ = []; window.tasks_ = []; let last = performance.now();
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
		pagetest.EvaluateExpression[float64](b, `frames_.length`)/took.Seconds(), pagetest.EvaluateExpression[float64](b, `frames_.sort((a, b) => a - b)[Math.floor(frames_.length * 0.99)]`), pagetest.EvaluateExpression[int](b, `tasks_.length`), pagetest.EvaluateExpression[float64](b, `Math.max(0, ...tasks_)`))
	b.FailOnErrors()
}
