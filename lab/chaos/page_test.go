//go:build browser

package chaos

import (
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/browsertest"
)

var pictures = flag.String("pictures", "", "keep screenshots in this folder")

// terminate stops a process with SIGTERM and waits for its end.
func (p *process) terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signal(syscall.SIGTERM)
	<-p.dead
}

// The page of a coordinator in a process of its own: its sites, its timeline, answers with
// what-ifs, and a timeline that continues after a restart of the coordinator.
func TestBrowserShowsARealCoordinator(t *testing.T) {
	s := newTestbed(t, simulated)
	s.coordinators[1].kill() // no standby: the page that is looked at is the leader's
	apiAddress := s.apis[0]
	s.wait("the coordinator leads and knows its sites", 2*time.Minute, func() bool {
		var sites []jobstatus.Site
		code, err := ask(apiAddress, http.MethodGet, "/v1/sites", nil, &sites)
		return err == nil && code == http.StatusOK && len(sites) == len(s.sites)
	})
	submit := func(from, to int) {
		for i := from; i < to; i++ {
			id := fmt.Sprintf("job-%03d", i)
			body := fmt.Appendf(nil, "id: %s\ntenant: vision\ngpus: 1\ncpu: 2\nrun: 2s\nurgency: now\n", id)
			s.wait(id+" is taken", time.Minute, func() bool {
				code, err := within(10*time.Second, apiAddress, http.MethodPost, "/v1/jobs", body, nil)
				return err == nil && code == http.StatusOK
			})
		}
		s.wait("they are done", 2*time.Minute, func() bool {
			var all []jobstatus.Job
			code, err := ask(apiAddress, http.MethodGet, "/v1/jobs?state=done", nil, &all)
			return err == nil && code == http.StatusOK && len(all) == to
		})
	}
	submit(0, 12)

	b := browsertest.OpenBrowser(t, "http://"+apiAddress)
	b.SetWindow(1360, 900, "light")
	b.RunSteps("open", chromedp.Navigate(b.Origin+"/"), chromedp.WaitVisible(`body[data-ready="1"]`))
	b.AwaitExpression("it is live", `document.getElementById('state').textContent === 'live'`)
	b.AwaitExpression("its sites are there", fmt.Sprintf(`document.querySelectorAll('#sites tbody tr').length === %d`, len(s.sites)))
	const decisions = `new Set([...document.querySelectorAll('#entries [data-d]')].map(a => a.dataset.d)).size`
	b.AwaitExpression("its decisions are there", decisions+" >= 12")
	b.AwaitExpression("what they cost is there", `document.querySelector('#tiles').textContent.includes('12 done')`)

	ask := func(question, want string) {
		t.Helper()
		// Without the answer before: it may say the same.
		browsertest.EvaluateExpression[int](b, `(document.getElementById('q').value = '', document.getElementById('reply').replaceChildren(), 0)`)
		b.RunSteps("ask", chromedp.SendKeys("#q", question+"\n"))
		b.AwaitExpression(question, fmt.Sprintf(`document.querySelector('#reply').textContent.includes(%q)`, want))
	}
	ask("why job-003", "job-003 (1 GPU")
	b.AwaitExpression("the answer cites", `document.querySelector('#reply .cites a[data-d]')`)
	b.AwaitExpression("the answer has a chart", `document.querySelector('#reply svg.chart')`)
	ask("would job-004 change at a carbon price of 400", "Made again as recorded")

	before := browsertest.EvaluateExpression[int](b, decisions)
	b.AllowErrors("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE") // while it is away
	s.coordinators[0].terminate()
	b.AwaitExpression("it says that the coordinator is away", `document.getElementById('state').textContent.includes('not reached')`)
	s.coordinators[0].start()
	submit(12, 20)
	b.AwaitExpression("the feed goes on", fmt.Sprintf("%s >= %d", decisions, before+8))
	if twice := browsertest.EvaluateExpression[int](b, `document.querySelectorAll('#entries [data-d]').length - `+decisions); twice != 0 {
		t.Errorf("%d decisions are shown twice", twice)
	}
	ask("would job-004 change at a carbon price of 400", "Made again as recorded") // a job of the earlier incarnation
	ask("would job-015 change at a carbon price of 400", "Made again as recorded")
	if *pictures != "" {
		b.SaveScreenshot(filepath.Join(*pictures, "coordinator.png"))
	}
	b.FailOnErrors()
}

// On the page of a coordinator each tenant signs in with its token and is answered about its own affairs, and of
// nobody else's; an admin about all.
func TestBrowserAnswersTenantsAboutTheirOwnAffairs(t *testing.T) {
	s := newAffairs(t)
	for _, who := range []string{"vision", "speech", "rival", "admin"} {
		b := browsertest.OpenBrowser(t, "http://"+s.api)
		b.AllowErrors("401", "Password forms")
		b.RunSteps("sign in", chromedp.Navigate(b.Origin+"/"), chromedp.WaitVisible("#token"), chromedp.SendKeys("#token", s.tokens[who]+"\n"), chromedp.WaitVisible(`body[data-ready="1"]`))
		b.AwaitExpression("it is live", `document.getElementById('state').textContent === 'live'`)
		for _, a := range ownAffairs {
			if a.who != who {
				continue
			}
			browsertest.EvaluateExpression[int](b, `(document.getElementById('q').value = '', document.getElementById('reply').replaceChildren(), 0)`)
			b.RunSteps("ask", chromedp.SendKeys("#q", a.question+"\n"))
			const reply = `document.querySelector('#reply').innerText.replace(/\s+/g, ' ')`
			b.AwaitExpression(who+" asks "+a.question, fmt.Sprintf(`%s.includes(%q)`, reply, a.want))
			if others := a.toldOfOthers(browsertest.EvaluateExpression[string](b, `document.body.innerText`)); len(others) > 0 {
				t.Errorf("the page of %s tells of %v", who, others)
			}
		}
		if *pictures != "" {
			b.SaveScreenshot(filepath.Join(*pictures, "affairs-"+who+".png"))
		}
		b.FailOnErrors()
	}
}
