package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// Every figure that a typed answer shows is one that it gives, and its forms hold none.
func TestATypedAnswerShowsOnlyFiguresThatItGives(t *testing.T) {
	claims := 0
	for _, l := range []*Dataset{day().buildDataset(), paused().buildDataset()} {
		for _, name := range sortedKeys(evaluators) {
			for _, site := range append(l.history.ReportingSiteNames(), "") {
				for _, job := range append(l.history.JobIDs(), "") {
					q := ask.Query{Ask: name, Site: site, Job: job, Number: map[string]int64{"fit": 2, "top": 5}[name], Long: map[string]time.Duration{"best-start": time.Hour}[name]}
					if name == "differ" {
						q.Other = "lyon"
					}
					a := l.AnswerQuery(q.WithDefaults())
					if a.Kind == "unclear" || absences[name] != "" && !l.runHas(name) { // it takes no site or no job; this run lacks it
						continue
					}
					n, loose, typed := a.CheckGrounding()
					if !typed || len(loose) > 0 {
						t.Errorf("%s of %q at %q: typed %v, %q", name, job, site, typed, loose)
					}
					claims += n
				}
			}
		}
	}
	if claims < 1000 {
		t.Errorf("%d figures were checked; want at least 1000", claims)
	}
}

// What is no data is found: a figure in a form or in words, one that is shown and not
// given, and a cell that is shown otherwise.
func TestAFigureThatIsNoDataIsFound(t *testing.T) {
	figure := Figure{"run", "free", 3000, "thousandths", nil}
	for what, spoil := range map[string]func(*Result, *Answer){
		"in the form":      func(r *Result, _ *Answer) { r.Sentences[0].Form = "%s of 7 were free" },
		"without a part":   func(r *Result, _ *Answer) { r.Sentences[0].Form = "%s of %s were free" },
		"in words":         func(r *Result, _ *Answer) { r.Sentences[0].Parts[0] = plainText("7") },
		"not given":        func(_ *Result, a *Answer) { a.Figures = nil },
		"another is given": func(_ *Result, a *Answer) { a.Figures[0].Value++ },
		"another text":     func(_ *Result, a *Answer) { a.Text[0] = "7 were free" },
		"more text":        func(_ *Result, a *Answer) { a.Text = append(a.Text, "7 were not") },
		"another cell":     func(_ *Result, a *Answer) { a.Table.Rows[0][0] = "7" },
	} {
		r, a := &Result{Head: []string{"free"}}, &Answer{Kind: "answer"}
		r.addSentence("%s were free", figure)
		r.addRow(figure)
		r.fillAnswer(a)
		if n, loose, typed := a.CheckGrounding(); n != 2 || len(loose) > 0 || !typed || a.Text[0] != "3 were free" {
			t.Fatalf("%d claims, %q, %q", n, loose, a.Text)
		}
		spoil(r, a)
		if _, loose, _ := a.CheckGrounding(); len(loose) == 0 {
			t.Errorf("%s: nothing is found in %q", what, strings.Join(a.Text, " "))
		}
	}
}

// The type of a value is its unit, and a decision that there is not is not cited.
func TestTheUnitOfAFigureIsItsType(t *testing.T) {
	for _, tc := range []struct {
		got  Figure
		want string
	}{
		{valueOf("run", "x", 7000), "count 7000"}, {valueOf("run", "x", uint64(7000)), "count 7000"}, {valueOf("run", "x", 7*time.Second), "ms 7000"},
		{valueOf("run", "x", protocol.Time(7000)), "instant 7000"}, {valueOf("run", "x", protocol.Milli(7000)), "thousandths 7000"},
		{valueOf("run", "x", protocol.Microdollars(7000)), "microdollars 7000"}, {valueOf("run", "x", protocol.Milligrams(7000)), "milligrams 7000"},
		{valueOf("run", "x", protocol.Millijoules(7000)), "millijoules 7000"}, {valueOf("run", "x", milliseconds(7000)), "ms 7000"},
		{valueOf("run", "x", gpuMilliseconds(7000)), "gpu-ms 7000"}, {valueOf("run", "x", milligramsPerKWh(7000)), "milligrams-per-kwh 7000"},
		{valueOf("run", "x", microdollarsPerKWh(7000)), "microdollars-per-kwh 7000"}, {valueOf("run", "x", microdollarsPerKg(7000)), "microdollars-per-kg 7000"},
		{valueOf("run", "x", microdollarsPerGPUHour(7000)), "microdollars-per-gpu-hour 7000"}, {valueOf("run", "x", dollarsPerTonne(7000)), "dollars-per-tonne 7000"},
	} {
		if got := fmt.Sprint(tc.got.Unit, " ", tc.got.Value); got != tc.want {
			t.Errorf("the figure is %s; want %s", got, tc.want)
		}
	}
	cited := []string{"", "D-7", ""}
	if got := valueOf("run", "x", 1, cited...).From; !slices.Equal(got, []string{"D-7"}) || cited[0] != "" {
		t.Errorf("it cites %q of %q; want D-7, and the caller's list as it was", got, cited)
	}
}

// Utilization is what jobs held over what there was, in the part of a run that lies in
// the window.
func TestUtilizationIsWhatJobsHeldOfWhatThereWas(t *testing.T) {
	l := day().buildDataset()
	figure := func(q ask.Query, subject, name string) int64 {
		for _, f := range l.AnswerQuery(q).Figures {
			if f.Subject == subject && f.Name == name {
				return f.Value
			}
		}
		t.Fatalf("%+v: no %s of %s: %q", q, name, subject, l.AnswerQuery(q).Text)
		return 0
	}
	first, last := l.TimeSpan()
	middle := first + (last-first)/2
	for _, site := range l.history.ReportingSiteNames() {
		whole := ask.Query{Ask: "utilization", Site: site}
		early, late := whole, whole
		early.From, early.To, late.From, late.To = first, middle, middle, last
		for _, name := range []string{"held", "there"} {
			sum := figure(early, "site/"+site, name) + figure(late, "site/"+site, name)
			if all := figure(whole, "site/"+site, name); all-sum > 1 || sum-all > 1 { // each is cut to whole milliseconds
				t.Errorf("%s of %s: %d in all, %d in its halves", name, site, all, sum)
			}
		}
		if figure(whole, "site/"+site, "held") > figure(whole, "site/"+site, "there") {
			t.Errorf("%s: more is held than there is", site)
		}
		// All of the day's GPUs are V100s.
		if all, of := l.gpuTimeHeld(site, "", first, last), l.gpuTimeHeld(site, "V100", first, last); of != all || l.gpuTimeHeld(site, "T4", first, last) != 0 {
			t.Errorf("%s: of %d, V100s held %d and T4s, of which there are none, the rest", site, all, of)
		}
	}
	var held int64
	for _, r := range l.allInstances() {
		for _, s := range r.RunSegments() {
			if r.Job.GPUs > 0 && s.Over {
				held += int64(r.Job.TotalGPUMilli()) * int64(s.Run.Ended-s.Run.Started) / 1000
			}
		}
	}
	if got := figure(ask.Query{Ask: "utilization"}, "run", "held"); got < held || held == 0 {
		t.Errorf("jobs held %d; those that ended held %d of it", got, held)
	}
}
