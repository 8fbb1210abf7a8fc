//go:build browser

package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/internal/browsertest"
	"github.com/gridbid/gridbid/protocol"
)

var axe = flag.String("axe", "", "axe.min.js of axe-core")

// bothWidths runs a test on a desk and on a phone.
func bothWidths(t *testing.T, address string, test func(t *testing.T, b *browsertest.BrowserTab, width int64)) {
	for _, width := range []int64{1280, 390} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := browsertest.OpenBrowser(t, address)
			b.SetWindow(width, 844, "light")
			test(t, b, width)
			if w := browsertest.EvaluateExpression[int64](b, `document.documentElement.scrollWidth`); w > width {
				t.Errorf("the page is %d pixels wide in a window of %d", w, width)
			}
			b.FailOnErrors()
		})
	}
}

// madeUpRivals has one other policy, under which half of the jobs ran.
func madeUpRivals() Rivals {
	return Rivals{Policies: []string{"home-fifo"}, Open: func(string) *tail.Run {
		w := newWire(historytest.GenerateDay(30, 20*time.Minute)...)
		w.ended = true
		return tail.StartReading(context.Background(), w.source, nil)
	}}
}

func TestBrowserViews(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up", Policy: "auction", Rivals: madeUpRivals()})
	bothWidths(t, s.URL, func(t *testing.T, b *browsertest.BrowserTab, width int64) {
		open(b, s.URL+"/")
		// It opens where jobs run.
		if n := browsertest.EvaluateExpression[int](b, `+document.querySelector('#tiles li:nth-child(4) b').textContent`); n == 0 {
			t.Error("it opens where nothing runs")
		}
		// The gauges of all sites begin at one place, and so do their figures.
		if n := browsertest.EvaluateExpression[int](b, `new Set([...document.querySelectorAll('#sites .gauge svg')].map(e => Math.round(e.getBoundingClientRect().left))).size`); n != 1 {
			t.Errorf("the bars of GPUs held begin at %d places", n)
		}
		// No text is cut.
		if cut := browsertest.EvaluateExpression[string](b, `[...document.querySelectorAll('#entries *, #joblist *, #sites *, #tiles *')].filter(e => !e.closest('thead') && (getComputedStyle(e).textOverflow === 'ellipsis' || e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow === 'hidden')).map(e => e.textContent).join(' | ')`); cut != "" {
			t.Errorf("text is cut: %s", cut)
		}
		drawAll(b)
		if out := browsertest.EvaluateExpression[string](b, `[...document.querySelectorAll('svg.chart text')].filter(e => { const s = e.ownerSVGElement.getBoundingClientRect(), r = e.getBoundingClientRect(); return r.right > s.right + 2 || r.left < s.left - 2 }).map(e => e.textContent).join(' | ')`); out != "" {
			t.Errorf("text reaches beyond its chart: %s", out)
		}
		// A bar has the words of its job, and opens the decision.
		b.AwaitExpression("jobs are drawn", `document.querySelectorAll('#around [data-name=gantt] rect[data-ref]').length > 5`)
		b.AwaitExpression("its words are shown", `(r => { r.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 100, clientY: 100}));
			const said = !document.getElementById('tip').hidden && /GPU.* at /.test(document.getElementById('tip').textContent);
			if (said) { window.ref_ = r.dataset.ref; r.dispatchEvent(new MouseEvent('click', {bubbles: true})) }
			return said })(document.querySelector('#around [data-name=gantt] rect[data-ref]'))`)
		b.AwaitExpression("its decision is shown", `document.querySelector('#card h2').textContent.includes(ref_.split(' ')[1]) && !document.getElementById('card').hidden`)
		// Nodes of a site, and back.
		press(b, "#sites a[data-site=lyon]")
		b.AwaitExpression("nodes are shown", `document.querySelector('#around [data-name=gantt] svg').textContent.includes('lyon-1') && location.search.includes('site=lyon')`)
		press(b, "#allsites")
		b.AwaitExpression("all sites are shown", `document.querySelector('#around [data-name=gantt] svg').textContent.includes('Jobs by site')`)
		// Jobs: search, filter, and the way to the decision.
		browsertest.EvaluateExpression[int](b, `(i => { i.value = 'job-000'; i.dispatchEvent(new Event('input', {bubbles: true})); return 0 })(document.querySelector('#filter [name=jq]'))`)
		b.AwaitExpression("the list is shorter", `document.querySelectorAll('#joblist tbody tr').length > 0 && [...document.querySelectorAll('#joblist tbody th')].every(e => e.textContent.includes('job-000')) && location.search.includes('jq=job-000')`)
		browsertest.EvaluateExpression[int](b, `(s => { s.value = 'running'; s.dispatchEvent(new Event('input', {bubbles: true})); return 0 })(document.querySelector('#filter [name=js]'))`)
		b.AwaitExpression("only those are listed", `[...document.querySelectorAll('#joblist .jobstate')].every(e => e.textContent === 'running') && document.querySelector('#joblist') && !location.search.includes('jsite') && location.search.includes('js=running')`)
		press(b, "#joblist th a")
		b.AwaitExpression("the decision is shown", `document.querySelector('#card').textContent.includes(document.querySelector('#joblist th a').textContent)`)
		// Everything follows the time.
		browsertest.EvaluateExpression[int](b, `(s => { window.charts_ = () => [...document.querySelectorAll('#around figure svg, #bysite figure svg')].map(s => s.textContent); window.were_ = charts_().join('');
			s.value = +s.min + (s.max - s.min) / 4; s.dispatchEvent(new Event('input')); return 0 })(document.getElementById('slide'))`)
		b.AwaitExpression("charts move", `charts_().join('') !== were_ && charts_()[0].includes(document.getElementById('clock').textContent.slice(-5))`)
		b.AwaitExpression("jobs move", `document.getElementById('jobs-head').textContent.includes(document.getElementById('clock').textContent)`)
		b.AwaitExpression("the address is legible", `/t=2026-03-11T[0-9:%A]+Z/.test(location.search)`)
		// Another policy.
		browsertest.EvaluateExpression[int](b, `(s => { s.value = 'home-fifo'; s.dispatchEvent(new Event('change', {bubbles: true})); return 0 })(document.getElementById('vs'))`)
		b.AwaitExpression("both are shown", `document.querySelectorAll('#versus figure').length === 4 && document.querySelector('#versus td').textContent`)
		picture(b, fmt.Sprintf("views-%d", width))
	})
}

// What is far below the window is not drawn until somebody comes near, and then as it is at the
// instant of that moment.
func TestBrowserDrawsAChartWhenItComesNear(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up", Policy: "auction", Rivals: madeUpRivals()})
	bothWidths(t, s.URL, func(t *testing.T, b *browsertest.BrowserTab, _ int64) {
		open(b, s.URL+"/?vs=home-fifo")
		far := browsertest.EvaluateExpression[[]int](b, `(far => [far.length, far.filter(f => f.querySelector('svg')).length])([...document.querySelectorAll('figure')].filter(f => f.getBoundingClientRect().top > innerHeight + 800))`)
		if far[0] < 3 || far[1] != 0 {
			t.Errorf("%d charts are far below the window, of which %d are drawn; want at least 3 and none", far[0], far[1])
		}
		browsertest.EvaluateExpression[int](b, `(s => { s.value = +s.min + (s.max - s.min) / 4; s.dispatchEvent(new Event('input')); return 0 })(document.getElementById('slide'))`)
		b.AwaitExpression("the time has moved", `document.getElementById('jobs-head').textContent.includes(document.getElementById('clock').textContent)`)
		b.AwaitExpression("it is drawn for the new instant", `(f => { f.scrollIntoView(); return f.querySelector('svg').textContent.includes(document.getElementById('clock').textContent.slice(-5)) })(document.querySelector('#versus [data-name=gantt]'))`)
		b.AwaitExpression("that of the whole run is drawn", `(f => { f.scrollIntoView(); return f.querySelector('svg') })(document.querySelector('[data-name=day]'))`)
	})
}

// Why a site is not ok can be read wherever its state is, also where no pointer rests on it.
func TestBrowserSaysWhyASiteIsSilent(t *testing.T) {
	day := historytest.GenerateDay(60, 10*time.Minute)
	last := day[len(day)-1].At
	monitor := protocol.Sender{Party: protocol.SiteMonitor}
	w := newWire(append(day, monitor.NewMessage(last, protocol.Coordinator, protocol.SiteCondition{
		Site: "oslo", State: protocol.SiteSilent, Since: last.Add(-time.Minute), Why: protocol.Reason{Code: protocol.NoHeartbeat}}))...)
	w.ended = true
	run := tail.StartReading(t.Context(), w.source, nil)
	<-run.ReadingDone()
	s := served(t, run, Options{Title: "made up"})
	bothWidths(t, s.URL, func(t *testing.T, b *browsertest.BrowserTab, width int64) {
		open(b, s.URL+"/?t=end")
		b.AwaitExpression("it says why", `(e => e && e.offsetParent && e.textContent.includes('hears nothing from its agent') && e.getBoundingClientRect().right <= innerWidth)(document.querySelector('#sites small'))`)
		b.AwaitExpression("the state stands first", `document.querySelector('#sites tbody tr').children[1].dataset.label === 'state'`)
		picture(b, fmt.Sprintf("silent-%d", width))
	})
}

// A value of t that is not read is said to be none.
func TestBrowserSaysThatAnInstantIsNone(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up"})
	bothWidths(t, s.URL, func(t *testing.T, b *browsertest.BrowserTab, _ int64) {
		open(b, s.URL+"/?t=yesterday")
		b.AwaitExpression("it says so", `document.getElementById('notice').textContent.includes('"yesterday" is no instant')`)
		open(b, s.URL+"/?t=2026-03-11T03:00:00Z")
		b.AwaitExpression("it is read", `document.getElementById('clock').textContent === '11 Mar 03:00' && !document.getElementById('notice')`)
	})
}

// axe-core finds nothing serious, at both widths, light and dark, with an answer, a decision and
// two policies on the page.
func TestBrowserAxe(t *testing.T) {
	script, err := os.ReadFile(*axe)
	if *axe == "" || errors.Is(err, os.ErrNotExist) {
		t.Skip("no axe-core: `make test-axe` fetches it and runs this test")
	} else if err != nil {
		t.Fatal(err)
	}
	s := finished(t, 60, Options{Title: "made up", Policy: "auction", Rivals: madeUpRivals()})
	for _, scheme := range []string{"light", "dark"} {
		bothWidths(t, s.URL, func(t *testing.T, b *browsertest.BrowserTab, width int64) {
			b.SetWindow(width, 844, scheme)
			open(b, s.URL+"/?q=carbon+by+site&d=D-6&vs=home-fifo")
			drawAll(b)
			browsertest.EvaluateExpression[int](b, string(script)+";0")
			browsertest.EvaluateExpression[int](b, `(window.found_ = undefined, axe.run(document).then(r => { window.found_ = r.violations.map(v => v.impact + ': ' + v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')).join('; ')) }), 0)`)
			b.AwaitExpression("axe looked", `window.found_`)
			for _, v := range browsertest.EvaluateExpression[[]string](b, `found_`) {
				if strings.HasPrefix(v, "minor") || strings.HasPrefix(v, "moderate") {
					t.Log(v)
					continue
				}
				t.Error(v)
			}
		})
	}
}

// A page of a real run at both widths, for people.
func TestBrowserLedgerViews(t *testing.T) {
	if *ledger == "" {
		t.Skip("no -ledger: no pictures of a run")
	}
	read := func(path string) *tail.Run {
		return tail.StartReading(context.Background(), func(_ context.Context, _ uint64, each func(protocol.Message) error) error {
			return readJournal(path, each)
		}, nil)
	}
	run := read(*ledger)
	<-run.ReadingDone()
	rivals := Rivals{Policies: []string{"home-fifo"}, Open: func(string) *tail.Run { return read(filepath.Join(filepath.Dir(*ledger), "home-fifo.ledger")) }}
	s := served(t, run, Options{Title: "six-regions · auction", Policy: "auction", Rivals: rivals})
	bothWidths(t, s.URL, func(t *testing.T, b *browsertest.BrowserTab, width int64) {
		open(b, s.URL+"/?vs=home-fifo")
		picture(b, fmt.Sprintf("ledger-%d", width))
	})
}

// The card of a job of several pods is as wide as the window, and its tables are read.
func TestBrowserGangs(t *testing.T) {
	address := gangs(t, Options{Title: "gangs"})
	bothWidths(t, address, func(t *testing.T, b *browsertest.BrowserTab, width int64) {
		for _, job := range []string{"elastic", "wide", "split.1"} {
			open(b, address+"/?t=end&jq="+job)
			id := browsertest.EvaluateExpression[string](b, `document.querySelector('#joblist [data-d]').dataset.d`)
			open(b, address+"/?d="+id)
			if text := browsertest.EvaluateExpression[string](b, `document.querySelector('#card').innerText`); !strings.Contains(text, job) {
				t.Errorf("the card of %s is %s", job, text)
			}
			picture(b, fmt.Sprintf("gang-%s-%d", job, width))
		}
	})
}
