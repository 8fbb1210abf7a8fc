package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/protocol"
)

// A face is what one way to look at a federation shows: figures by name, such as "oslo free".
type face map[string]string

func (f face) set(site, what string, v any) {
	if x, ok := v.(float64); ok {
		v = math.Round(x*1000) / 1000
	}
	f[site+" "+what] = fmt.Sprint(v)
}

// A facade is a federation that is looked at through its API, which `gridbid sites` and `gridbid jobs`
// print, the screen of `gridbid top`, its metrics, its page and its answers.
type facade struct {
	*testing.T
	desk *api.Server
	at   string // where the API is served
	tele *telemetry.Telemetry
	page *timeline.Timeline
}

func (f *facade) get(path string, out any) {
	f.Helper()
	r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
	r.RemoteAddr = "127.0.0.1:7"
	w := httptest.NewRecorder()
	f.desk.HTTPHandler().ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		f.Fatalf("%s: %v", path, err)
	}
}

// ofAPI returns what the API shows.
func (f *facade) ofAPI() face {
	out := face{}
	var sites []jobstatus.Site
	f.get("/v1/sites", &sites)
	for _, s := range sites {
		out.set(s.Name, "state", s.State)
		out.set(s.Name, "since", s.Since)
		out.set(s.Name, "held", s.Held)
		out.set(s.Name, "free", s.Free)
		out.set(s.Name, "running", s.Running)
		out.set(s.Name, "planned", s.Planned)
		if s.PUE > 0 {
			out.set(s.Name, "price", s.Price)
			out.set(s.Name, "carbon", s.Carbon)
		}
		if s.Metered != 0 {
			out.set(s.Name, "power", s.Draw)
		}
	}
	var jobs []jobstatus.Job
	f.get("/v1/jobs?limit=100000", &jobs)
	n := make(map[history.State]int)
	for _, j := range jobs {
		n[j.State]++
	}
	for _, s := range history.AllStates() {
		out.set("jobs", string(s), n[s])
	}
	return out
}

// ofPage returns what the page shows.
func (f *facade) ofPage(at protocol.Time) face {
	out := face{}
	now := f.page.InstantAt(at)
	for _, s := range now.Sites {
		if s.Condition.State == "" {
			continue
		}
		out.set(s.Name, "state", s.Condition.State)
		out.set(s.Name, "since", s.Condition.Since)
		out.set(s.Name, "held", float64(s.Held)/1000)
		out.set(s.Name, "free", float64(s.GPUs-s.Held)/1000)
		out.set(s.Name, "running", s.Running)
		out.set(s.Name, "planned", s.Planned)
		if s.Known {
			out.set(s.Name, "price", s.Price.InDollars()*1000)
			out.set(s.Name, "carbon", float64(s.Carbon)/1000)
		}
		if s.Metered != 0 {
			out.set(s.Name, "power", float64(s.Draw)/1000)
		}
	}
	for s, n := range map[history.State]int{
		history.Pending: now.Pending, history.Planned: now.Planned, history.Running: now.Running, history.Preempted: now.Preempted,
		history.Done: now.Done, history.Failed: now.Failed, history.Cancelled: now.Cancelled, history.Refused: now.Refused,
	} {
		out.set("jobs", string(s), n)
	}
	return out
}

// ofMetrics returns what a Prometheus would scrape.
func (f *facade) ofMetrics() face {
	out := face{}
	w := httptest.NewRecorder()
	f.tele.HTTPHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	names := map[string]string{"gpus_held": "held", "gpus_free": "free", "price_dollars_per_mwh": "price", "carbon_grams_per_kwh": "carbon", "power_watts": "power"}
	for _, line := range strings.Split(w.Body.String(), "\n") {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "gridbid_site_"), "{")
		labels, value, _ := strings.Cut(rest, "} ")
		var site, state string
		for _, l := range strings.Split(labels, ",") {
			key, text, _ := strings.Cut(l, "=")
			switch text = strings.Trim(text, `"`); key {
			case "site":
				site = text
			case "state":
				state = text
			}
		}
		var v float64
		if _, err := fmt.Sscan(value, &v); !ok || err != nil || !strings.HasPrefix(line, "gridbid_site_") {
			continue
		}
		switch {
		case name == "jobs":
			out.set(site, state, v)
		case name == "state" && v == 1:
			out.set(site, "state", state)
		case names[name] != "":
			out.set(site, names[name], v)
		}
	}
	return out
}

// A firstScreen keeps the first screen of a command that repaints it, and ends the command.
type firstScreen struct {
	bytes.Buffer
	end func()
}

func (w *firstScreen) Write(p []byte) (int, error) {
	w.end()
	return w.Buffer.Write(p)
}

var columnGap = regexp.MustCompile(` {2,}`)

// ofTop returns what `gridbid top` shows people. Figures that its table rounds are left out.
func (f *facade) ofTop() face {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	screen := &firstScreen{end: cancel}
	cmd := newTopCommand()
	cmd.SetOut(screen)
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{"--api", f.at})
	if err := cmd.ExecuteContext(ctx); err != nil {
		f.Fatal(err)
	}
	out := face{}
	counts, tables, _ := strings.Cut(screen.String(), "\n")
	for count := range strings.SplitSeq(counts, ", ") {
		n, state, _ := strings.Cut(count, " ")
		out.set("jobs", state, n)
	}
	sites, _, _ := strings.Cut(strings.TrimSpace(tables), "\n\n")
	lines := strings.Split(sites, "\n")
	heads := columnGap.Split(lines[0], -1)
	for _, line := range lines[1:] {
		cells := columnGap.Split(line, -1)
		for i, head := range heads[:min(len(heads), len(cells))] {
			switch v, err := strconv.ParseFloat(cells[i], 64); {
			case head == "STATE":
				out.set(cells[0], "state", cells[i])
			case (head == "FREE" || head == "RUNNING" || head == "PLANNED") && err == nil:
				out.set(cells[0], strings.ToLower(head), v)
			}
		}
	}
	return out
}

// count asks how many jobs are in a state, at a site unless that is "".
func (f *facade) count(out face, what string, state history.State, site string) {
	q := ask.Query{Ask: "jobs", State: string(state), Site: site}
	for _, x := range f.page.AskQuestion(q.String(), "").Figures {
		if x.Name == "jobs" {
			out.set(what, string(state), x.Value)
		}
	}
}

// ofAnswers returns what `gridbid ask` answers.
func (f *facade) ofAnswers(sites []string) face {
	out, free := face{}, make(map[string]float64)
	for _, s := range history.AllStates() {
		f.count(out, "jobs", s, "")
	}
	for _, site := range sites {
		f.count(out, site, history.Running, site)
		f.count(out, site, history.Planned, site)
	}
	states := f.page.AskQuestion("which sites are silent", "")
	for _, x := range states.Figures {
		if site, ok := strings.CutPrefix(x.Subject, "site/"); ok && x.Name == "state-since" {
			out.set(site, "since", protocol.Time(x.Value))
		}
	}
	if states.Table != nil {
		for _, row := range states.Table.Rows {
			out.set(row[0], "state", row[1])
		}
	}
	for _, x := range f.page.AskQuestion("free GPUs by site", "").Figures {
		if site, ok := strings.CutPrefix(x.Subject, "site/"); ok && strings.HasPrefix(x.Name, "free-") {
			free[site] += float64(x.Value) / 1000
		}
	}
	for site, v := range free {
		out.set(site, "free", v)
	}
	return out
}

// agree checks that two faces show no two figures for one thing, and at least so many in common.
func (f *facade) agree(when, a, b string, x, y face, least int) {
	f.Helper()
	common := 0
	for name, v := range x {
		if w, ok := y[name]; ok {
			if common++; v != w {
				f.Errorf("%s: %s is %s by the %s, and %s by the %s", when, name, v, a, w, b)
			}
		}
	}
	if common < least {
		f.Errorf("%s: %s and %s share %d figures; want %d", when, a, b, common, least)
	}
}

// However one looks at a federation, at a hundred instants of a day with drains and silence, there are never two numbers for one thing.
func TestAllFacesShowOneNumber(t *testing.T) {
	day := historytest.GenerateDay(120, 10*time.Minute)
	tele, err := telemetry.New(t.Context(), telemetry.Config{Who: protocol.Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	f := &facade{T: t, desk: api.New(), tele: tele, page: timeline.New(nil)}
	f.at = serveAPI(t, f.desk.HTTPHandler().ServeHTTP)
	tele.RegisterSites(api.SiteStateNames(), f.desk.SiteStatuses)
	f.desk.StartLeading(1)
	var sites []string
	desk, monitor := protocol.Sender{Party: protocol.OperatorAPI}, protocol.Sender{Party: protocol.SiteMonitor}
	say := func(m protocol.Message) {
		f.desk.Restore(m)
		f.page.AddMessage(m)
	}
	last := protocol.Time(0)
	looked, act := 0, 0
	for i, m := range day {
		if r, ok := m.Body.(protocol.RegisterSite); ok {
			sites = append(sites, r.Site)
		}
		say(m)
		last = max(last, m.At)
		if i%max(1, len(day)/100) != 0 || len(sites) == 0 {
			continue
		}
		site := sites[act%len(sites)]
		switch act++; act % 6 {
		case 0:
			say(desk.NewMessage(last, protocol.Coordinator, protocol.Drain{Site: site, By: "ada", Why: "switches", Over: act%12 == 0}))
		case 2:
			say(monitor.NewMessage(last, protocol.Coordinator, protocol.SiteCondition{Site: site, State: protocol.SiteSilent, Since: last - 6000, Why: protocol.Reason{Code: protocol.NoHeartbeat}}))
		case 3:
			say(monitor.NewMessage(last, protocol.Coordinator, protocol.SiteCondition{Site: sites[(act-2)%len(sites)], State: protocol.SiteOK, Since: last}))
		}
		looked++
		f.desk.SetClock(bus.Clock{Start: last, Began: time.Now(), Speed: 1e-9})
		when := fmt.Sprintf("after %d messages, at %v", i+1, last)
		apiFace, page := f.ofAPI(), f.ofPage(last)
		f.agree(when, "API", "page", apiFace, page, len(history.AllStates())+6*len(sites))
		f.agree(when, "API", "metrics", apiFace, f.ofMetrics(), 5*len(sites))
		f.agree(when, "API", "top", apiFace, f.ofTop(), len(history.AllStates())+4*len(sites))
		f.agree(when, "API", "answers", apiFace, f.ofAnswers(sites), len(history.AllStates())+5*len(sites))
		if t.Failed() {
			t.Fatal("they differ")
		}
	}
	if looked < 100 {
		t.Errorf("looked %d times; want a hundred", looked)
	}
}
