package query

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/explain/ask"
	"github.com/gridbid/gridbid/protocol"
)

// assertGrounded fails the test of a typed answer that shows what is no data.
func assertGrounded(t *testing.T, a Answer) {
	t.Helper()
	if _, loose, typed := a.CheckGrounding(); typed && len(loose) > 0 {
		t.Errorf("%s: %q", a.Read, loose)
	}
}

// figureOfAnswer returns a figure of an answer, and fails the test without it.
func figureOfAnswer(t *testing.T, a Answer, subject, name string) int64 {
	t.Helper()
	assertGrounded(t, a)
	i := slices.IndexFunc(a.Figures, func(f Figure) bool { return f.Subject == subject && f.Name == name })
	if i < 0 {
		t.Fatalf("%s has no figure %s of %s: %s %q %+v", a.Read, name, subject, a.Kind, a.Text, a.Figures)
	}
	return a.Figures[i].Value
}

// bodies returns all that was said of one kind, with when.
func bodies[B protocol.Body](s *runBuilder) (all []B) {
	for _, m := range s.messages {
		if b, ok := m.Body.(B); ok {
			all = append(all, b)
		}
	}
	return all
}

// The truth is summed up here from the messages, by no code of this package.
func TestBillsAreSumsOfWhatWasMeasured(t *testing.T) {
	s := day()
	l := s.buildDataset()
	tenant := make(map[protocol.JobID]string)
	for _, b := range bodies[protocol.Submit](s) {
		tenant[b.Job.ID] = b.Job.Tenant
	}
	site := make(map[protocol.JobID]string)
	paid := make(map[string]protocol.Microdollars)
	for _, b := range bodies[protocol.Settlement](s) {
		site[b.Job] = b.Site
		paid[b.Site] += b.Paid
	}
	carbon, energy := make(map[string]int64), make(map[string]int64)
	for _, b := range bodies[protocol.UsageReport](s) {
		for _, k := range []string{"run", "site/" + site[b.Job], "tenant/" + tenant[b.Job], "job/" + string(b.Job)} {
			carbon[k] += int64(b.Carbon)
			energy[k] += int64(b.Energy)
		}
	}
	for _, m := range s.messages {
		if b, ok := m.Body.(protocol.SiteUsage); ok {
			for _, k := range []string{"run", "site/" + m.From.SiteName()} {
				carbon[k] += int64(b.Idle.Carbon)
				energy[k] += int64(b.Idle.Energy)
			}
		}
	}
	for q, subject := range map[string]string{
		"how much carbon did we emit": "run", "carbon of tenant vision": "tenant/vision", "how much carbon did train-1 emit": "job/train-1",
		"energy of site oslo": "site/oslo", "summary": "run",
	} {
		a := l.AnswerQuestion(q)
		if got := figureOfAnswer(t, a, subject, "carbon"); got != carbon[subject] {
			t.Errorf("%s: carbon %d; want %d", q, got, carbon[subject])
		}
		if got := figureOfAnswer(t, a, subject, "energy"); got != energy[subject] {
			t.Errorf("%s: energy %d; want %d", q, got, energy[subject])
		}
	}
	a := l.AnswerQuestion("carbon by site")
	for _, name := range []string{"oslo", "lyon", "bern"} {
		if got := figureOfAnswer(t, a, "site/"+name, "carbon"); got != carbon["site/"+name] {
			t.Errorf("carbon by site: %d at %s; want %d", got, name, carbon["site/"+name])
		}
	}
	most := l.AnswerQuestion("which tenant emitted most")
	if want := "The most of carbon: vision"; !strings.HasPrefix(most.Text[0], want) {
		t.Errorf("which tenant emitted most: %q; want %q", most.Text, want)
	}
	if got := figureOfAnswer(t, l.AnswerQuestion("what did oslo earn"), "site/oslo", "paid"); got != int64(paid["oslo"]) {
		t.Errorf("what did oslo earn: %d; want %d", got, paid["oslo"])
	}
}

func TestAnswersOnOneJobMatchItsRun(t *testing.T) {
	s := day()
	l := s.buildDataset()
	done := bodies[protocol.UsageReport](s)
	train1, train2 := done[0], done[1]
	for _, tc := range []struct {
		q, subject, name string
		want             int64
	}{
		{"when did train-1 start", "job/train-1", "started", int64(train1.Started)},
		{"when did train-1 end", "job/train-1", "ended", int64(train1.Ended)},
		{"how long did train-1 wait", "job/train-1", "wait", int64(train1.Started - noon)},
		{"late jobs", "run", "late", 1},
		{"late jobs", "job/train-2", "late-by", int64(train2.Ended - after(3*time.Hour))},
		{"average wait", "run", "mean-wait", (int64(train1.Started-noon) + int64(train2.Started-noon)) / 2},
		{"p95 wait", "run", "p95-wait", int64(train2.Started - noon)},
		{"how many jobs ran", "run", "jobs", 5},
		{"which jobs were waiting at 12:30", "run", "waiting", 4},
		{"stuck jobs", "run", "not-ended", 2},
		{"what happened to train-1", "job/train-1", "decisions", 2},
		{"how many sites bid on train-1", "job/train-1", "sites-that-offered", 2},
		{"which sites refused train-1", "job/train-1", "sites-without-offer", 1},
		{"silent agents", "site/bern", "rounds-missed", 2},
		{"free gpus at 13:30", "site/oslo", "free-V100", 6000},
		{"free gpus at 13:30", "run", "free", 22_000},
		{"how many V100 are free at oslo at 13:30", "model/V100", "free", 6000},
		{"largest block at oslo at 13:30", "site/oslo", "largest-block", 4},
		{"carbon intensity at oslo at 13:00", "site/oslo", "carbon-intensity", 20_000},
		{"forecast oslo at 15:00", "site/oslo", "first-forecast", 20_000 + 21_000},
		{"top 1 jobs by carbon", "job/train-1", "carbon", int64(train1.Carbon)},
		{"what happened between 12:00 and 12:10", "run", "decisions", 2},
		{"bid error", "site/oslo", "energy-measured", int64(train1.Energy)},
	} {
		t.Run(tc.q+", "+tc.name, func(t *testing.T) {
			if got := figureOfAnswer(t, l.AnswerQuestion(tc.q), tc.subject, tc.name); got != tc.want {
				t.Errorf("%s of %s = %d; want %d", tc.name, tc.subject, got, tc.want)
			}
		})
	}
}

// In the round that decided, lyon asked 3 cents and 30 grams, oslo 1 and 50: at
// 100 dollars per tonne 33,000 microdollars against 15,000.
func TestWhyNotIsTheDifferenceOfTheOffers(t *testing.T) {
	s := day()
	l := s.buildDataset()
	a := l.AnswerQuestion("why not lyon for train-1")
	for name, want := range map[string]int64{
		"total-cost": 33_000, "cost-difference": 18_000, "carbon-difference": -20_000, "energy-difference": 20_000,
	} {
		if got := figureOfAnswer(t, a, "site/lyon", name); got != want {
			t.Errorf("%s = %d; want %d", name, got, want)
		}
	}
	if want := s.addDecision("train-1", 2); !slices.Equal(a.Cites, []string{want}) {
		t.Errorf("it cites %q; want %s", a.Cites, want)
	}
	for _, tc := range []struct{ q, says string }{
		{"why not bern for train-1", "its data may not leave"},
		{"why not oslo for train-1", "It was: job train-1 was given to oslo"},
		{"why did train-1 run at lyon", "It did not: job train-1 ran at oslo, not at lyon"},
		{"why not lyon for " + s.addDecision("train-1", 1), "lyon made no offer that counts: the site has no room in time"},
		{"why not bern for " + s.addDecision("train-1", 1), "did not answer by 13 Apr 12:00:01"},
		{"why was the greenest site not used for train-1", "lyon offered $0.0330, which is $0.0180 more"},
		{"why not home for train-1", "lyon offered $0.0330"},
		{"why not home for eval-2", "names no home site"},
		{"why eval-1", "was refused"},
		{"why is eval-3 still waiting", "has not started"},
		{"when will eval-2 start", "bern plans to start it at 13 Apr 17:00"},
		{"where is eval-2", "awarded to bern and has not been launched"},
		{"what made the difference between oslo and lyon for train-1", "The largest difference is energy: $0.0200 more at lyon than at oslo"},
		{"what did waiting save for train-1", "Waiting saved job train-1 $0.0150 and 0.0500 kg"},
		{"what would train-1 have cost at once", "for $0.0300"},
		{"would train-1 change at a carbon price of 200", "cannot be made again"}, // no market said this ledger
		{"at what carbon price would lyon win train-1", "cannot be made again"},
		{"what if lyon were down", "its scenario is not at hand"},
		{"what should I change for train-1", "let its data be at more sites"},
		{"would 5 gpus fit at 13:30", "No node had so many free"},
		{"would 4 gpus fit at 13:30", "would have fitted at bern (V100), lyon (V100) and oslo (V100)"},
		{"what if train-1 had run elsewhere", "lyon offered $0.0330, which is $0.0180 more"},
		{"who preempted train-1", "This market preempts nobody"},
		{"what is ahead of train-2", "0 jobs held GPUs at lyon"},
	} {
		t.Run(tc.q, func(t *testing.T) {
			if a := l.AnswerQuestion(tc.q); !strings.Contains(strings.Join(a.Text, " "), tc.says) {
				t.Errorf("%s %q; want %q in it", a.Kind, a.Text, tc.says)
			}
		})
	}
}

// everyQuestion has the examples of the help, and a question of each form.
func everyQuestion() (all []string) {
	for _, q := range exampleQuestions {
		all = append(all, strings.NewReplacer("NAME", "train-1", "SITE", "oslo").Replace(q))
	}
	for _, name := range ask.QuestionNames() {
		q := ask.Query{Ask: name, Job: "train-1", Site: "oslo", Other: "lyon", Metric: "carbon", Number: 5, Long: 8 * time.Hour, Within: 24 * time.Hour}
		all = append(all, q.String())
	}
	return all
}

func TestEveryFigureCitesDecisionsThatAreThere(t *testing.T) {
	s := day()
	l := s.buildDataset()
	there := make(map[string]bool)
	for _, id := range []protocol.JobID{"train-1", "train-2", "eval-1", "eval-2"} {
		for n := 1; s.addDecision(id, n) != ""; n++ {
			there[s.addDecision(id, n)] = true
		}
	}
	for _, text := range everyQuestion() {
		a := l.AnswerQuestion(text)
		cited := slices.Clone(a.Cites)
		for _, f := range a.Figures {
			cited = append(cited, f.From...)
		}
		for _, id := range cited {
			if !there[id] {
				t.Errorf("%q cites %s, which is no decision; there are %v", text, id, there)
			}
		}
		if a.Kind == "answer" && len(a.Text) == 0 && (a.Table == nil || len(a.Table.Rows) == 0) {
			t.Errorf("%q is answered with nothing", text)
		}
	}
}

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	x, y := day().buildDataset(), day().buildDataset()
	for _, text := range everyQuestion() {
		var a, b bytes.Buffer
		if err := x.AnswerQuestion(text).WriteText(&a); err != nil {
			t.Fatal(err)
		}
		if err := y.AnswerQuestion(text).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if a.String() != b.String() {
			t.Errorf("%q:\n%s\nand then\n%s", text, a.String(), b.String())
		}
	}
}

func TestAnEmptyRunIsAnswered(t *testing.T) {
	l := NewDataset(nil)
	for _, q := range append(everyQuestion(), "help", "summary", fmt.Sprint(noon)) {
		if a := l.AnswerQuestion(q); a.Kind == "" {
			t.Errorf("%q has no kind of answer", q)
		}
	}
}

// A summary of a time tells the rounds and the decisions of that time.
func TestASummaryIsOfItsTime(t *testing.T) {
	s := day()
	l := s.buildDataset()
	first, rounds, decisions := s.messages[0].At, 0, 0
	for _, m := range s.messages {
		if m.At >= first.Add(time.Hour) {
			continue
		}
		switch m.Body.(type) {
		case protocol.CallForBids:
			rounds++
		case protocol.Award, protocol.Defer, protocol.Reject:
			decisions++
		}
	}
	a := l.AnswerQuestion("summary from 12:00 to 13:00")
	if r, d := figureOfAnswer(t, a, "run", "rounds"), figureOfAnswer(t, a, "run", "decisions"); int(r) != rounds || int(d) != decisions || rounds == len(bodies[protocol.CallForBids](s)) {
		t.Errorf("%d rounds and %d decisions; want %d and %d, which is not all: %q", r, d, rounds, decisions, a.Text)
	}
}

// The prices in force are those of the newest round, whatever its jobs are called,
// and to the cent.
func TestThePricesInForceAreTheNewest(t *testing.T) {
	s := day() // its rounds count $100
	s.now = s.now.Add(time.Minute)
	j := task("a-later-job", "vision")
	j.Arrival, j.Deadline = s.now, s.now.Add(9*time.Hour)
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addMessage(protocol.Coordinator, "", protocol.CallForBids{Round: 90, Closes: s.now.Add(time.Second), Jobs: []protocol.Job{j}, Weights: protocol.Weights{Carbon: 51_500, WaitNow: 1_000_000, Late: 10_000_000}})
	a := s.buildDataset().AnswerQuestion("rules in force")
	if got := figureOfAnswer(t, a, "run", "carbon-price"); got != 51_500 || !strings.Contains(a.Text[0], "$51.5 per tonne") {
		t.Errorf("%d: %q; want $51.5 per tonne", got, a.Text)
	}
}

// A federation does not tell its coordinator on which GPUs a job runs until it is
// over. Nobody is promised a node that may be full.
func TestABlockIsNoLargerThanWhatIsFree(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo") // two nodes of four
	for i, n := range []int{4, 3} {
		j := task(protocol.JobID(fmt.Sprint("j", i)), "vision")
		j.GPUs = n
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		s.addCall(uint64(i+1), j)
		s.addOffer("oslo", uint64(i+1), j.ID, "", option(0, 2, 100))
		s.addAward("oslo", uint64(i+1), j, option(0, 2, 100), "", nil, 0)
	}
	s.now = s.now.Add(time.Minute)
	s.addMeter("oslo")
	l := s.buildDataset()
	a := l.AnswerQuestion("largest free block of gpus")
	if free, block := figureOfAnswer(t, a, "site/oslo", "free-V100"), figureOfAnswer(t, a, "run", "largest-block"); free != 1000 || block != 1 || !strings.Contains(a.Text[0], "at most") {
		t.Errorf("%d free, a block of %d: %q; want a block of at most 1", free, block, a.Text)
	}
	if a := l.AnswerQuestion("would 4 gpus fit"); figureOfAnswer(t, a, "run", "places") != 0 {
		t.Errorf("4 GPUs: %q", a.Text)
	}
	if a := l.AnswerQuestion("would 1 gpu fit"); figureOfAnswer(t, a, "run", "places") != 1 || !strings.Contains(strings.Join(a.Text, " "), "may have fitted") {
		t.Errorf("1 GPU: %q", a.Text)
	}
}

// The mean of a run of an hour and a half counts the second hour by half; and nobody
// can start in the past.
func TestTheBestStartIsOfTheWholeRun(t *testing.T) {
	s := &runBuilder{now: after(45 * time.Minute)}
	s.addRegistration("oslo")
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Bids{Round: 1, Grid: protocol.GridForecast{
		From: noon, Carbon: []protocol.Milligrams{10_000, 100_000, 1_000, 50_000, 50_000, 50_000}, Price: make([]protocol.Microdollars, 6),
	}})
	a := s.buildDataset().AnswerQuestion("when should i submit 90 minutes in the next 5 hours")
	for name, want := range map[string]int64{
		"best-start": int64(after(2 * time.Hour)), "mean-intensity": (60*1_000 + 30*50_000) / 90, "at-once": (15*10_000 + 60*100_000 + 15*1_000) / 90,
	} {
		if got := figureOfAnswer(t, a, "site/oslo", name); got != want {
			t.Errorf("%s: %d; want %d: %q", name, got, want, a.Text)
		}
	}
	s = &runBuilder{now: after(45 * time.Minute)}
	s.addRegistration("oslo")
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Bids{Round: 1, Grid: protocol.GridForecast{From: noon, Carbon: []protocol.Milligrams{1_000, 9_000, 9_000}}})
	if got := figureOfAnswer(t, s.buildDataset().AnswerQuestion("when should i submit 1 hour in the next 2 hours"), "site/oslo", "best-start"); got != int64(s.now) {
		t.Errorf("asked at 12:45, start at %s", protocol.Time(got))
	}
}

// Hours ahead may be past the end of the record, in as many words as anybody asks for
// them; and one part of the question changed asks for them again.
func TestHoursAheadMayBePastTheRecord(t *testing.T) {
	s := &runBuilder{now: after(45 * time.Minute)}
	s.addRegistration("lyon", "oslo")
	for _, site := range []string{"lyon", "oslo"} {
		outlook := protocol.GridForecast{From: noon, Carbon: make([]protocol.Milligrams, 24), Price: make([]protocol.Microdollars, 24)}
		for h := range outlook.Carbon {
			outlook.Carbon[h] = protocol.Milligrams(10_000 * (1 + (h+len(site))%24))
		}
		outlook.Carbon[20] = 5_000 // tomorrow at eight
		if site == "lyon" {
			outlook.Carbon[8], outlook.Carbon[20] = 2_000, 4_000
		}
		s.addMessage(protocol.AgentParty(site), protocol.Coordinator, protocol.Bids{Round: 1, Grid: outlook})
	}
	l := s.buildDataset()
	for q, want := range map[string][3]any{
		"when is it greenest tomorrow":                      {"site/oslo", "best-hour", int64(after(20 * time.Hour))},
		"when is it greenest today":                         {"site/lyon", "best-hour", int64(after(8 * time.Hour))},
		"forecast for lyon at 20:00":                        {"site/lyon", "last-said", int64(2_000)},
		"forecast for lyon on 2022-04-14 from 8:00 to 9:00": {"site/lyon", "last-said", int64(4_000)},
	} {
		a := l.AnswerQuestion(q)
		if a.Kind != "answer" || figureOfAnswer(t, a, want[0].(string), want[1].(string)) != want[2].(int64) {
			t.Errorf("%s: %s %q %+v; want %v", q, a.Kind, a.Text, a.Query, want)
		}
	}
	if a := l.AnswerQuestion("when is it greenest on 2022-06-14"); a.Kind != "not-found" {
		t.Errorf("two months ahead: %s %q", a.Kind, a.Text)
	}
	session := l.NewSession()
	session.AnswerQuestion("when is it greenest tomorrow")
	if a := session.AnswerQuestion("and at lyon?"); !strings.HasPrefix(a.Read, "when greenest at site lyon from 2022-04-14T00:00:00Z to 2022-04-15T00:00:00Z ") {
		t.Errorf("asked again for lyon, it is read as %q: %q", a.Read, a.Text)
	}
}

// What nothing was decided on yet cites no decision, and not the first of the run.
func TestAJobOfNoDecisionCitesNone(t *testing.T) {
	s := day()
	s.addMessage(protocol.Coordinator, protocol.Judge, protocol.JudgeRequest{Round: 2, Job: "train-1", Choices: []protocol.JudgeChoice{{Handle: "k1", Site: "lyon"}, {Handle: "k2", Site: "oslo"}}})
	l := s.buildDataset()
	for q, column := range map[string]int{"which jobs wait now": 4, "stuck jobs": 5, "how many jobs ran": 7} {
		a := l.AnswerQuestion(q)
		there := false
		for _, row := range a.Table.Rows {
			if row[0] == "eval-3" {
				there = true
				if row[column] != "" {
					t.Errorf("%s: %q; want no decision", q, row)
				}
			}
		}
		if !there {
			t.Errorf("%s: %q; want eval-3 among them", q, a.Table.Rows)
		}
	}
	if a := l.AnswerQuestion("was eval-3 arbitrated"); len(a.Cites) > 0 || strings.Contains(strings.Join(a.Text, " "), "D-1") {
		t.Errorf("arbitration: %q", a.Text)
	}
}

// Each job that an id was given to counts, and each decision is about its own.
func TestAReusedIDNamesTheLastJob(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("lyon", "oslo")
	for n, site := range []string{"oslo", "lyon"} {
		from := time.Duration(n) * 24 * time.Hour
		s.now = after(from)
		j := task("nightly", "vision")
		j.Arrival, j.Deadline = s.now, s.now.Add(3*time.Hour)
		s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
		s.addCall(uint64(n)+1, j)
		s.addOffer(site, uint64(n)+1, "nightly", "", option(from, 1, 50))
		s.addAward(site, uint64(n)+1, j, option(from, 1, 50), site[:1]+"1", []int{0, 1}, time.Hour)
	}
	l := s.buildDataset()
	for q, want := range map[string]string{
		"where did nightly run?": "lyon", "which jobs were late?": "0 of 2 jobs", "how many jobs ran": "2 jobs",
		"why D-" + fmt.Sprint(l.DecisionNumbers()[0]): "oslo", "why nightly": "lyon",
	} {
		if a := l.AnswerQuestion(q); a.Kind != "answer" || !strings.Contains(strings.Join(a.Text, " "), want) {
			t.Errorf("%s: %s %q; want %q", q, a.Kind, a.Text, want)
		}
	}
	for i := range 2 {
		if r, ok := l.DecisionDocument(l.DecisionNumbers()[i]); !ok || !r.Job.Deadline.Equal(after(time.Duration(i)*24*time.Hour+3*time.Hour).StdTime()) {
			t.Errorf("decision %d as a document: %v, of a job to be done by %v; want its own", l.DecisionNumbers()[i], ok, r.Job.Deadline)
		}
	}
}

// At an instant a site has the nodes that it said it had then, and a job that was
// lost later holds its GPUs.
func TestWhatWasFreeIsAsItWasThen(t *testing.T) {
	s := &runBuilder{now: noon}
	s.addRegistration("oslo")
	j := task("train-1", "vision")
	s.addMessage(protocol.Submitter, protocol.Coordinator, protocol.Submit{Job: j})
	s.addCall(1, j)
	s.addOffer("oslo", 1, j.ID, "", option(0, 2, 100))
	s.addAward("oslo", 1, j, option(0, 2, 100), "o1", []int{0, 1}, 0)
	s.addMessage(protocol.AgentParty("oslo"), protocol.ExecutorParty("oslo"), protocol.Launch{Job: j, Epoch: s.epoch, Node: "o1", Devices: []int{0, 1}, Model: "V100", Run: time.Hour})
	s.addMessage(protocol.ExecutorParty("oslo"), protocol.AgentParty("oslo"), protocol.Started{Job: j.ID, Epoch: s.epoch})
	s.now = after(30 * time.Minute)
	why := protocol.Reason{Code: protocol.NodeLost}
	s.addMessage(protocol.ExecutorParty("oslo"), protocol.AgentParty("oslo"), protocol.Interrupted{Job: j.ID, Epoch: s.epoch, Why: why})
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.Decline{Job: j.ID, Epoch: s.epoch, Why: why})
	s.addMessage(protocol.AgentParty("oslo"), protocol.Coordinator, protocol.RegisterSite{Site: "oslo", Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: 4, CPU: 32_000, Memory: 1 << 17}}})
	s.now = after(time.Hour)
	s.addMessage(protocol.Coordinator, "", protocol.CallForBids{Round: 2, Closes: s.now})
	l := s.buildDataset()
	for at, want := range map[string][2]int64{"12:15": {6000, 8000}, "12:45": {4000, 4000}} {
		a := l.AnswerQuestion("free gpus at " + at)
		if free, all := figureOfAnswer(t, a, "run", "free"), figureOfAnswer(t, a, "run", "all"); free != want[0] || all != want[1] {
			t.Errorf("at %s: %d of %d free; want %d of %d", at, free, all, want[0], want[1])
		}
	}
	for at, want := range map[string]int64{"12:15": 0, "12:45": 1} {
		if got := figureOfAnswer(t, l.AnswerQuestion("which jobs were waiting at "+at), "run", "waiting"); got != want {
			t.Errorf("at %s: %d waiting; want %d", at, got, want)
		}
	}
}

// A tenant's bill has no idle draw in it, and says so however it is split.
func TestAnAnswerSaysWhereIdleDrawIsIncluded(t *testing.T) {
	l := day().buildDataset()
	for q, want := range map[string]string{
		"carbon of vision by site": "belongs to no tenant", "energy of vision by hour": "belongs to no tenant", "carbon by site": "included", "carbon by tenant": "included",
	} {
		a := l.AnswerQuestion(q)
		if text := strings.Join(a.Text, " "); !strings.Contains(text, want) || want != "included" && strings.Contains(text, "included") {
			t.Errorf("%s: %q; want %q", q, a.Text, want)
		}
	}
}

// Jobs of a time are those that arrived in it, and the answer says that of its count.
func TestACountOfJobsSaysWhatItCounts(t *testing.T) {
	l := day().buildDataset()
	for q, want := range map[string]string{
		"which jobs ran at oslo from 12:00 to 13:00": "1 job that arrived in that time ran at oslo", "how many jobs arrived from 13:00 to 14:00": "0 jobs that arrived in that time.",
		"how many jobs arrived from 12:00 to 13:00": "5 jobs that arrived in that time: ", "how many jobs ran at oslo": "1 job ran at oslo",
	} {
		if a := l.AnswerQuestion(q); len(a.Text) == 0 || !strings.HasPrefix(a.Text[0], want) {
			t.Errorf("%s: %q; want %q", q, a.Text, want)
		}
	}
}
