//go:build browser

package page

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/internal/browsertest"
	"github.com/gridbid/gridbid/protocol"
)

// A proxy stands before a page, and answers for it while that is away.
type proxy struct {
	*httptest.Server
	page   atomic.Pointer[http.Handler]
	turned atomic.Int32 // readers of the feed that were turned away
	feeds  atomic.Int32 // open ones
}

// before returns a proxy before the page of a run that goes on.
func before(t *testing.T, w *wire, opts Options) (*proxy, *tail.Run) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	run := tail.StartReading(ctx, w.source, nil)
	p := new(proxy)
	p.show(NewPageHandler(run, opts))
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := p.page.Load()
		feed := r.URL.Path == "/events"
		switch {
		case page == nil && feed:
			p.turned.Add(1)
			fallthrough
		case page == nil:
			http.Error(w, "no upstream", http.StatusBadGateway)
			return
		case feed:
			p.feeds.Add(1)
			defer p.feeds.Add(-1)
		}
		(*page).ServeHTTP(w, r)
	}))
	t.Cleanup(func() { stop(); p.CloseClientConnections(); p.Close(); <-run.ReadingDone() })
	return p, run
}

func (p *proxy) show(page http.Handler) { p.page.Store(&page) }

// newest is the position of the last decision.
func newest(of []protocol.Message) (n int) {
	for i, m := range of {
		switch m.Body.(type) {
		case protocol.Award, protocol.Defer:
			n = i + 1
		}
	}
	return n
}

// shownDecisions is how many decisions are listed, and how many of them differ.
const shownDecisions = `(ids => [ids.length, new Set(ids).size])([...document.querySelectorAll('#entries [data-d]')].map(a => a.dataset.d))`

// isShown holds when the last decision is listed.
func isShown(of []protocol.Message) string {
	return fmt.Sprintf(`document.querySelector('#entries [data-n]')?.dataset.n === '%d'`, newest(of))
}

// until waits for what happens at the server.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for range 6000 {
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not in a minute: %s", what)
}

func open(b *browsertest.BrowserTab, address string) {
	b.RunSteps("open", chromedp.Navigate(address), chromedp.WaitVisible(`body[data-ready="1"]`))
}

// press clicks on what a selector finds as soon as it is there. The script does it: a pointer could
// miss what moves as charts are drawn.
func press(b *browsertest.BrowserTab, selector string) {
	b.AwaitExpression("click on "+selector, fmt.Sprintf(`(e => { e.click(); return true })(document.querySelector(%q))`, selector))
}

// A browser gives a feed up whose answer is an error; the page does not.
func TestBrowserFeedGoesOnAfterAProxysError(t *testing.T) {
	day := historytest.GenerateDay(60, 10*time.Minute)
	half := len(day) / 2
	w := newWire(day[:half]...)
	p, _ := before(t, w, Options{Live: true})
	page := p.page.Load()
	b := browsertest.OpenBrowser(t, p.URL)
	b.AllowErrors("502", "ERR_")
	open(b, p.URL+"/")
	b.AwaitExpression("it is live", `document.getElementById('state').textContent === 'live'`)
	p.page.Store(nil)
	p.CloseClientConnections()
	until(t, "the feed is asked for and turned away", func() bool { return p.turned.Load() > 0 })
	w.say(day[half:]...)
	p.page.Store(page)
	b.AwaitExpression("what was said meanwhile comes", isShown(day))
	b.AwaitExpression("it is live again", `document.getElementById('state').textContent === 'live'`)
	b.FailOnErrors()
}

// A browser has six connections to a server for all its tabs. Hidden tabs hold none.
func TestBrowserHiddenTabHoldsNoConnection(t *testing.T) {
	day := historytest.GenerateDay(60, 10*time.Minute)
	half := len(day) / 2
	w := newWire(day[:half]...)
	p, _ := before(t, w, Options{Live: true})
	b := browsertest.OpenBrowser(t, p.URL)
	open(b, p.URL+"/")
	until(t, "the feed is followed", func() bool { return p.feeds.Load() == 1 })
	look := func(hidden bool) {
		browsertest.EvaluateExpression[int](b, fmt.Sprintf(`(Object.defineProperty(document, 'hidden', {value: %v, configurable: true}), document.dispatchEvent(new Event('visibilitychange')), 0)`, hidden))
	}
	look(true)
	until(t, "the feed is let go", func() bool { return p.feeds.Load() == 0 })
	w.say(day[half:]...)
	look(false)
	b.AwaitExpression("what was said meanwhile comes", isShown(day))
	if n := browsertest.EvaluateExpression[[]int](b, shownDecisions); n[0] != n[1] {
		t.Errorf("%d decisions are shown, of which %d differ", n[0], n[1])
	}
	b.FailOnErrors()
}

// Who reads older decisions keeps them while new ones come.
func TestBrowserOlderDecisionsStay(t *testing.T) {
	day := historytest.GenerateDay(300, time.Minute)
	most := newest(day) - 20 // decisions follow
	w := newWire(day[:most]...)
	p, _ := before(t, w, Options{Live: true})
	b := browsertest.OpenBrowser(t, p.URL)
	open(b, p.URL+"/")
	b.AwaitExpression("older ones come", `(f => { f.scrollTop = f.scrollHeight; window.read_ = f.querySelector('#entries').lastElementChild; return f.querySelectorAll('[data-n]').length > 180 })(document.getElementById('feed'))`)
	w.say(day[most:]...)
	b.AwaitExpression("new ones come", isShown(day))
	if !browsertest.EvaluateExpression[bool](b, `read_.isConnected`) {
		t.Error("what was read is gone")
	}
	b.FailOnErrors()
}

// A page opened before the first message later reaches back to the beginning of the
// run, not to 1970.
func TestBrowserEmptyRunBegins(t *testing.T) {
	day := historytest.GenerateDay(10, 10*time.Minute)
	w := newWire()
	p, _ := before(t, w, Options{Live: true})
	b := browsertest.OpenBrowser(t, p.URL)
	open(b, p.URL+"/")
	b.AwaitExpression("it is live", `document.getElementById('state').textContent === 'live'`)
	w.say(day...)
	b.AwaitExpression("decisions come", isShown(day))
	b.AwaitExpression("time begins with the run", fmt.Sprintf(`+document.getElementById('slide').min === %d`, day[0].At))
	b.FailOnErrors()
}

// liveLockedWith returns options of a live page that one token reads.
func liveLockedWith(t *testing.T, token string) Options {
	opts := lockedWith(t, token)
	opts.Live = true
	return opts
}

// Who is signed out, as by another start with another token, is asked for it, and
// is where he was when he has given it.
func TestBrowserSignedOut(t *testing.T) {
	w := newWire(historytest.GenerateDay(10, 10*time.Minute)...)
	p, run := before(t, w, liveLockedWith(t, "0123456789abcdef"))
	b := browsertest.OpenBrowser(t, p.URL)
	b.AllowErrors("401", "ERR_", "Password forms")
	signIn := func(token string) {
		b.RunSteps("sign in", chromedp.WaitVisible("#token"), chromedp.SendKeys("#token", token+"\n"), chromedp.WaitVisible(`body[data-ready="1"]`))
		b.AwaitExpression("the decision is shown", `document.querySelector('#card h2').textContent.includes('D-6') && location.search === '?d=D-6'`)
	}
	b.RunSteps("open", chromedp.Navigate(p.URL+"/?d=D-6"))
	signIn("0123456789abcdef")
	p.show(NewPageHandler(run, liveLockedWith(t, "fedcba9876543210")))
	p.CloseClientConnections()
	signIn("fedcba9876543210")
	b.FailOnErrors()
}
