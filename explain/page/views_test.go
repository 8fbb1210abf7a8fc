package page

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/historytest"
)

// The instant of an address is read in several forms; one that is not read is said to be none.
func TestInstantsOfAddresses(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up"})
	for _, tc := range []struct{ t, clock, notice string }{
		{"2026-03-11T02:30:00Z", "11 Mar 02:30", ""},
		{"2026-03-11T04:30:00+02:00", "11 Mar 02:30", ""},
		{"1773196200000", "11 Mar 02:30", ""},
		{"2026-03-11T02:30", "11 Mar 02:30", ""},
		{"2026-03-11", "11 Mar 00:00", ""},
		{"2026-03-10", "11 Mar 00:00", "is not in it"},
		{"2031-01-01T00:00:00Z", "11 Mar", "is not in it"},
		{"end", "11 Mar", ""},
		{"half past two", "11 Mar", "is no instant, so this is the busiest hour"},
	} {
		_, text := get(t, s.URL+"/?t="+url.QueryEscape(tc.t), nil)
		if !strings.Contains(text, `<output id="clock">`+tc.clock) {
			t.Errorf("t=%s does not show %s", tc.t, tc.clock)
		}
		if strings.Contains(text, `id="notice"`) != (tc.notice != "") || !strings.Contains(text, tc.notice) {
			t.Errorf("t=%s: want the notice %q", tc.t, tc.notice)
		}
	}
	if a, text := get(t, s.URL+"/chart/gantt.svg?t=noon", nil); a.StatusCode != 400 || !strings.Contains(text, "2026-03-11T14:00:00Z") {
		t.Errorf("a chart at noon: %d %s", a.StatusCode, text)
	}
}

// A recording opens at its busiest hour, and a live run at now.
func TestWhereThePageOpens(t *testing.T) {
	day := historytest.GenerateDay(60, 10*time.Minute)
	d := timeline.New(nil)
	for _, m := range day {
		d.AddMessage(m)
	}
	_, last := d.TimeSpan()
	if s := instantToShow(d, "", false); s.At != d.BusiestHour() || !s.Pinned || s.At == last || d.InstantAt(s.At).Running == 0 {
		t.Errorf("a recording opens at %+v", s)
	}
	if s := instantToShow(d, "", true); s.At != last || s.Pinned {
		t.Errorf("a live run opens at %+v", s)
	}
}

// Jobs are filtered by the address, so a list can be sent to somebody, and read without a script.
func TestJobsOfThePage(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up"})
	for _, tc := range []struct {
		path, want, not string
	}{
		{"/?t=end", "60 of 60", ""},
		{"/jobs?t=end", "show more of 60", ""},
		{"/jobs?t=end&jskip=25", "job-00010", "<form"},
		{"/jobs?t=end&jskip=50", "job-00000", "show more"},
		{"/jobs?t=end&jq=00017", "1 of 60", "job-00018"},
		{"/jobs?t=end&jsite=warsaw&js=done", "job-00008", "job-00000"},
		{"/jobs?t=end&jt=team-b", "12 of 60", "team-c</td>"},
		{"/jobs?t=end&jq=%3Cimg", "&lt;img src=x onerror=alert(1)&gt;", "<img"},
		{"/jobs?t=end&js=refused", "No job is like that", "<tbody"},
		{"/jobs?t=2026-03-11T02:00:00Z&js=planned", " of ", "job-00059"},
	} {
		a, text := get(t, s.URL+tc.path, nil)
		if a.StatusCode != 200 || !strings.Contains(text, tc.want) || tc.not != "" && strings.Contains(text, tc.not) {
			t.Errorf("%s: %d, want %q and not %q in\n%.1500s", tc.path, a.StatusCode, tc.want, tc.not, text)
		}
	}
}

// Two policies stand side by side at one instant, each with its charts; the ledger of the other is
// read once.
func TestTwoPoliciesSideBySide(t *testing.T) {
	opened := 0
	rivals := Rivals{Policies: []string{"home-fifo", "greenest"}, Open: func(policy string) *tail.Run {
		opened++
		w := newWire(historytest.GenerateDay(30, 20*time.Minute)...)
		w.ended = true
		return tail.StartReading(context.Background(), w.source, nil)
	}}
	s := finished(t, 60, Options{Title: "made up", Policy: "auction", Rivals: rivals})
	_, text := get(t, s.URL+"/", nil)
	if !strings.Contains(text, "<option>home-fifo</option>") || opened != 0 {
		t.Errorf("the other policies are not offered, or %d ledgers were read", opened)
	}
	for _, path := range []string{"/?t=end&vs=home-fifo", "/versus?t=end&vs=home-fifo"} {
		_, text := get(t, s.URL+path, nil)
		for _, want := range []string{"home-fifo against auction", "<td>60</td><td>30</td><td>-50 %", `chart/gantt.html?t=`, `vs=home-fifo`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q", path, want)
			}
		}
	}
	if a, text := get(t, s.URL+"/chart/queue.svg?vs=home-fifo", nil); a.StatusCode != 200 || !strings.Contains(text, "Queue") || opened != 1 {
		t.Errorf("a chart of the other policy: %d, after %d ledgers", a.StatusCode, opened)
	}
	if _, text := get(t, s.URL+"/versus?vs=nobody", nil); !strings.Contains(text, "No ledger of nobody is in this run") {
		t.Errorf("a policy that is not there: %s", text)
	}
}

// What does not follow the time says so.
func TestEveryChartFollowsTheTimeOrSaysWholeRun(t *testing.T) {
	s := finished(t, 60, Options{Title: "made up"})
	_, early := get(t, s.URL+"/?t=2026-03-11T02:00:00Z", nil)
	_, late := get(t, s.URL+"/?t=end", nil)
	for _, name := range pageCharts {
		if name == "policies" { // none were replayed
			continue
		}
		a, b := figureOf(early, name), figureOf(late, name)
		switch {
		case !strings.Contains(a, "<noscript><svg"):
			t.Errorf("%s is not drawn for browsers without scripts alone: a script draws it when it comes near", name)
		case a == "" || b == "":
			t.Errorf("%s is not on the page", name)
		case name == "day" && !strings.Contains(a, "whole run"):
			t.Errorf("%s does not say that it is of the whole run", name)
		case name != "day" && a == b:
			t.Errorf("%s is the same at two instants", name)
		}
	}
}

// figureOf returns the markup of a chart without its address.
func figureOf(text, name string) string {
	_, text, _ = strings.Cut(text, `data-name="`+name+`"`)
	text, _, _ = strings.Cut(text, "<figcaption>")
	return text
}
