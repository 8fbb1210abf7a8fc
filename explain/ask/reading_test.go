package ask

import (
	"flag"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

var (
	seed  = flag.Uint64("seed", 1, "of the questions that are drawn")
	asked = flag.Int("asked", 4_000, "how many questions are drawn")
)

var noon = protocol.FromStdTime(time.Date(2022, 4, 13, 12, 0, 0, 0, time.UTC))

func timeAfter(d time.Duration) protocol.Time { return noon.Add(d) }

// testParser knows a day at three sites.
func testParser() *Parser {
	return NewParser(RunContext{
		Sites: []string{"bern", "lyon", "oslo"}, Tenants: []string{"speech", "vision"},
		Jobs:  []protocol.JobID{"eval-1", "eval-2", "eval-3", "train-1", "train-2"},
		First: noon, Last: timeAfter(3 * time.Hour), Today: noon.Floor(24 * time.Hour),
		Models:  []string{"A100", "H100"},
		Decided: func(seq uint64) bool { return seq >= 2 && seq <= 9 },
		Notable: func() []protocol.JobID { return []protocol.JobID{"eval-3", "train-2"} },
	})
}

// forms of questions, and the query that each is: a canonical question first,
// then other words for it.
var readAs = []struct {
	want Query
	said []string
}{
	{Query{Ask: "why", Job: "train-1"}, []string{"why train-1", "explain train-1", "why did train-1 run", "what is the reason for job train-1?"}},
	{Query{Ask: "why", Job: "train-1", Site: "oslo"}, []string{"why did train-1 go to oslo", "why oslo for train-1?", "explain why oslo got train-1"}},
	{Query{Ask: "why", Decision: 4}, []string{"why D-4", "explain d-4", "what happened in D-4"}},
	{Query{Ask: "why-not", Job: "train-1", Site: "lyon"}, []string{
		"why not lyon for train-1", "why wasn't lyon chosen for train-1", "why oslo and not lyon for train-1", "why is train-1 not at lyon",
		"why did train-1 run at oslo instead of lyon", "couldn't lyon have run train-1", "why did lyon refuse train-1"}},
	{Query{Ask: "why-not-home", Job: "train-1"}, []string{"why not home for train-1", "why did train-1 not overflow to its home"}},
	{Query{Ask: "why-not-greenest", Job: "train-1"}, []string{"why was the greenest site not used for train-1", "train-1 wasn't the cleanest choice, why"}},
	{Query{Ask: "held", Job: "eval-3"}, []string{"why is eval-3 still waiting?", "what is eval-3 waiting for", "why was eval-3 deferred", "why has eval-3 not started"}},
	{Query{Ask: "where", Job: "train-1"}, []string{"where did train-1 run?", "which site got train-1", "where is train-1 now", "which nodes does train-1 run on", "on which node did train-1 run"}},
	{Query{Ask: "decision", Job: "train-1"}, []string{"which decision placed train-1?", "decision id for train-1"}},
	{Query{Ask: "times", Job: "train-1"}, []string{"when did train-1 start?", "start time of train-1", "when will train-1 start", "was train-1 late", "did train-1 finish on time"}},
	{Query{Ask: "waited", Job: "train-1"}, []string{"how long did train-1 wait?", "queue time of train-1"}},
	{Query{Ask: "offers", Job: "train-1"}, []string{"list the bids for train-1", "who bid on train-1", "what did each site answer for train-1"}},
	{Query{Ask: "unable", Job: "train-1"}, []string{"which sites could not take train-1 and why?", "who was ineligible for train-1", "why did each site refuse train-1"}},
	{Query{Ask: "differ", Job: "train-1", Site: "oslo", Other: "lyon"}, []string{"what made the difference between oslo and lyon for train-1?", "biggest term in train-1 between oslo and lyon"}},
	{Query{Ask: "elsewhere", Job: "train-1"}, []string{"what would train-1 have cost elsewhere"}},
	{Query{Ask: "elsewhere-at", Job: "train-1", Site: "lyon"}, []string{"what if lyon had won train-1?", "cost of placing train-1 on lyon instead"}},
	{Query{Ask: "immediate", Job: "train-1"}, []string{"what would train-1 have cost at once", "what would I have to pay for train-1 to start now"}},
	{Query{Ask: "saved"}, []string{"what did waiting save"}},
	{Query{Ask: "saved", Job: "train-1"}, []string{"how much did train-1 save by waiting", "what did waiting save for train-1"}},
	{Query{Ask: "reprice", Job: "train-1", Number: 200}, []string{"would train-1 change at a carbon price of 200 €/t?", "train-1 with carbon at 200 euros a tonne"}},
	{Query{Ask: "reprice", Job: "train-1"}, []string{"at a carbon price of 0 would train-1 change"}},
	{Query{Ask: "doubled", Job: "train-1"}, []string{"what would change if carbon doubled for train-1", "what if carbon were twice as dear, where would train-1 run?"}},
	{Query{Ask: "day-carbon"}, []string{"what if the carbon price were 0"}},
	{Query{Ask: "breakeven", Job: "train-1", Site: "lyon"}, []string{"at what carbon price would lyon win train-1?"}},
	{Query{Ask: "breakeven", Job: "train-1", Site: "oslo", Other: "lyon"}, []string{"break-even carbon price of oslo and lyon in train-1"}},
	{Query{Ask: "bill", Metric: "carbon"}, []string{"how much carbon did we emit?", "total co2"}},
	{Query{Ask: "bill", Job: "train-1"}, []string{"what did train-1 cost in €, kWh, gCO2?"}},
	{Query{Ask: "bill", Metric: "carbon", By: "site", From: 1649808000000, To: 1649894400000}, []string{"carbon by site on 2022-04-13", "split co2 of 13 april by site", "carbon by site on wednesday"}},
	{Query{Ask: "bill", Metric: "carbon", Tenant: "vision"}, []string{"carbon of tenant vision", "how much did vision emit"}},
	{Query{Ask: "bill", Metric: "carbon", By: "site", Pick: "most"}, []string{"which site emitted most?", "dirtiest site"}},
	{Query{Ask: "bill", Metric: "paid", Site: "oslo"}, []string{"what did oslo earn", "how much was oslo paid"}},
	{Query{Ask: "mix"}, []string{"average carbon intensity of our energy", "gCO2 per kWh overall"}},
	{Query{Ask: "top", Metric: "carbon", Number: 5}, []string{"top 5 jobs by carbon", "most emitting jobs", "five dirtiest jobs"}},
	{Query{Ask: "late"}, []string{"how many jobs missed their deadline?", "list late jobs", "late jobs", "jobs that missed their deadlines"}},
	{Query{Ask: "waits"}, []string{"mean wait", "average queue time"}},
	{Query{Ask: "waits", Pick: "p95"}, []string{"p95 wait", "95th percentile wait"}},
	{Query{Ask: "waits", Pick: "median"}, []string{"median wait", "how long did the median job wait"}},
	{Query{Ask: "pending", At: timeAfter(2 * time.Hour)}, []string{"which jobs were waiting at 14:00", "which jobs were waiting at 14h"}},
	{Query{Ask: "pending", Site: "oslo"}, []string{"queue at oslo", "what is waiting at oslo"}},
	{Query{Ask: "intensity", Site: "oslo"}, []string{"carbon intensity at oslo now", "how green is oslo"}},
	{Query{Ask: "greenest"}, []string{"which site is greenest now?", "lowest carbon site"}},
	{Query{Ask: "free"}, []string{"free GPUs by site", "where is there room"}},
	{Query{Ask: "block", Site: "oslo"}, []string{"largest job oslo could take now", "biggest gang that fits on oslo"}},
	{Query{Ask: "fit", Number: 8}, []string{"would an 8 GPU job fit now?", "why can an 8-GPU job not run"}},
	{Query{Ask: "power", Site: "oslo"}, []string{"power draw of oslo", "kW at oslo"}},
	{Query{Ask: "utilization"}, []string{"gpu utilization", "how busy were the gpus", "which site was busiest", "utilization by site"}},
	{Query{Ask: "outages"}, []string{"declared gone", "what was lost in the outage", "when was the outage", "was there an outage", "which jobs were affected by the outage"}},
	{Query{Ask: "reneges"}, []string{"declined awards", "which sites declined awards", "how many awards were declined", "who reneged on awards"}},
	{Query{Ask: "pauses"}, []string{"job pauses", "which jobs were paused", "how many jobs were paused"}},
	{Query{Ask: "report", Site: "oslo"}, []string{"when did oslo last report?", "is oslo stale"}},
	{Query{Ask: "best-hour", Site: "oslo", Within: 24 * time.Hour}, []string{"when will oslo be greenest in the next 24 h?"}},
	{Query{Ask: "forecast-error", Site: "oslo"}, []string{"how wrong was the forecast for oslo", "forecast error oslo"}},
	{Query{Ask: "best-start", Long: 8 * time.Hour, Within: 24 * time.Hour}, []string{"when should I submit an 8 h job that can wait a day?", "best start in the next day for 8 hours"}},
	{Query{Ask: "weights"}, []string{"which policy rules are active?", "show rules", "what is the carbon price"}},
	{Query{Ask: "bid-error"}, []string{"did any site's bids differ from what it then used?", "which agent underbids"}},
	{Query{Ask: "brief"}, []string{"brief", "brief me", "what needs attention", "what did I miss"}},
	{Query{Ask: "brief", From: timeAfter(0), To: timeAfter(time.Hour)}, []string{"brief of 12:00 to 13:00"}},
	{Query{Ask: "silent"}, []string{"which agents missed bidding rounds", "silent agents", "which sites are unreachable"}},
	{Query{Ask: "stuck"}, []string{"what is stuck for ever?"}},
	{Query{Ask: "history", Job: "train-1"}, []string{"what happened to train-1", "timeline of train-1", "did train-1 move", "where is train-1 now, was it re-dispatched?"}},
	{Query{Ask: "activity", At: timeAfter(105 * time.Minute)}, []string{"what happened at 13:45?"}},
	{Query{Ask: "activity", From: timeAfter(0), To: timeAfter(time.Hour)}, []string{"what changed between 12:00 and 13:00", "what did the coordinator decide from 12:00 to 13:00"}},
	{Query{Ask: "advice", Job: "eval-3"}, []string{"what should I change for eval-3?"}},
	{Query{Ask: "ahead", Job: "train-2"}, []string{"what is ahead of train-2, whose is it, how much does it hold?"}},
	{Query{Ask: "jobs", Tenant: "vision"}, []string{"how many jobs did vision submit"}},
	{Query{Ask: "shares"}, []string{"am I getting my fair share?"}},
	{Query{Ask: "policies", Metric: "carbon"}, []string{"compare policies carbon", "carbon of policies compared"}},
	{Query{Ask: "no-quota"}, []string{"who borrows my quota and when do I get it back?", "how much quota has vision left"}},
	{Query{Ask: "no-preemption"}, []string{"who preempted me, by which rule, at what price?"}},
	{Query{Ask: "no-replicas"}, []string{"why did only 2 of 5 replicas start?"}},
	{Query{Ask: "no-arbitration"}, []string{"did the model decide D-4?", "what did arbitration cost in all"}},
	{Query{Ask: "no-day-before"}, []string{"compare with yesterday", "how did today compare with yesterday?", "today against yesterday"}},
	{Query{Ask: "no-fragments"}, []string{"which site is most fragmented", "how fragmented are the sites"}},
	{Query{Ask: "overflow", Site: "oslo"}, []string{"oslo is full: why did it not overflow?"}},
	{Query{Ask: "define", Term: "round"}, []string{"what is a round?", "whats a round", "define round", "what does round mean", "what do you mean by rounds"}},
	{Query{Ask: "define", Term: "utilization"}, []string{"what is utilisation", "meaning of utilization"}},
	{Query{Ask: "bill", Metric: "carbon", By: "site", Then: "hour"}, []string{"carbon by site and hour", "carbon per site per hour"}},
	{Query{Ask: "bill", Metric: "energy", ExceptTenants: []string{"vision"}}, []string{"energy of everyone but vision", "energy used excluding tenant vision"}},
	{Query{Ask: "free", ExceptSites: []string{"lyon", "oslo"}}, []string{"free gpus except oslo and lyon"}},
	{Query{Ask: "free", Model: "A100"}, []string{"how many A100 are free", "how many a100s are free"}},
	{Query{Ask: "block", Model: "H100"}, []string{"largest free block of h100 gpus"}},
	{Query{Ask: "fit", Number: 4, Model: "A100", At: timeAfter(time.Hour)}, []string{"would 4 A100 fit at 13:00"}},
	{Query{Ask: "intensity", Bound: "more", Amount: "300 g/kWh"}, []string{"sites above 300 g", "which sites are over 300 g/kWh now"}},
	{Query{Ask: "jobs", Bounded: "wait", Bound: "more", Amount: "2 h"}, []string{"jobs that waited more than 2 h", "which jobs had to wait over 120 minutes"}},
	{Query{Ask: "jobs", Bounded: "cost", Bound: "more", Amount: "5 dollars"}, []string{"jobs that cost more than $5", "jobs over five dollars"}},
	{Query{Ask: "pending", Bounded: "wait", Bound: "at-least", Amount: "90 min"}, []string{"which jobs have been waiting for at least 1 h 30 min"}},
	{Query{Ask: "bill", Metric: "carbon", By: "site", Bound: "more", Amount: "10 kg"}, []string{"which sites emitted more than 10 kg"}},
	{Query{Ask: "bill", Metric: "carbon", Site: "oslo", Against: "lyon"}, []string{"did oslo emit more than lyon", "carbon used at oslo against lyon"}},
	{Query{Ask: "bill", Metric: "energy", Tenant: "vision", Pick: "share"}, []string{"what share of the energy went to vision"}},
	{Query{Ask: "bill", Metric: "cost", Per: "gpu-hour", By: "site"}, []string{"cost per gpu hour by site"}},
	{Query{Ask: "late", By: "tenant", Pick: "most"}, []string{"which team had the most late jobs"}},
	{Query{Ask: "jobs", State: "running", Site: "oslo"}, []string{"how many jobs are running at oslo", "running jobs at oslo"}},
	{Query{Ask: "day-drained", Site: "oslo", From: timeAfter(-2 * time.Hour), To: timeAfter(0)}, []string{"what if oslo had been drained from 10 to 12"}},
	{Query{Ask: "no-priority"}, []string{"what do priority, class and factor each do?"}},
}

func TestQuestionsAreReadAsTheQueryTheyMean(t *testing.T) {
	l := testParser()
	for _, tc := range readAs {
		for _, q := range tc.said {
			got, _, back := l.ParseQuestion(q)
			if back != nil {
				t.Errorf("%q is not read: %s %q %q", q, back.Kind, back.Text, back.Readings)
				continue
			}
			if strings.HasPrefix(got.Ask, "no-") {
				got = Query{Ask: got.Ask}
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%q is read as\n %+v; want\n %+v", q, got, tc.want)
			}
		}
	}
}

func TestAQueryInWordsIsReadAsTheSameQuery(t *testing.T) {
	l := testParser()
	for _, tc := range readAs {
		if tc.want.Ask == "breakeven" {
			tc.want.Other = "" // who asks the record settles which of the two is meant
		}
		got, _, back := l.ParseQuestion(tc.want.String())
		if back != nil {
			t.Errorf("%q is not read: %s %q %q", tc.want.String(), back.Kind, back.Text, back.Readings)
		} else if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%q is read as\n %+v; want\n %+v", tc.want.String(), got, tc.want)
		}
	}
	for _, r := range english.rules {
		if _, ok := english.questions[r.ask]; !ok && !strings.HasPrefix(r.ask, "!") {
			t.Errorf("rule %+v asks what has no form", r)
		}
	}
}

// Whatever a tenant calls a job, questions that are not about it are read as if it
// were not there.
func TestANameChangesNoOtherQuestion(t *testing.T) {
	evil := []protocol.JobID{
		"today", "2022-04-13", "noon", "13:45", "3", "last", "hours", "3h", "D-4", "at oslo", "of oslo", "oslo?", "oslo's", "wednesday", "april", "13 april", "two",
		"12:00-13:00", "1pm", "from", "until", "in the last", "carbon at oslo", "8gpus", "2022-04-13T12:00:00Z", "vision used",
	}
	run := testParser().RunContext
	run.Jobs = append(evil, run.Jobs...)
	plain, hostile := testParser(), NewParser(run)
	for _, q := range []string{
		"carbon today", "carbon on 2022-04-13", "free gpus at noon", "what happened at 13:45", "carbon in the last 3 hours", "what happened in the last 3h", "why D-4", "explain D-4",
		"carbon of oslo today", "what is the power draw at oslo?", "oslo's energy today", "carbon by site on wednesday", "carbon on 13 april", "top two jobs by carbon", "what happened from 12:00 to 13:00",
		"what happened 12:00-13:00", "free gpus at 1pm", "would 8gpus fit at 13:00", "what happened from 2022-04-13T12:00:00Z to 2022-04-13T13:00:00Z", "energy that vision used",
	} {
		want, _, back := plain.ParseQuestion(q)
		if back != nil {
			t.Errorf("%q is not read: %s %q", q, back.Kind, back.Text)
			continue
		}
		if got, _, back := hostile.ParseQuestion(q); back != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("beside jobs of ill will, %q is read as\n %+v (%+v); want\n %+v", q, got, back, want)
		}
	}
	for _, id := range evil {
		q := Query{Ask: "where", Job: id}
		if got, _, back := hostile.ParseQuestion(q.String()); back != nil || got.Job != id {
			t.Errorf("%q is read as %+v (%+v)", q.String(), got, back)
		}
	}
}

// A length of time is read whole, or not at all.
func TestALengthIsReadWhole(t *testing.T) {
	l := testParser()
	for q, want := range map[string]Query{
		"what if train-1 could wait 2 h 30 min":                       {Ask: "slack", Job: "train-1", Long: 150 * time.Minute},
		"what if train-1 could wait 2 hours and 30 minutes":           {Ask: "slack", Job: "train-1", Long: 150 * time.Minute},
		"what if train-1 could wait 1 day 2h 5min":                    {Ask: "slack", Job: "train-1", Long: 26*time.Hour + 5*time.Minute},
		"when should i submit 1 h 30 min in the next 1 day":           {Ask: "best-start", Long: 90 * time.Minute, Within: 24 * time.Hour},
		"when should i submit a 90 minutes job that can wait 8 h 30m": {},
		"when should i submit 8 hours in the next 1 day 12 hours":     {Ask: "best-start", Long: 8 * time.Hour, Within: 36 * time.Hour},
		"what happened in the last 1 hour 30 minutes":                 {Ask: "activity", From: timeAfter(90 * time.Minute), To: timeAfter(3 * time.Hour)},
		"what if train-1 could wait 30 min 2 h":                       {},
		"what if train-1 could wait half a minute":                    {},
		"when should i submit 102200 days and 5 hours":                {},
		"when should i submit 700 days":                               {Ask: "best-start", Long: 700 * 24 * time.Hour, Within: 24 * time.Hour},
		"when should i submit 102200 days":                            {Ask: "best-start", Long: maxLength, Within: 24 * time.Hour},
	} {
		got, _, back := l.ParseQuestion(q)
		if back == nil {
			if again, _, back := l.ParseQuestion(got.String()); back != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("%q is read as %q, and that as %+v (%+v)", q, got.String(), again, back)
			}
		}
		if want.Ask == "" && back == nil {
			t.Errorf("%q is read as %+v", q, got)
		}
		if want.Ask != "" && (back != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("%q is read as\n %+v (%+v); want\n %+v", q, got, back, want)
		}
	}
}

// Who says "from 2 to 4 p.m." means the afternoon twice. Beside a clock of 24 hours
// it may be meant of one.
func TestAHalfOfTheDayIsOfBothHours(t *testing.T) {
	l := testParser()
	for _, q := range []string{"what happened from 1 to 2 p.m.", "what happened from 1 to 2 pm", "what happened between 1 pm and 2 pm", "what happened 13:00-14:00"} {
		if got, _, back := l.ParseQuestion(q); back != nil || got.From != timeAfter(time.Hour) || got.To != timeAfter(2*time.Hour) {
			t.Errorf("%q is read as %+v (%+v)", q, got, back)
		}
	}
	for _, q := range []string{"what happened from 1:30 to 2:30 pm", "what happened 1:30-2:30pm", "what happened between 1:30 and 2:30 p.m."} {
		if got, _, back := l.ParseQuestion(q); back == nil {
			t.Errorf("%q is read as %s to %s", q, got.From, got.To)
		}
	}
	if got, _, back := l.ParseQuestion("what happened from 9:00 to 2 pm"); back != nil || got.From != timeAfter(-3*time.Hour) || got.To != timeAfter(2*time.Hour) {
		t.Errorf("9:00 to 2 pm is read as %+v (%+v)", got, back)
	}
}

// Who asks whether a site is down supposes nothing: that is no what-if.
func TestWhatIsIsNoSupposition(t *testing.T) {
	l := testParser()
	for q, want := range map[string]Query{
		"is oslo down": {Ask: "report", Site: "oslo"}, "was oslo offline?": {Ask: "report", Site: "oslo"}, "is site oslo gone": {Ask: "report", Site: "oslo"},
		"has oslo failed": {Ask: "report", Site: "oslo"}, "what if oslo is down": {Ask: "day-without", Site: "oslo"},
		"what if oslo were down": {Ask: "day-without", Site: "oslo"}, "what would have happened without oslo": {Ask: "day-without", Site: "oslo"},
		"was oslo down at 13:00": {}, "was oslo down when train-1 came": {}, "what did oslo lose": {},
		"is oslo drained": {}, "is site oslo draining?": {}, "how much energy has oslo drained": {Ask: "bill", Metric: "energy", Site: "oslo"},
		"oslo down?": {}, "site oslo offline": {}, "without oslo": {Ask: "day-without", Site: "oslo"},
	} {
		got, _, back := l.ParseQuestion(q)
		if want.Ask != "" && (back != nil || !reflect.DeepEqual(got, want)) || want.Ask == "" && back == nil {
			t.Errorf("%q is read as %+v (%+v); want %+v", q, got, back, want)
		}
	}
}

// What is paid to a site is not what its energy cost.
func TestWhoIsPaidIsToldFromWhatItCost(t *testing.T) {
	l := testParser()
	paid, cost := Query{Ask: "bill", Metric: "paid", Site: "oslo"}, Query{Ask: "bill", Metric: "cost", Site: "oslo"}
	for q, want := range map[string]Query{
		"how much did we pay oslo": paid, "what do we owe oslo": paid, "what do we owe site oslo?": paid, "how much money did oslo make": paid,
		"what did we pay oslo for electricity": cost, "how much did oslo cost": cost, "how much did we pay at oslo": cost,
	} {
		if got, _, back := l.ParseQuestion(q); back != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %+v (%+v); want %+v", q, got, back, want)
		}
	}
}

// There are no budgets, so what was spent does not say who is over one.
func TestABudgetIsAQuota(t *testing.T) {
	l := testParser()
	for q, want := range map[string]string{"is vision over budget": "no-quota", "who is within budget": "no-quota", "what is the budget of vision": "bill"} {
		if got, _, back := l.ParseQuestion(q); back != nil || got.Ask != want {
			t.Errorf("%q is read as %+v (%+v); want %s", q, got, back, want)
		}
	}
}

// A place for GPUs of one model is none for those of all.
func TestTheModelOfAPlaceIsNotDropped(t *testing.T) {
	l := testParser()
	for _, q := range []string{"largest block of T4", "would 4 L40s fit at 13:00"} {
		if got, _, back := l.ParseQuestion(q); back == nil || len(back.Readings) != 1 {
			t.Errorf("%q is read as %+v (%+v)", q, got, back)
		}
	}
	if got, _, back := l.ParseQuestion("how many V100 are free"); back != nil || got.Ask != "free" {
		t.Errorf("what is free is told by model; read as %+v (%+v)", got, back)
	}
	if got, _, back := l.ParseQuestion("how wrong was the price forecast"); back == nil {
		t.Errorf("of prices no error is told; read as %+v", got)
	}
}

// Two times are no stretch of time, unless the question says so.
func TestTwoTimesAreTwo(t *testing.T) {
	l := testParser()
	for q, read := range map[string]bool{
		"what happened at 12:00 and 14:00": false, "carbon on 11 april and 13 april": false, "carbon on 12 april and 13 april": true,
		"what happened between 12:00 and 14:00": true, "carbon and energy from 12:00 to 14:00": true, "carbon and energy 12:00-14:00": true, "carbon from 11 april to 13 april": true,
	} {
		if got, _, back := l.ParseQuestion(q); (back == nil) != read {
			t.Errorf("%q: %+v (%+v); want it read: %v", q, got, back, read)
		}
	}
}

// What would be answered by another count, or in another unit, is given back.
func TestWhatIsCountedOtherwiseIsGivenBack(t *testing.T) {
	l := testParser()
	for _, q := range []string{
		"would train-1 change at a carbon price of 200 $/kg", "what if the carbon price were 200 €/kg",
	} {
		if got, _, back := l.ParseQuestion(q); back == nil {
			t.Errorf("%q is read as %q", q, got.String())
		}
	}
	for q, event := range map[string]string{"how many jobs ended from 12:00 to 13:00": "ended", "how many jobs started on 2022-04-13": "started"} {
		if got, _, back := l.ParseQuestion(q); back != nil || got.Event != event {
			t.Errorf("%q is read as %q (%+v); want what %s", q, got.String(), back, event)
		}
	}
	if got, _, back := l.ParseQuestion("how many jobs ended"); back != nil || got.Ask != "jobs" {
		t.Errorf("over the whole record it is told how many ended; read as %+v (%+v)", got, back)
	}
}

func TestTheDayBefore(t *testing.T) {
	l, before := testParser(), []string{"daybefore"}
	for _, q := range []Query{{Ask: "bill", From: l.Today, To: l.Today.Add(24 * time.Hour)}, {Ask: "bill"}} {
		if applyWord(&q, l, before, &reading{}); q.From != l.Today.Add(-24*time.Hour) || q.To != l.Today {
			t.Errorf("the day before is %v to %v", q.From, q.To)
		}
	}
	if q := (Query{Ask: "free", At: l.Today}); !applyWord(&q, l, before, &reading{}) || q.At != l.Today.Add(-24*time.Hour) {
		t.Errorf("the day before is at %v", q.At)
	}
}

// A typo is reported whether or not the question refers to an earlier one.
func TestAConversationReportsTypos(t *testing.T) {
	l := testParser()
	for name, conversation := range map[string]*Conversation{"nothing before": {}, "a job before": {target: Query{Job: "train-1"}, last: Query{Ask: "why", Job: "train-1"}}} {
		q, typos, back := conversation.ParseQuestion(l, "carbon by siet")
		if back != nil || q.String() != "carbon used by site" || !slices.Equal(typos, []Typo{{"siet", "site"}}) {
			t.Errorf("%s: %q, typos %v (%+v)", name, q.String(), typos, back)
		}
	}
}

// Every query that is read is told in words that are read as the same query, and
// every question that is offered instead is answered: whatever was asked. Questions
// here are cut, joined and filled with words that are known; another -seed asks
// others.
func TestWhatIsSaidBackIsRead(t *testing.T) {
	l := testParser()
	rng := rand.New(rand.NewPCG(*seed, 1))
	offered, others, answered := make(map[string]bool), 0, 0
	for n := range *asked {
		if n%100 == 50 { // from here on beside a job that is named as a question might be
			run := testParser().RunContext
			run.Jobs = append(run.Jobs, protocol.JobID(drawn(rng)))
			l, offered = NewParser(run), make(map[string]bool)
		}
		text := drawn(rng)
		q, _, back := l.ParseQuestion(text)
		if back != nil {
			for _, o := range back.Readings {
				if offered[o] {
					continue
				}
				offered[o] = true
				others++
				if again, _, back := l.ParseQuestion(o); back != nil || again.String() != o {
					t.Errorf("for %q, %q is offered, which is read as %q: %+v", text, o, again.String(), back)
				}
			}
			continue
		}
		answered++
		if err := q.Check(); err != nil {
			t.Errorf("%q is read as %q, which has no answer: %v", text, q.String(), err)
		}
		again, _, back := l.ParseQuestion(q.String())
		if back != nil && back.Kind != "ambiguous" {
			t.Errorf("%q is read as %q, which is not read: %+v", text, q.String(), back)
		}
		if same := strings.HasPrefix(q.Ask, "no-") || reflect.DeepEqual(again, q); back == nil && (again.String() != q.String() || !same) {
			t.Errorf("%q is read as %q, and that as %q:\n %+v\n %+v", text, q.String(), again.String(), q, again)
		}
	}
	if answered < *asked/20 || others < *asked/200 {
		t.Errorf("of %d questions, %d are read, and %d others are offered: too few to say anything", *asked, answered, others)
	}
}

// drawn returns a question that somebody might ask, with up to four things wrong.
func drawn(rng *rand.Rand) string {
	one := func(of []string) string { return of[rng.IntN(len(of))] }
	words := strings.Fields(one(questions))
	for range rng.IntN(5) {
		at := rng.IntN(len(words) + 1)
		switch rng.IntN(4) {
		case 0: // a word more
			words = slices.Insert(words, at, one(known))
		case 1: // another word
			if at < len(words) {
				words[at] = one(known)
			}
		case 2: // a word less
			if at < len(words) && len(words) > 1 {
				words = slices.Delete(words, at, at+1)
			}
		case 3: // another question's end
			other := strings.Fields(one(questions))
			words = append(words[:at:at], other[rng.IntN(len(other)):]...)
		}
	}
	return strings.Join(words, " ")
}

// questions are the questions of this file, known the words that a question may hold.
var questions, known = func() (all, words []string) {
	for _, tc := range readAs {
		all = append(all, tc.said...)
	}
	words = slices.Concat(slices.Sorted(maps.Keys(english.phrases)), slices.Sorted(maps.Keys(numberWords)), listed("time-words"), monthNames)
	for unit := range maps.Keys(unitsByName) {
		for _, n := range []string{"0", "1", "90", "700", "100000"} {
			words = append(words, n+" "+unit, n+unit)
		}
	}
	for range 20 { // as often as words of the lexicon are
		words = append(words, "oslo", "lyon", "train-1", "eval-3", "vision", "home-fifo", "D-4", `"train-1"`, "8", "30", "1,000", "$190", "€50",
			"13:45", "6pm", "2022-04-13", "2022-04-13T12:30:00Z", "monday", "may 3", "from 1 to 2", "between 12:00 and 13:00", "half an hour", "a day")
	}
	slices.Sort(words)
	return all, words
}()

// FuzzRead holds every question to a query or to an answer of a known kind, whatever
// the names.
func FuzzRead(f *testing.F) {
	for _, tc := range readAs {
		f.Add(tc.said[0], "train-1")
	}
	f.Fuzz(func(t *testing.T, text, job string) {
		run := testParser().RunContext
		run.Jobs = append(run.Jobs, protocol.JobID(job))
		q, _, back := NewParser(run).ParseQuestion(text)
		switch {
		case back == nil && english.questions[q.Ask].text == "":
			t.Errorf("%q is read as %+v, which has no words", text, q)
		case back != nil && !slices.Contains([]string{"absent", "ambiguous", "unclear", "not-found", "refused"}, back.Kind):
			t.Errorf("%q is given back as %+v", text, back)
		}
	})
}

// On the last day of a year the first of the next is tomorrow.
func TestTheFirstOfJanuaryIsTomorrow(t *testing.T) {
	eve := protocol.FromStdTime(time.Date(2022, 12, 31, 0, 0, 0, 0, time.UTC))
	l := testParser()
	l.First, l.Last, l.Today = eve.Add(-24*time.Hour), eve.Add(18*time.Hour), eve
	for q, want := range map[string]protocol.Time{"when is it greenest next monday": eve.Add(48 * time.Hour), "when is it greenest next saturday": eve.Add(7 * 24 * time.Hour), "when is it greenest on 1 january": eve.Add(24 * time.Hour), "carbon on 30 december": eve.Add(-24 * time.Hour), "carbon on 1 december": eve.Add(-30 * 24 * time.Hour)} {
		if got, _, back := l.ParseQuestion(q); back != nil || got.From != want {
			t.Errorf("%s is of %s (%+v); want %s", q, got.From, back, want)
		}
	}
}
