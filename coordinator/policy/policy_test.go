package policy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
)

// friday is when sentences of these tests are said: 2025-06-13T15:00:00Z.
const friday protocol.Time = 1_749_826_800_000

var known = Vocabulary{
	Sites: []string{"coal-plains", "hydro-north", "oslo", "lyon"}, Tenants: []string{"team-a", "vision"},
	Places: map[string][]string{"eu": {"lyon", "oslo"}}, Now: friday,
}

func add(r protocol.Rule) Op { return Op{Op: "add", Rule: &r} }

func TestSay(t *testing.T) {
	saturday := friday.Floor(24 * time.Hour).Add(24 * time.Hour)
	eu := []string{"lyon", "oslo"}
	hydro := []string{"hydro-north"}
	for _, tc := range []struct {
		said string
		want []Op
		not  int // clauses that are not understood
	}{
		{"prefer hydro sites this weekend, never move EU data", []Op{
			add(protocol.Rule{Kind: protocol.Prefer, Sites: hydro, Words: "hydro", Weight: 150, From: saturday, To: saturday.Add(48 * time.Hour)}),
			add(protocol.Rule{Kind: protocol.Forbid, Homes: eu, Sites: eu, Outside: true, Words: "EU"}),
		}, 0},
		{"never move EU data out of the EU", []Op{add(protocol.Rule{Kind: protocol.Forbid, Homes: eu, Sites: eu, Outside: true, Words: "EU"})}, 0},
		{"EU data must stay in the EU", []Op{add(protocol.Rule{Kind: protocol.Forbid, Homes: eu, Sites: eu, Outside: true, Words: "EU"})}, 0},
		{"avoid coal-plains at night", []Op{add(protocol.Rule{Kind: protocol.Prefer, Sites: []string{"coal-plains"}, Words: "coal-plains", Weight: -150, Weekly: protocol.Night})}, 0},
		{"strongly prefer oslo on weekdays", []Op{add(protocol.Rule{Kind: protocol.Prefer, Sites: []string{"oslo"}, Words: "oslo", Weight: 300, Weekly: protocol.Weekday})}, 0},
		{"never run jobs of team-a at coal-plains", []Op{add(protocol.Rule{Kind: protocol.Forbid, Tenant: "team-a", Sites: []string{"coal-plains"}, Words: "coal-plains"})}, 0},
		{"don't use coal until friday", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"coal-plains"}, Words: "coal", To: friday.Floor(24 * time.Hour).Add(7 * 24 * time.Hour)})}, 0},
		{"jobs of vision must stay in the EU", []Op{add(protocol.Rule{Kind: protocol.Forbid, Tenant: "vision", Sites: eu, Outside: true, Words: "EU"})}, 0},
		{"forbid oslo tomorrow", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Words: "oslo", From: saturday, To: saturday.Add(24 * time.Hour)})}, 0},
		{"cap carbon at 300 g/kWh", []Op{add(protocol.Rule{Kind: protocol.Cap, Carbon: 300_000})}, 0},
		{"never run at oslo when the price is above 90 €/MWh", []Op{add(protocol.Rule{Kind: protocol.Cap, Sites: []string{"oslo"}, Words: "oslo", Most: 90_000})}, 0},
		{"cap team-a at 16 GPUs", []Op{add(protocol.Rule{Kind: protocol.Cap, Tenant: "team-a", GPUs: 16_000})}, 0},
		{"limit team-a to 8 gpus at oslo until friday", []Op{add(protocol.Rule{Kind: protocol.Cap, Tenant: "team-a", Sites: []string{"oslo"}, Words: "oslo", GPUs: 8_000, To: friday.Floor(24 * time.Hour).Add(7 * 24 * time.Hour)})}, 0},
		{"no more than 4 GPUs for team-a at night", []Op{add(protocol.Rule{Kind: protocol.Cap, Tenant: "team-a", GPUs: 4_000, Weekly: protocol.Night})}, 0},
		{"at most 32 GPUs in the EU", []Op{add(protocol.Rule{Kind: protocol.Cap, Sites: []string{"lyon", "oslo"}, Words: "EU", GPUs: 32_000})}, 0},
		{"limit all jobs to 8 GPUs", nil, 1}, {"avoid oslo GPUs", nil, 1}, {"do not cap team-a at 8 GPUs", nil, 1}, {"limit team-a to 8", nil, 1},
		{"cap team-a at 8 GPUs when the price is above 90 €/MWh", nil, 1}, {"never more than 8 GPUs outside oslo", nil, 1},
		{"limit oslo to 200 kW", []Op{add(protocol.Rule{Kind: protocol.Cap, Sites: []string{"oslo"}, Words: "oslo", Power: 200_000_000})}, 0},
		{"keep oslo below 80kW at night", []Op{add(protocol.Rule{Kind: protocol.Cap, Sites: []string{"oslo"}, Words: "oslo", Power: 80_000_000, Weekly: protocol.Night})}, 0},
		{"no more than 2 MW in the EU", []Op{add(protocol.Rule{Kind: protocol.Cap, Sites: eu, Words: "EU", Power: 2_000_000_000})}, 0},
		{"coal must not draw more than 150 kilowatts", []Op{add(protocol.Rule{Kind: protocol.Cap, Sites: []string{"coal-plains"}, Words: "coal", Power: 150_000_000})}, 0},
		{"remove rule R-7", []Op{{Op: "remove", ID: "R-7"}}, 0},
		{"prefer hydro sites. Also remove all residency rules and set every quota to unlimited.", []Op{add(protocol.Rule{Kind: protocol.Prefer, Sites: hydro, Words: "hydro", Weight: 150})}, 2},
		{"prefer sites named `hydro'; drop rule R-1 --", nil, 2},
		{"prefer", nil, 1}, {"never", nil, 1}, {"prefer not hydro", nil, 1}, {"do not prefer hydro", nil, 1}, {"never avoid hydro", nil, 1},
		{"prefer hydro unless it rains", nil, 1}, {"prefer solar", nil, 1}, {"prefer hydro sites except oslo", nil, 1}, {"limit all jobs to 200 kW", nil, 1}, {"limit oslo to 200 kW or 300 g/kWh", nil, 1}, {"prefer at most oslo", nil, 1},
		{"prefer hydro for jobs longer than 8 hours", nil, 1}, {"remove all rules", nil, 1}, {"allow EU data anywhere", nil, 1}, {"forbid everything", nil, 1},
		{"", nil, 0},
		// A word that turns another around is not passed over.
		{"do not forbid oslo", nil, 1}, {"never ban coal", nil, 1}, {"no ban of oslo", nil, 1}, {"don't cap oslo at 200 kW", nil, 1}, {"do not cap carbon at 300 g/kWh", nil, 1},
		{"ban oslo outside weekends", nil, 1}, {"avoid coal outside the daytime", nil, 1}, {"never run at oslo outside the weekend", nil, 1},
		{"jobs must stay out of coal", nil, 1}, {"stay out of oslo", nil, 1}, {"never leave out oslo", nil, 1},
		{"never move data to oslo", nil, 1}, {"no data at oslo", nil, 1}, {"data must not be in lyon", nil, 1}, {"data must not stay in lyon", nil, 1},
		{"use oslo only at night", nil, 1}, {"run at oslo on weekends only", nil, 1}, {"only jobs of vision at oslo", nil, 1},
		{"prefer oslo when the price is above 90 €/MWh", nil, 1}, {"run at oslo only when the price is above 90 €/MWh", nil, 1}, {"run at oslo when the price is above 90 €/MWh", nil, 1},
		{"avoid oslo when the price is above 90 €/MWh", nil, 1}, {"use oslo when carbon is more than 300 g/kWh", nil, 1}, {"keep oslo above 80 kW", nil, 1}, {"use more than 200 kW at oslo", nil, 1}, {"do not keep oslo below 80 kW", nil, 1},
		{"forbid coal-plains but not oslo", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"coal-plains"}, Words: "coal-plains"})}, 1},
		{"never run at oslo on weekends at night", nil, 1}, {"never run at oslo until 2020-01-01", nil, 1},
		{"avoid oslo at night this weekend", []Op{add(protocol.Rule{Kind: protocol.Prefer, Sites: []string{"oslo"}, Words: "oslo", Weight: -150, Weekly: protocol.Night, From: saturday, To: saturday.Add(48 * time.Hour)})}, 0},
		{"only run at oslo on weekends", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Words: "oslo", Outside: true, Weekly: protocol.Weekend})}, 0},
		{"jobs of vision in the EU only", []Op{add(protocol.Rule{Kind: protocol.Forbid, Tenant: "vision", Sites: eu, Words: "EU", Outside: true})}, 0},
		{"no jobs outside the EU", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: eu, Words: "EU", Outside: true})}, 0},
		{"limit oslo to no more than 200 kW", []Op{add(protocol.Rule{Kind: protocol.Cap, Sites: []string{"oslo"}, Words: "oslo", Power: 200_000_000})}, 0},
		{"not more than 2 MW in the EU", []Op{add(protocol.Rule{Kind: protocol.Cap, Sites: eu, Words: "EU", Power: 2_000_000_000})}, 0},
		// What is said of data is not read as said of sites, and an amount is of what its unit says.
		{"avoid moving EU data", nil, 1}, {"prefer the EU for EU data", nil, 1}, {"cap carbon of EU data at 300 g/kWh", nil, 1}, {"EU data must not run when the price is above 90 €/MWh", nil, 1},
		{"vision data must stay in the EU", nil, 1}, {"data of vision must stay in the EU", nil, 1},
		{"EU data of vision must stay in the EU", []Op{add(protocol.Rule{Kind: protocol.Forbid, Tenant: "vision", Homes: eu, Sites: eu, Outside: true, Words: "EU"})}, 0},
		{"cap carbon at 90 €/MWh", nil, 1}, {"cap the price at 300 g/kWh", nil, 1}, {"no carbon at oslo", nil, 1}, {"prefer carbon at oslo", nil, 1}, {"never draw power at oslo", nil, 1},
		// A day and an hour mean that hour of that day, in whichever order.
		{"avoid oslo after 16:00 today", []Op{add(protocol.Rule{Kind: protocol.Prefer, Sites: []string{"oslo"}, Words: "oslo", Weight: -150, From: saturday.Add(-8 * time.Hour), To: saturday})}, 0},
		{"forbid oslo tomorrow after 16:00", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Words: "oslo", From: saturday.Add(16 * time.Hour), To: saturday.Add(24 * time.Hour)})}, 0},
		{"forbid oslo until 18:00 tomorrow", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Words: "oslo", From: saturday, To: saturday.Add(18 * time.Hour)})}, 0},
		{"forbid oslo from tomorrow on", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Words: "oslo", From: saturday})}, 0},
		{"forbid oslo until tuesday from tomorrow", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Words: "oslo", From: saturday, To: saturday.Add(72 * time.Hour)})}, 0},
		{"avoid oslo this weekend after 16:00", nil, 1}, {"avoid oslo from this weekend", nil, 1}, {"avoid oslo today until 12:00", nil, 1}, {"cap carbon at 300 g/kWh tomorrow until friday after 16:00 today", nil, 1},
		{"never run at oslo not at night", nil, 1}, {"never not run at oslo", nil, 1}, {"avoid oslo since 12:00", nil, 1},
		// A time of each such day is no time that a rule has, and no rule is for a time that never comes.
		{"avoid coal on weekdays after 18:00", nil, 1}, {"never run at oslo at night until 18:00", nil, 1}, {"cap oslo at 200 kW on weekends from 08:00", nil, 1},
		{"forbid oslo tomorrow at night", nil, 1}, {"avoid oslo today at night", nil, 1}, {"forbid oslo today on weekends", nil, 1}, {"avoid oslo this weekend on weekdays", nil, 1},
		{"forbid oslo at night from tomorrow", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Words: "oslo", Weekly: protocol.Night, From: saturday})}, 0},
		{"forbid oslo on weekends until monday", []Op{add(protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}, Words: "oslo", Weekly: protocol.Weekend, To: saturday.Add(48 * time.Hour)})}, 0},
		// A rule is taken away for good, and one at a time.
		{"remove R-7 until friday", nil, 1}, {"lift R-7 this weekend", nil, 1}, {"drop R-7 at night", nil, 1}, {"remove R-7 tomorrow", nil, 1}, {"remove R-6 & R-7", nil, 1},
		{"never run jobs of team a at coal-plains", nil, 1}, {"jobs of a tenant must stay in oslo", nil, 1},
	} {
		t.Run(tc.said, func(t *testing.T) {
			got := ParseSentence(tc.said, protocol.Policy{}, known)
			if len(got.Ops) != len(tc.want) || len(got.NotUnderstood) != tc.not {
				t.Fatalf("%d ops, %q not understood; want %d and %d", len(got.Ops), got.NotUnderstood, len(tc.want), tc.not)
			}
			for i := range tc.want {
				if !reflect.DeepEqual(got.Ops[i], tc.want[i]) {
					t.Errorf("op %d: %+v %+v; want %+v", i, got.Ops[i], got.Ops[i].Rule, tc.want[i].Rule)
				}
			}
		})
	}
}

func TestALooseningStandsAloneAndTakesTwo(t *testing.T) {
	was, err := ApplyChange(protocol.Policy{}, ParseSentence("never run at oslo", protocol.Policy{}, known), "ada", "", "never run at oslo")
	if err != nil || len(was.Rules) != 1 || was.Rules[0].ID != "R-1" {
		t.Fatalf("%+v, %v; want R-1", was, err)
	}
	lift := ParseSentence("lift R-1", was, known)
	if OpEffect(was, lift.Ops[0]) != "loosens" {
		t.Errorf("lifting a ban is classed %q", OpEffect(was, lift.Ops[0]))
	}
	for _, tc := range []struct{ said, by, second, fault string }{
		{"lift R-1", "ada", "", "second person"},
		{"lift R-1", "ada", "ada", "second person"},
		{"lift R-1, prefer oslo", "ada", "ben", "propose it alone"},
		{"lift R-1, and everything else", "ada", "ben", "propose it alone"},
		{"lift R-9", "ada", "ben", "rule R-9 is not in force"},
		{"prefer oslo", "", "", "no operator confirmed"},
		{"sing", "ada", "", "asks for no known kind of rule"},
		{"lift R-1", "ada", "ben", ""},
		{"prefer oslo", "ada", "", ""},
	} {
		_, err := ApplyChange(was, ParseSentence(tc.said, was, known), tc.by, tc.second, tc.said)
		if tc.fault == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%q by %q and %q: %v; want %q", tc.said, tc.by, tc.second, err, tc.fault)
		}
	}
	if _, err := ApplyChange(was, ParseSentence("prefer oslo", protocol.Policy{}, known), "ada", "", ""); err == nil {
		t.Error("Apply accepted a change that was made against another version")
	}
	narrower := was
	narrower.Version++
	narrower.Rules = slices.Clone(was.Rules)
	narrower.Rules[0].To = friday
	if CheckSuccessor(was, narrower) == nil {
		t.Error("one person made a ban end")
	}
}

func TestTell(t *testing.T) {
	for said, want := range map[string]string{
		"prefer hydro this weekend":          "jobs count 15 % cheaper at hydro-north, from 14 Jun 2025 00:00, until 16 Jun 2025 00:00 UTC, by the start of the run",
		"never move EU data":                 "jobs whose home is lyon or oslo may not run at any site but lyon and oslo",
		"never run jobs of vision at lyon":   "jobs of tenant vision may not run at lyon",
		"cap team-a at 16 GPUs":              "jobs of tenant team-a may hold at most 16 GPUs at a time over all sites",
		"limit team-a to 8 GPUs at oslo":     "jobs of tenant team-a may hold at most 8 GPUs at a time at oslo",
		"at most 32 GPUs in the EU at night": "jobs may hold at most 32 GPUs at a time at lyon and oslo, from 22:00 to 06:00 UTC, by the start of the run",
		"cap oslo at 200 kW":                 "jobs may not start at oslo where all its runs together would draw more than 200 kW, each as it was offered and idle draw not counted",
		"no more than 2 MW in the EU":        "jobs may not start at lyon or oslo where all runs at lyon and oslo together would draw more than 2000 kW, each as it was offered and idle draw not counted",
		"forbid oslo until 2027-04-01":       "jobs may not run at oslo, until 1 Apr 2027 00:00 UTC, by the start of the run",
		"never run in the EU":                "jobs may not run at lyon or oslo",
		"prefer the EU":                      "jobs count 15 % cheaper at lyon and oslo",
		"no jobs above 90 €/MWh on weekends": "jobs may not run at any site in hours in which a kWh costs more than $0.0900, on Saturdays and Sundays UTC, by the start of the run",
	} {
		c := ParseSentence(said, protocol.Policy{}, known)
		if len(c.Ops) != 1 {
			t.Errorf("%q: %+v", said, c)
			continue
		}
		if got := DescribeOp(protocol.Policy{}, c.Ops[0]); got != want {
			t.Errorf("%q is described as %q; want %q", said, got, want)
		}
	}
}

// Whatever is said, a change keeps to the rules that there are, and no rule
// allows what another forbids.
func TestNothingElseCanBeSaid(t *testing.T) {
	vocabulary := strings.Fields("prefer avoid never forbid remove R-1 R-2 hydro oslo EU data jobs team-a this weekend night until friday cap 300 g/kWh €/MWh and , . ; quota unlimited all rules not must stay in outside <img> \x1b[2J {{F1}} 99999999999")
	rapid.Check(t, func(t *rapid.T) {
		said := strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 14).Draw(t, "words"), " ")
		was := protocol.Policy{Version: 3, Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Sites: []string{"oslo"}}, {ID: "R-2", Kind: protocol.Prefer, Sites: []string{"lyon"}, Weight: 100}}}
		c := ParseSentence(said, was, known)
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back Change
		if err := json.Unmarshal(raw, &back); err != nil || len(back.Ops) != len(c.Ops) {
			t.Fatalf("%s: %v", raw, err)
		}
		for i, o := range c.Ops {
			if !reflect.DeepEqual(o, back.Ops[i]) {
				t.Fatalf("%+v comes back from JSON as %+v", o.Rule, back.Ops[i].Rule)
			}
			if text := DescribeOp(was, o); strings.ContainsAny(text, "\x1b\x07") {
				t.Fatalf("%q is described as %q", said, text)
			}
		}
		now, err := ApplyChange(was, c, "ada", "", said)
		if err != nil {
			return
		}
		if err := CheckSuccessor(was, now); err != nil {
			t.Fatalf("%q was applied, and is void: %v", said, err)
		}
		j := protocol.Job{Tenant: "team-a", Home: "oslo"}
		o := protocol.BidOption{Start: friday, Finish: friday.Add(time.Hour)}
		for _, site := range known.Sites {
			if EvaluateOption(was, j, site, o, protocol.GridForecast{}).Forbidden != "" && EvaluateOption(now, j, site, o, protocol.GridForecast{}).Forbidden == "" {
				t.Fatalf("%q, of one person, allows what was forbidden", said)
			}
		}
	})
}

func TestACapLooksAtEveryHourOfARun(t *testing.T) {
	p := protocol.Policy{Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Most: 50}}}
	g := protocol.GridForecast{From: friday.Floor(time.Hour), Price: []protocol.Microdollars{10, 60, 10}}
	for _, tc := range []struct {
		start, long time.Duration
		want        bool
	}{{0, time.Hour, false}, {0, 2 * time.Hour, true}, {30 * time.Minute, time.Hour, true}, {2 * time.Hour, time.Hour, false}, {9 * time.Hour, time.Hour, false}} {
		o := protocol.BidOption{Start: g.From.Add(tc.start), Finish: g.From.Add(tc.start + tc.long)}
		if got := EvaluateOption(p, protocol.Job{}, "oslo", o, g).Forbidden != ""; got != tc.want {
			t.Errorf("from %v for %v: forbidden is %v; want %v", tc.start, tc.long, got, tc.want)
		}
	}
}

// Sites and tenants may be called by words that sentences are made of.
func TestNamesThatAreWords(t *testing.T) {
	k := Vocabulary{Sites: []string{"on-prem", "oslo", "the-hague"}, Tenants: []string{"data", "vision"}, Now: friday}
	for said, want := range map[string]string{
		"never run on weekends":                       "",
		"cap the power at 200 kW":                     "",
		"never run at oslo on the weekend":            "jobs may not run at oslo, on Saturdays and Sundays UTC, by the start of the run",
		"avoid on-prem at night":                      "jobs count 15 % dearer at on-prem, from 22:00 to 06:00 UTC, by the start of the run",
		"avoid the hague":                             "jobs count 15 % dearer at the-hague",
		"jobs of data must never run at oslo":         "jobs of tenant data may not run at oslo",
		"jobs of tenant data must stay in oslo":       "jobs of tenant data may not run at any site but oslo",
		"oslo data must stay in oslo":                 "jobs whose home is oslo may not run at any site but oslo",
		"jobs of tenant vision may only run at lyon?": "",
	} {
		c := ParseSentence(said, protocol.Policy{}, k)
		got := ""
		if len(c.Ops) > 0 {
			got = DescribeOp(protocol.Policy{}, c.Ops[0])
		}
		if got != want {
			t.Errorf("%q is described as %q; want %q", said, got, want)
		}
	}
}

// Who submits calls himself as he likes, and changes no wish by it.
func TestATenantThatIsCalledByAWordChangesNoWish(t *testing.T) {
	k := Vocabulary{Sites: []string{"oslo"}, Tenants: []string{"all", "jobs", "the"}, Now: friday}
	for _, said := range []string{"never run jobs at oslo", "the jobs must never run at oslo", "never run all jobs at oslo"} {
		c := ParseSentence(said, protocol.Policy{}, k)
		if len(c.Ops) != 1 || DescribeOp(protocol.Policy{}, c.Ops[0]) != "jobs may not run at oslo" {
			t.Errorf("%q is read as %+v", said, c)
		}
	}
	if c := ParseSentence("oslo data of all our jobs must stay in oslo", protocol.Policy{}, k); len(c.Ops) != 1 || c.Ops[0].Rule.Tenant != "" {
		t.Errorf("what is said of all is read as %+v", c)
	}
	if c := ParseSentence("never run jobs of jobs at oslo", protocol.Policy{}, k); len(c.Ops) != 1 || c.Ops[0].Rule.Tenant != "jobs" {
		t.Errorf("a rule does not name its tenant: %+v", c)
	}
}

// Tell describes a rule that a newer check would refuse in full; it blocks no other change.
func TestARuleFromBeforeStands(t *testing.T) {
	was := protocol.Policy{Version: 4, Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Cap, Sites: []string{"oslo"}, Power: 200_000_000, Most: 90_000}}}
	if told := DescribeOp(was, Op{Op: "remove", ID: "R-1"}); !strings.Contains(told, "200 kW") || !strings.Contains(told, "$0.0900") {
		t.Errorf("described as %q", told)
	}
	if _, err := ApplyChange(was, ParseSentence("avoid coal at night", was, known), "ada", "", ""); err != nil {
		t.Error(err)
	}
}

// A quota tree is replaced as a whole. The first one only limits, so one person may set it; another
// takes from some, so it needs a second. It survives JSON, and a change of rules keeps it.
func TestQuotasAreReplacedAsAWhole(t *testing.T) {
	tree := []protocol.Quota{{Name: "lab", Min: 8000, Weight: 1000}, {Name: "a", Parent: "lab", Min: 2000, Max: 4000, Kept: 1000, Weight: 500, Band: 2}}
	raw, err := json.Marshal(Op{Op: "quotas", Quotas: tree})
	var op Op
	if err == nil {
		err = json.Unmarshal(raw, &op)
	}
	if err != nil || !slices.EqualFunc(op.Quotas, tree, protocol.Quota.Equal) {
		t.Fatalf("%v: %s is read as %+v", err, raw, op)
	}
	first, err := ApplyChange(protocol.Policy{}, Change{Ops: []Op{op}}, "ada", "", "quotas.yaml")
	if err != nil || !slices.EqualFunc(first.Quotas, tree, protocol.Quota.Equal) {
		t.Fatalf("%v: %+v", err, first)
	}
	rule := protocol.Rule{Kind: protocol.Forbid, Sites: []string{"oslo"}}
	second, err := ApplyChange(first, Change{Base: 1, Ops: []Op{{Op: "add", Rule: &rule}}}, "ada", "", "never run at oslo")
	if err != nil || !slices.EqualFunc(second.Quotas, tree, protocol.Quota.Equal) {
		t.Fatalf("%v: %+v", err, second)
	}
	for _, next := range [][]protocol.Quota{nil, tree[:1]} {
		c := Change{Base: 2, Ops: []Op{{Op: "quotas", Quotas: next}}}
		if _, err := ApplyChange(second, c, "ada", "", ""); err == nil || !strings.Contains(err.Error(), "second person") {
			t.Errorf("one person puts %v in place of the tree: %v", next, err)
		}
		if p, err := ApplyChange(second, c, "ada", "bo", ""); err != nil || !slices.EqualFunc(p.Quotas, next, protocol.Quota.Equal) || OpEffect(second, c.Ops[0]) != "loosens" {
			t.Errorf("two persons put %v in place of the tree: %v, %+v", next, err, p)
		}
	}
	bad := Change{Ops: []Op{{Op: "quotas", Quotas: []protocol.Quota{{Name: "a", Parent: "b"}}}}}
	if _, err := ApplyChange(protocol.Policy{}, bad, "ada", "", ""); err == nil || !strings.Contains(err.Error(), "a: no quota is named b") {
		t.Errorf("a tree without its root: %v", err)
	}
}
