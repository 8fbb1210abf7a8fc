package ask

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAQueryWithoutAnAnswerSaysWhichFieldIsWrong(t *testing.T) {
	for _, tc := range []struct {
		q    Query
		want string
	}{
		{Query{}, "no such question"}, {Query{Ask: "drop-tables"}, "no such question"},
		{Query{Ask: "why"}, "job or decision"}, {Query{Ask: "why", Job: "train-1", Decision: 3}, "name one of the two"},
		{Query{Ask: "why-not", Job: "train-1"}, "site: name one"},
		{Query{Ask: "differ", Job: "train-1", Site: "oslo", Other: "oslo"}, "the same site"},
		{Query{Ask: "bill", Metric: "entropy"}, `metric "entropy": want carbon, energy, cost, paid`},
		{Query{Ask: "bill", By: "job"}, "by"}, {Query{Ask: "waits", Pick: "most"}, "pick"},
		{Query{Ask: "bill", Number: 7}, "number: this question has no place for it"},
		{Query{Ask: "summary", Site: "oslo"}, "site: this question has no place for it"},
		{Query{Ask: "top", Metric: "carbon", Number: -3}, "number -3"}, {Query{Ask: "fit"}, "how many"},
		{Query{Ask: "slack", Job: "train-1"}, "how long"}, {Query{Ask: "slack", Job: "train-1", Long: time.Second}, "whole minutes"},
		{Query{Ask: "free", At: noon, From: noon, To: noon + 1}, "an instant, or from and to"},
		{Query{Ask: "bill", From: noon + 1, To: noon}, "from before to"},
	} {
		if err := tc.q.Check(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v; want %q in it", tc.q, err, tc.want)
		}
	}
}

// The words of a query that passes the check are read as that query, or given back,
// but never as another: so a query that a program or a model wrote is told to people
// as it is answered.
func TestACheckedQueryIsNeverReadBackAsAnother(t *testing.T) {
	l := testParser()
	rapid.Check(t, func(t *rapid.T) {
		q := drawQuery(t).WithDefaults()
		if q.Check() != nil {
			t.Skip()
		}
		if got, _, back := l.ParseQuestion(q.String()); back == nil && !reflect.DeepEqual(got, q) {
			t.Fatalf("%+v says %q, which is read as %+v", q, q.String(), got)
		}
	})
}

// A sum over jobs that a bound selects says that the bound is of jobs, and what is left out says where
// it ends: else the words of the query are read as another, or not at all.
func TestWhatABoundOrAnExceptionIsOfIsSaidBack(t *testing.T) {
	l := testParser()
	for text, want := range map[string]string{
		"jobs that cost split by facilities more than $5":                "cost used by site of jobs with cost more than 5 dollars",
		"cost per gpu hour by which jobs had to wait over 120 minutes":   "cost used per gpu-hour of jobs with wait more than 2 h",
		"at a carbon jobs that waited more than 2 h":                     "carbon used of jobs with wait more than 2 h",
		"jobs power bill cost more than $5":                              "cost used of jobs with cost more than 5 dollars",
		"carbon of jobs over 10 kWh":                                     "carbon used of jobs with energy more than 10 kWh",
		"which sites cost more than $5":                                  "cost used by site more than 5 dollars",
		"free gpus at oslo except tenant vision":                         "free gpus except tenant vision at site oslo",
		"energy except team vision at oslo":                              "energy used except tenant vision at site oslo",
		"energy of everyone but vision and of speech":                    "energy used except tenant speech and tenant vision",
		"energy except for the team vision and at the sites oslo & lyon": "energy used except site lyon and site oslo except tenant vision",
	} {
		q, _, back := l.ParseQuestion(text)
		if back != nil || q.String() != want {
			t.Errorf("%q is read as %q (%+v); want %q", text, q.String(), back, want)
			continue
		}
		if again, _, back := l.ParseQuestion(want); back != nil || !reflect.DeepEqual(again, q) {
			t.Errorf("%q is read as\n %+v (%+v); want\n %+v", want, again, back, q)
		}
	}
}

// What the fields of a query do not allow together is given back, with what is answered instead, and
// never read with a part of it dropped.
func TestWhatDoesNotGoTogetherIsGivenBack(t *testing.T) {
	l := testParser()
	for text, instead := range map[string]string{
		"carbon by site for train-1":                           "carbon used of job train-1",
		"power train-1? cost more than $5":                     "cost used of job train-1",
		"did oslo emit more than lyon by tenant":               "carbon used at site oslo against site lyon",
		"which sites emitted more than 10 kg in €, kWh, gCO2?": "bill used",
		"energy used less than 1 h":                            "energy used",
		"jobs running from 12:00 to 13:00":                     "how many jobs ran in state running",
	} {
		if q, _, back := l.ParseQuestion(text); back == nil || back.Kind != "unclear" || len(back.Readings) == 0 || back.Readings[0] != instead {
			t.Errorf("%q is read as %q (%+v); want %q offered", text, q.String(), back, instead)
		}
	}
}

// drawQuery draws a query whose fields are for the most part those that its question
// takes.
func drawQuery(t *rapid.T) (q Query) {
	q.Ask = rapid.SampledFrom(QuestionNames()).Draw(t, "ask")
	f := english.questions[q.Ask]
	for _, x := range queryFields {
		must := len(x.slots) > 0 && strings.Contains(f.text, x.slots[0])
		if x.name == "decision" && q.Job != "" || x.name == "at" && rapid.Bool().Draw(t, "window") || !f.takesField(x) || !must && rapid.Bool().Draw(t, "without "+x.name) {
			continue
		}
		switch x.name {
		case "job":
			q.Job = rapid.SampledFrom(testParser().Jobs).Draw(t, "job")
		case "decision":
			q.Decision = rapid.SampledFrom([]uint64{3, 4}).Draw(t, "decision")
		case "site":
			q.Site = "oslo"
		case "other":
			q.Other = "lyon"
		case "tenant":
			q.Tenant = rapid.SampledFrom(testParser().Tenants).Draw(t, "tenant")
		case "policies":
			q.Policies = rapid.SampledFrom([][]string{{"auction"}, {"auction", "home-fifo"}}).Draw(t, "policies")
		case "metric":
			q.Metric = rapid.SampledFrom([]string{"carbon", "energy", "cost", "paid", "wait", "run", "gpu-hours", "entropy"}).Draw(t, "metric")
		case "by":
			q.By = rapid.SampledFrom([]string{"site", "tenant", "hour", "job", "model"}).Draw(t, "by")
		case "where":
			q.Where = rapid.SampledFrom([][]string{{"late"}, {"at-home", "urgent"}, {"unfinished"}}).Draw(t, "where")
		case "home":
			q.Home = "lyon"
		case "size":
			q.Size = rapid.SampledFrom([]string{"exactly 8 GPUs", "more 2 GPUs"}).Draw(t, "size")
		case "then", "per", "bounded", "state", "only", "event", "statistic":
			x.valueIn(&q).SetString(rapid.SampledFrom(valuesOf(x.name, q.Ask)).Draw(t, x.name))
		case "bound":
			q.Bound = rapid.SampledFrom(boundNames).Draw(t, "bound")
			u := rapid.SampledFrom(amountUnits).Filter(func(u amountUnit) bool { return q.Bounded == "" || u.kind == kindOfQuantity[q.Bounded] }).Draw(t, "unit")
			q.Amount = formatAmount(rapid.Int64Range(1, 100).Draw(t, "amount")*u.one, u.kind)
		case "model":
			q.Model = rapid.SampledFrom(testParser().Models).Draw(t, "model")
		case "except_sites":
			q.ExceptSites = []string{"bern"}
		case "except_tenants":
			q.ExceptTenants = testParser().Tenants[:1]
		case "against":
			q.Against = rapid.SampledFrom([]string{"lyon", "vision"}).Draw(t, "against")
		case "pick":
			q.Pick = rapid.SampledFrom([]string{"most", "least", "median", "p95", "share"}).Draw(t, "pick")
		case "number":
			q.Number = rapid.Int64Range(-2, 500).Draw(t, "number")
		case "long_ns":
			q.Long = time.Duration(rapid.IntRange(0, 3000).Draw(t, "long")) * time.Minute
		case "within_ns":
			q.Within = time.Duration(rapid.IntRange(0, 3000).Draw(t, "within")) * time.Minute
		case "at":
			q.At = noon.Add(time.Duration(rapid.IntRange(1, 59).Draw(t, "at")) * time.Minute)
		case "from":
			if q.At == 0 {
				q.From = noon
			}
		case "to":
			if q.From != 0 {
				q.To = noon.Add(time.Hour)
			}
		}
	}
	return q
}
