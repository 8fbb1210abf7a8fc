package timeline_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/internal/chart"
	"github.com/gridbid/gridbid/protocol"
)

func read(all []protocol.Message) *timeline.Timeline {
	d := timeline.New(nil)
	for _, m := range all {
		d.AddMessage(m)
	}
	return d
}

// The Timeline at an instant is that of a reader who had stopped there. Only when
// a job ends is known better later; an instant at which none runs shows it.
func TestThePastHoldsNothingThatWasSaidLater(t *testing.T) {
	day := historytest.GenerateDay(40, 11*time.Minute)
	whole := read(day)
	first, last := whole.TimeSpan()
	rapid.Check(t, func(t *rapid.T) {
		at := protocol.Time(rapid.Int64Range(int64(first), int64(last)).Draw(t, "at"))
		var until []protocol.Message
		for _, m := range day {
			if m.At <= at {
				until = append(until, m)
			}
		}
		then := read(until)
		got, want := whole.InstantAt(at), then.InstantAt(at)
		if got.Decisions != want.Decisions || got.Energy != want.Energy || got.Carbon != want.Carbon || got.Money != want.Money ||
			got.Pending != want.Pending || got.Running != want.Running || got.Done != want.Done || got.Planned != want.Planned {
			t.Fatalf("At(%s) = %+v\nof one who stopped there: %+v", at, got, want)
		}
		for i, s := range got.Sites {
			w := want.Sites[i]
			if s.Held != w.Held || s.Carbon != w.Carbon || s.Price != w.Price || s.Draw != w.Draw || s.LastMessage != w.LastMessage || s.Known != w.Known {
				t.Fatalf("site at %s = %+v\nof one who stopped there: %+v", at, s, w)
			}
		}
		if a, b := whole.DecisionsUntil(at, 0, 1000), then.DecisionsUntil(at, 0, 1000); len(a) != len(b) {
			t.Fatalf("%d decisions until %s; want %d", len(a), at, len(b))
		}
	})
}

// What the Timeline sums up is what the record, folded by other code, sums up.
func TestSumsAreThoseOfTheRecord(t *testing.T) {
	day := historytest.GenerateDay(60, 7*time.Minute)
	d, book := read(day), history.New(history.Config{})
	for _, m := range day {
		book.AddMessage(m)
	}
	var want protocol.Usage
	for _, s := range book.SiteRecords() {
		want.Energy += s.Jobs.Energy + s.Idle.Energy
		want.Carbon += s.Jobs.Carbon + s.Idle.Carbon
		want.Money += s.Jobs.Money + s.Idle.Money
	}
	_, last := d.TimeSpan()
	got := d.InstantAt(last)
	if got.Energy != want.Energy || got.Carbon != want.Carbon || got.Money != want.Money {
		t.Errorf("At(the end) = %d mJ, %d mg, %d; want %d, %d, %d", got.Energy, got.Carbon, got.Money, want.Energy, want.Carbon, want.Money)
	}
	if got.Done != 60 || got.Pending+got.Running+got.Planned+got.Refused != 0 {
		t.Errorf("At(the end) = %+v; want 60 jobs that ended", got)
	}
	c, err := d.DrawChart(timeline.Drawing{Chart: "day"})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := d.TimeSpan()
	held := make(map[string]float64) // GPU-hours by site and hour, from the reports
	for _, m := range day {
		done, ok := m.Body.(protocol.UsageReport)
		if !ok {
			continue
		}
		r, _ := book.LatestJob(done.Job)
		for at := first.Floor(time.Hour); at < last; at = at.Add(time.Hour) {
			hours := min(at.Add(time.Hour), done.Ended).Sub(max(at, done.Started)).Hours()
			held[m.From.SiteName()+at.String()] += max(0, hours) * float64(r.Job.GPUs)
		}
	}
	for i, name := range historytest.SiteNames {
		for h, v := range c.(chart.LineChart).Series[i].Of {
			if want := held[name+first.Floor(time.Hour).Add(time.Duration(h)*time.Hour).String()]; math.Abs(v-want) > 0.002 {
				t.Errorf("%s in hour %d held %v GPUs; want %v", name, h, v, want)
			}
		}
	}
}

func TestTheFeedGoesOnWhereItWas(t *testing.T) {
	d := read(historytest.GenerateDay(30, time.Minute))
	_, last := d.TimeSpan()
	all := d.DecisionsUntil(last, 0, 1000)
	var pieces []timeline.Entry
	for before := uint64(0); ; {
		some := d.DecisionsUntil(last, before, 7)
		if len(some) == 0 {
			break
		}
		pieces = append(pieces, some...)
		before = some[len(some)-1].N
	}
	if len(all) != 37 || len(pieces) != len(all) {
		t.Fatalf("%d decisions in pieces, %d at once; want 37", len(pieces), len(all))
	}
	for i, e := range all {
		if pieces[i].ID != e.ID {
			t.Errorf("decision %d is %s in pieces; want %s", i, pieces[i].ID, e.ID)
		}
		if since := d.DecisionsSince(e.N, 1000); len(since) != i {
			t.Errorf("%d decisions since %s; want %d", len(since), e.ID, i)
		}
	}
}

func TestACardHoldsTheDecisionAsItIsCited(t *testing.T) {
	d := read(historytest.GenerateDay(20, 10*time.Minute))
	_, last := d.TimeSpan()
	for _, e := range d.DecisionsUntil(last, 0, 1000) {
		c, ok := d.DecisionCard(e.ID)
		if !ok || c.JobRound == nil || c.Record.Job.ID != e.Job || len(c.Answer.Cites) == 0 || c.Answer.Cites[0] != e.ID {
			t.Fatalf("Card(%s) = %+v, %v", e.ID, c, ok)
		}
		if rec, ok := d.DecisionRecord(e.ID); !ok || rec.ID != e.ID {
			t.Errorf("Record(%s) is %s, %v", e.ID, rec.ID, ok)
		}
	}
	for _, id := range []string{"", "D-", "D-0", "D-99999", "D--1", "D-18446744073709551616", "job-00001"} {
		if c, ok := d.DecisionCard(id); ok {
			t.Errorf("Card(%q) = %s", id, c.ID)
		}
	}
}

func TestEveryChartIsDrawnAndSaid(t *testing.T) {
	d := read(historytest.GenerateDay(20, 10*time.Minute))
	for _, c := range timeline.ChartNames() {
		w := timeline.Drawing{Chart: c[0], Job: historytest.HostileText, Question: "carbon by site"}
		chart, err := d.DrawChart(w)
		if c[0] == "policies" {
			if err == nil {
				t.Error("policies are drawn, and none was replayed")
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		svg := string(chart.ComputeLayout(600).EncodeSVG())
		if strings.Contains(svg, "<script") || strings.Contains(svg, "<img") || strings.Contains(svg, "\x1b") {
			t.Errorf("%s: a name became markup", c[0])
		}
		if len(chart.FigureTable().Rows) == 0 {
			t.Errorf("%s has no figures", c[0])
		}
	}
	for _, w := range []timeline.Drawing{{Chart: "nonsense"}, {Chart: "offers", Decision: "D-9999"}, {Chart: "job", Job: "nobody"}, {Chart: "answer", Question: "help"}} {
		if _, err := d.DrawChart(w); err == nil {
			t.Errorf("Draw(%+v) has no error", w)
		}
	}
	empty := timeline.New(nil)
	for _, name := range []string{"day", "carbon", "price", "site-carbon"} {
		if c, err := empty.DrawChart(timeline.Drawing{Chart: name}); err != nil || len(c.ComputeLayout(400).EncodeSVG()) == 0 {
			t.Errorf("%s of an empty run: %v", name, err)
		}
	}
}

// The chart of offers shows what the record priced, and a site that may not
// have the job says why.
func TestOffersAreAsTheyWerePriced(t *testing.T) {
	d := read(historytest.GenerateDay(20, 10*time.Minute))
	e, _ := d.LastDecision("job-00008") // may not leave warsaw
	c, _ := d.DecisionCard(e.ID)
	drawn, err := d.DrawChart(timeline.Drawing{Chart: "offers", Decision: e.ID})
	if err != nil {
		t.Fatal(err)
	}
	b := drawn.(chart.BarChart)
	if len(b.Rows) != 3 || b.Rows[0].Name != "warsaw" || !b.Rows[0].Highlighted || len(b.Rows[1].Values) != 0 || !strings.Contains(b.Rows[1].Note, "may not leave") {
		t.Fatalf("the offers of %s are %+v", e.ID, b.Rows)
	}
	sum := 0.0
	for _, v := range b.Rows[0].Values {
		sum += v
	}
	if want := c.JobRound.Decision.Option.Terms.Total().InDollars(); math.Abs(sum-want) > 1e-9 {
		t.Errorf("the bar of warsaw is $%v; want $%v", sum, want)
	}
}

func TestNothingThatIsSaidPanics(t *testing.T) {
	day := historytest.GenerateDay(12, 20*time.Minute)
	rapid.Check(t, func(t *rapid.T) {
		d := timeline.New(nil)
		for range rapid.IntRange(0, 120).Draw(t, "n") {
			m := day[rapid.IntRange(0, len(day)-1).Draw(t, "i")]
			m.At = protocol.Time(rapid.Int64Range(1, int64(historytest.Midnight)*2).Draw(t, "at"))
			if rapid.Bool().Draw(t, "other") {
				m.From = rapid.SampledFrom([]protocol.Party{"", "agent/", "agent/<b>", "coordinator", "hands/oslo"}).Draw(t, "from")
			}
			d.AddMessage(m)
		}
		_, last := d.TimeSpan()
		d.InstantAt(last)
		for _, e := range d.DecisionsUntil(last, 0, 10) {
			d.DecisionCard(e.ID)
		}
		for _, c := range timeline.ChartNames() {
			if chart, err := d.DrawChart(timeline.Drawing{Chart: c[0], Job: "job-00001", Question: "carbon by site"}); err == nil {
				chart.ComputeLayout(390)
			}
		}
	})
}

// What sites offered are alternatives: no bar is the sum of them.
func TestAlternativesAreNotStacked(t *testing.T) {
	c := query.Chart{Kind: "sweep", Unit: "count"}
	for i, name := range []string{"lyon", "oslo"} {
		s := query.Series{Name: name}
		for k := range 3 {
			s.Points = append(s.Points, query.Point{Label: fmt.Sprint(k * 100), Value: int64(10*i + k)})
		}
		c.Series = append(c.Series, s)
	}
	picture, ok := timeline.New(nil).ChartOfAnswer(query.Answer{Chart: &c})
	b, bars := picture.(chart.BarChart)
	if !ok || !bars || len(b.Rows) != 6 {
		t.Fatalf("drawn as %+v", picture)
	}
	for i, r := range b.Rows {
		s := c.Series[i%2]
		if p := s.Points[i/2]; len(r.Values) != 1 || r.Values[0] != float64(p.Value) || r.Name != p.Label+" · "+s.Name {
			t.Errorf("row %d is %+v; want %s of %s alone", i, r, p.Label, s.Name)
		}
	}
}

// A clock may say anything. What is drawn and told of it stays small, and nothing
// breaks.
func TestTimesThatCannotBeAreShownAllTheSame(t *testing.T) {
	for _, far := range []protocol.Time{math.MinInt64, math.MinInt64 / 2, -1, 1, 1 << 45, math.MaxInt64 / 2, math.MaxInt64} {
		for name, lie := range map[string]func(*protocol.Message){
			"a grid's hours": func(m *protocol.Message) {
				if b, ok := m.Body.(protocol.Bids); ok && m.From == protocol.AgentParty("oslo") {
					b.Grid.From = far
					m.Body = b
				}
			},
			"a job's end": func(m *protocol.Message) {
				if b, ok := m.Body.(protocol.UsageReport); ok {
					b.Ended = far
					m.Body = b
				}
			},
			"a job's start": func(m *protocol.Message) {
				if b, ok := m.Body.(protocol.UsageReport); ok {
					b.Started = far
					m.Body = b
				}
			},
			"a job's arrival": func(m *protocol.Message) {
				if b, ok := m.Body.(protocol.Submit); ok {
					b.Job.Arrival = far
					m.Body = b
				}
			},
		} {
			day := historytest.GenerateDay(4, 10*time.Minute)
			for i := range day {
				lie(&day[i])
			}
			d := read(day)
			for _, c := range timeline.ChartNames() {
				chart, err := d.DrawChart(timeline.Drawing{Chart: c[0], Job: "job-00001", Question: "carbon intensity"})
				if err != nil {
					continue // policies were not replayed
				}
				if n := len(chart.ComputeLayout(600).Marks); n > 20_000 {
					t.Errorf("%s at %d: the chart %s has %d marks", name, far, c[0], n)
				}
			}
			first, last := d.TimeSpan()
			d.InstantAt(first)
			d.InstantAt(last)
			for _, q := range []string{"carbon intensity", "price at 00:20", "greenest site", "when will oslo be greenest in the next 24 h?", "forecast oslo", "forecast error", "carbon by hour", "what happened"} {
				d.AskQuestion(q, "")
			}
		}
	}
}

// retold has each site say again what it says until it is answered.
func retold(day []protocol.Message) (all []protocol.Message) {
	mouths := make(map[protocol.Party]*protocol.Sender)
	for _, m := range day {
		if mouths[m.From] == nil {
			mouths[m.From] = &protocol.Sender{Party: m.From}
		}
		times := 1
		switch m.Body.(type) {
		case protocol.UsageReport, protocol.Accept, protocol.RegisterSite:
			times = 3
		}
		for range times {
			all = append(all, mouths[m.From].NewMessage(m.At, m.To, m.Body))
		}
	}
	return all
}

// A site says that a job is done until it is answered; its bill counts once.
func TestWhatIsSaidAgainCountsOnce(t *testing.T) {
	day := historytest.GenerateDay(20, 10*time.Minute)
	once, again := read(day), read(retold(day))
	_, last := once.TimeSpan()
	a, b := once.InstantAt(last), again.InstantAt(last)
	if a.Energy != b.Energy || a.Carbon != b.Carbon || a.Money != b.Money || a.Late != b.Late || a.Done != b.Done {
		t.Errorf("said again, the day took %d mJ, %d mg, %d and %d jobs ended; want %d, %d, %d and %d", b.Energy, b.Carbon, b.Money, b.Done, a.Energy, a.Carbon, a.Money, a.Done)
	}
}

// A stage is a run of one job that is sold more than once.
type stage struct {
	now    protocol.Time
	mouths map[protocol.Party]*protocol.Sender
	d      *timeline.Timeline
}

func (s *stage) say(from, to protocol.Party, b protocol.Body) {
	if s.mouths[from] == nil {
		s.mouths[from] = &protocol.Sender{Party: from}
	}
	s.d.AddMessage(s.mouths[from].NewMessage(s.now, to, b))
	s.now = s.now.Add(time.Minute)
}

func (s *stage) award(site string, epoch uint64) {
	s.say(protocol.Coordinator, protocol.AgentParty(site), protocol.Award{Job: "j", Epoch: epoch, Option: protocol.BidOption{Start: s.now}})
	s.say(protocol.AgentParty(site), protocol.Coordinator, protocol.Accept{Job: "j", Epoch: epoch, Start: s.now})
}

func sold() *stage {
	s := &stage{now: historytest.Midnight, mouths: make(map[protocol.Party]*protocol.Sender), d: timeline.New(nil)}
	for _, site := range historytest.SiteNames {
		s.say(protocol.AgentParty(site), protocol.Coordinator, protocol.RegisterSite{Site: site})
	}
	s.say(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: protocol.Job{ID: "j", GPUs: 2, Share: 1000, Arrival: s.now, Deadline: s.now.Add(9 * time.Hour)}})
	return s
}

// held returns how many GPUs a site held at an instant, and what the job did.
func (s *stage) held(site string, at protocol.Time) string {
	now := s.d.InstantAt(at)
	for _, x := range now.Sites {
		if x.Name == site {
			return fmt.Sprintf("%d held, %d waiting, %d running, %d ended", x.Held/1000, now.Pending, now.Running, now.Done)
		}
	}
	return "no such site"
}

// A job that was paused and sold again was where it was before.
func TestAJobThatIsSoldAgainWasWhereItWas(t *testing.T) {
	s := sold()
	s.award("oslo", 1)
	began := s.now
	s.now = s.now.Add(2 * time.Hour)
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.UsageReport{Job: "j", Epoch: 1, Started: began, Ended: s.now, Left: time.Hour, Energy: 7})
	paused := s.now
	s.now = s.now.Add(time.Hour)
	s.award("lyon", 2)
	again := s.now
	s.now = s.now.Add(time.Hour)
	s.say(protocol.AgentParty("lyon"), protocol.Coordinator, protocol.UsageReport{Job: "j", Epoch: 2, Started: again, Ended: s.now, Energy: 5})
	for _, tc := range []struct {
		site string
		at   protocol.Time
		want string
	}{
		{"oslo", began.Add(time.Hour), "2 held, 0 waiting, 1 running, 0 ended"},
		{"oslo", paused.Add(time.Minute), "0 held, 1 waiting, 0 running, 0 ended"},
		{"lyon", again.Add(time.Minute), "2 held, 0 waiting, 1 running, 0 ended"},
		{"lyon", s.now, "0 held, 0 waiting, 0 running, 1 ended"},
	} {
		if got := s.held(tc.site, tc.at); got != tc.want {
			t.Errorf("%s at %s: %s; want %s", tc.site, tc.at, got, tc.want)
		}
	}
	c, err := s.d.DrawChart(timeline.Drawing{Chart: "day"})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, v := range c.(chart.LineChart).Series[1].Of { // oslo's
		sum += v
	}
	if math.Abs(sum-4) > 0.1 {
		t.Errorf("oslo held %v GPU-hours by the chart; want 4", sum)
	}
}

// A site that gave a job back says so until it is answered. What it says late is
// not of the award after that.
func TestADeclineIsOfItsAward(t *testing.T) {
	s := sold()
	s.say(protocol.Coordinator, protocol.AgentParty("oslo"), protocol.Award{Job: "j", Epoch: 1, Option: protocol.BidOption{Start: s.now}})
	no := protocol.Decline{Job: "j", Epoch: 1, Why: protocol.Reason{Code: protocol.CapacityTaken}}
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, no)
	s.award("oslo", 2)
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, no)
	if got, want := s.held("oslo", s.now), "2 held, 0 waiting, 1 running, 0 ended"; got != want {
		t.Errorf("oslo: %s; want %s", got, want)
	}
}

// A site says what it is itself, and not what another is, nor that there is one.
func TestASiteSpeaksForItselfAlone(t *testing.T) {
	s := sold()
	pools := []protocol.Pool{{Model: "A100", Nodes: 1, GPUs: 8}}
	s.say(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.RegisterSite{Site: "oslo", Pools: pools})
	for _, site := range []string{"oslo", "atlantis"} {
		s.say(protocol.AgentParty("lyon"), protocol.Coordinator, protocol.RegisterSite{Site: site, Pools: []protocol.Pool{{Model: "A100", Nodes: 1, GPUs: 1 << 30}}})
	}
	for _, x := range s.d.InstantAt(s.now).Sites {
		if x.Name == "atlantis" || x.Name == "oslo" && x.GPUs != 8000 {
			t.Errorf("%s has %d GPUs, as another site said", x.Name, x.GPUs/1000)
		}
	}
	if a := s.d.AskQuestion("free gpus at oslo", ""); !strings.Contains(strings.Join(a.Text, " "), "8 of 8 GPUs") {
		t.Errorf("%s %q; want 8 of 8", a.Kind, a.Text)
	}
	book := history.New(history.Config{})
	mouth := protocol.Sender{Party: protocol.AgentParty("lyon")}
	book.AddMessage(mouth.NewMessage(s.now, protocol.Coordinator, protocol.RegisterSite{Site: "oslo", Pools: pools}))
	if all := book.SiteRecords(); len(all) > 0 {
		t.Errorf("the record has the sites %+v", all)
	}
}

// One site whose clock is years ahead does not put off what all others say after it
// in a federation that runs: the sums of now are of now.
func TestOneWrongClockHoldsNoSumsUp(t *testing.T) {
	mouths := make(map[protocol.Party]*protocol.Sender)
	d := timeline.New(nil)
	say := func(who protocol.Party, at protocol.Time, b protocol.Body) {
		if mouths[who] == nil {
			mouths[who] = &protocol.Sender{Party: who}
		}
		d.AddMessage(mouths[who].NewMessage(at, protocol.Coordinator, b))
	}
	now := historytest.Midnight
	idle := func(carbon protocol.Milligrams) protocol.SiteUsage {
		return protocol.SiteUsage{Hour: now.Floor(time.Hour), Idle: protocol.Usage{Carbon: carbon}}
	}
	say(protocol.InputRecorder, now, protocol.InputLog{Incarnation: 1})
	say(protocol.AgentParty("oslo"), now, idle(1))
	say(protocol.AgentParty("bern"), now.Add(10*365*24*time.Hour), idle(10))
	now = now.Add(time.Hour)
	say(protocol.AgentParty("oslo"), now, idle(100))
	say(protocol.AgentParty("lyon"), now, idle(1000))
	say(protocol.InputRecorder, now, protocol.InputLog{Incarnation: 1})
	if got := d.InstantAt(now).Carbon; got != 1111 {
		t.Errorf("%d mg by now; want 1111", got)
	}
}

// An instant shows the GPUs that a site had then.
func TestASiteHasTheGPUsThatItSaidThen(t *testing.T) {
	m := protocol.Sender{Party: protocol.AgentParty("oslo")}
	d := timeline.New(nil)
	for i, n := range []int{8, 4} {
		d.AddMessage(m.NewMessage(historytest.Midnight.Add(time.Duration(i)*time.Hour), protocol.Coordinator, protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "A100", Nodes: 1, GPUs: n}}}))
	}
	for i, want := range []protocol.Milli{8000, 4000} {
		if got := d.InstantAt(historytest.Midnight.Add(time.Duration(i)*time.Hour + time.Minute)).Sites[0].GPUs; got != want {
			t.Errorf("an hour and %d after midnight: %d; want %d", i, got, want)
		}
	}
}
