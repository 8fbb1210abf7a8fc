package spec_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// listed is a scenario with a job, an event and an expectation that are all right.
const listed = `name: listed
start: 2026-01-02T00:00:00Z
sites:
  - name: oslo
    region: {price: {mean: 50, swing: 20}, carbon: {mean: 300, swing: 100}, match: 0.5}
    fleet: [{count: 2, model: T4, gpus: 2, cpu: 16, memory: 64}]
jobs:
  list:
    - {id: b, at: 1h30m, gpus: 1, cpu: 2, memory: 4, run: 1h, within: 3h, urgency: now, regions: [oslo], fails_after: 5m}
    - {id: a, gpus: 2, cpu: 2, run: 1h}
events:
  - {at: 10m, node_down: oslo-1-t4-02, for: 20m}
  - {at: 5m, site_down: oslo, for: 1m}
expect:
  - {job: a, placed: {site: oslo, by: 10m}}
  - {jobs: [a, b], waits: {until: 2h, why: waiting}}
`

func TestAListedScenarioIsReadInItsUnits(t *testing.T) {
	s, err := spec.LoadScenario(file(t, listed), spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start := s.Start
	b := protocol.Job{
		ID: "b", GPUs: 1, Share: 1000, CPU: 2000, Memory: 4096, Arrival: start.Add(90 * time.Minute), Run: time.Hour,
		Deadline: start.Add(270 * time.Minute), Urgency: protocol.UrgencyNow, Regions: []string{"oslo"},
	}
	if len(s.Jobs) != 2 || s.Jobs[0].ID != "a" || s.Jobs[0].Deadline != start.Add(4*time.Hour) || !reflect.DeepEqual(s.Jobs[1], b) {
		t.Errorf("jobs %+v", s.Jobs)
	}
	if want := map[protocol.JobID]time.Duration{"b": 5 * time.Minute}; !reflect.DeepEqual(s.FailsAfter, want) {
		t.Errorf("fail %v", s.FailsAfter)
	}
	if want := []spec.Event{{At: start.Add(10 * time.Minute), Until: start.Add(30 * time.Minute), Kind: spec.NodeDown, Name: "oslo-1-t4-02"}}; !reflect.DeepEqual(s.Events, want) {
		t.Errorf("events %+v", s.Events)
	}
	if want := []spec.Outage{{From: start.Add(5 * time.Minute), To: start.Add(6 * time.Minute)}}; !reflect.DeepEqual(s.Sites[0].Outages, want) {
		t.Errorf("outages %+v", s.Sites[0].Outages)
	}
	want := []spec.Expectation{
		{Line: 15, Jobs: []protocol.JobID{"a"}, Placed: &spec.Placement{Nth: 1, Site: "oslo", By: start.Add(10 * time.Minute)}},
		{Line: 16, Jobs: []protocol.JobID{"a", "b"}, Waits: &spec.Wait{Until: start.Add(2 * time.Hour), Why: "waiting"}},
	}
	if !reflect.DeepEqual(s.Expect, want) {
		t.Errorf("expect %+v", s.Expect)
	}
}

// Each fault names file, line and field, and a wrong word the nearest right one. A scenario is
// checked alike with and without its data.
func TestAListThatIsWrongIsRefusedWithItsLine(t *testing.T) {
	for _, tc := range []struct{ name, old, new, want string }{
		{"a job of no time", "run: 1h}", "gpu_memory: 1}", ":10: jobs/list/1: run time and deadline are both missing"},
		{"a job without an id", "{id: a, ", "{", ":10: jobs/list/1: lacks id: add it"},
		{"a job twice", "id: a,", "id: b,", `:10: jobs/list/1/id: is "b", as that of job 1 of the list`},
		{"a job that cannot be", "{id: a, gpus: 2,", "{id: a, gpus: 2, share: 0.5,", ":10: jobs/list/1/share: several GPUs are held whole"},
		{"a job of an hour with a word", "at: 1h30m", "at: noon", `:9: jobs/list/0/at: is "noon": want a time span such as 90s`},
		{"a job after the end", "at: 1h30m", "at: 24h", `:9: jobs/list/0/at: is "24h": want it before end, 24h0m0s after start`},
		{"a job whose deadline is over", "within: 3h", "deadline: 2026-01-02T01:00:00Z", ":9: jobs/list/0/deadline: before the arrival"},
		{"a job at no site", "regions: [oslo]", "regions: [olso]", `:9: jobs/list/0/regions/0: unknown site "olso" (did you mean "oslo"?)`},
		{"a job at no home", "regions: [oslo]", "home: bern", `:9: jobs/list/0/home: unknown site "bern": there is only "oslo"`},
		{"a job of no model", "regions: [oslo]", "models: [A6000]", `:9: jobs/list/0/models/0: unknown GPU model "A6000"`},
		{"a task, which nothing runs", "regions: [oslo]", "task: x", ":9: jobs/list/0/task: unknown key"},
		{"a program that fails at once", "fails_after: 5m", "fails_after: 0s", `:9: jobs/list/0/fails_after: is "0s": want a time of its run above 0`},
		{"traits of jobs that say theirs", "jobs:\n", "jobs:\n  deferrable: 1\n", ":7: jobs: deferrable, flexible, resident, input and pausable draw traits"},
		{"a count and a list", "jobs:\n", "jobs:\n  count: 5\n", ":7: jobs: want one of trace, count and list"},
		{"expectations of jobs without names", listed[strings.Index(listed, "jobs:\n"):strings.Index(listed, "events:")], "jobs: {count: 5}\n", ":11: expect: names jobs, and these have no names"},
		{"an event at no time", "{at: 10m, node", "{node", ":12: events/0: lacks at: add it"},
		{"an event long after", "at: 10m, node", "at: 73h, node", `:12: events/0/at: is "73h": want a time after start of at most 72h0m0s`},
		{"an event of nothing", "site_down: oslo, ", "", ":13: events/1: says not what happens: add one of node_down, site_down, silent, drain, remove, cancel"},
		{"an event of two kinds", "site_down: oslo", "site_down: oslo, silent: oslo", ":13: events/1: has both site_down and silent: write two events"},
		{"an event of a kind that is none", "site_down: oslo", "site_dawn: oslo", `:13: events/1/site_dawn: unknown key (did you mean "site_down"?)`},
		{"an event that cannot last", "site_down: oslo", "remove: oslo", ":13: events/1/for: remove happens at once: drop for"},
		{"an event of no time", "for: 1m", "for: 0s", `:13: events/1/for: is "0s": want a time above 0`},
		{"an event at no site", "site_down: oslo", "site_down: olso", `:13: events/1/site_down: unknown site "olso" (did you mean "oslo"?)`},
		{"an event on no node", "oslo-1-t4-02", "oslo-1-t4-2", `:12: events/0/node_down: unknown node "oslo-1-t4-2" (did you mean "oslo-1-t4-02"`},
		{"two nodes of one name", "fleet: [{count: 2, model: T4, gpus: 2, cpu: 16, memory: 64}]", "fleet: [{name: n1, cpu: 16, memory: 64}, {name: n1, cpu: 16, memory: 64}]", ":6: sites/0/fleet/1/name: duplicate node name n1: rename one"},
		{"an event of no job", "site_down: oslo, for: 1m", "cancel: c", `:13: events/1/cancel: unknown job "c" (did you mean "a" or "b"?)`},
		{"an expectation of nothing", "placed: {site: oslo, by: 10m}", "jobs: [b]", ":15: expect/0: says not what is expected: add one of placed, waits, refused, ends, starts, running, nodes, never"},
		{"an expectation of two things", "{job: a, placed", "{job: a, starts: 1, placed", ":15: expect/0: has both placed and starts"},
		{"an expectation of nobody", "{job: a, placed", "{placed", ":15: expect/0: want either job, or jobs for several"},
		{"an expectation of one and several", "{job: a, placed", "{job: a, jobs: [b], placed", ":15: expect/0: want either job, or jobs for several"},
		{"an expectation of a kind that is none", "placed:", "place:", `:15: expect/0/place: unknown key (did you mean "placed"?)`},
		{"an expectation of no job", "{job: a, placed", "{job: train, placed", `:15: expect/0/job: unknown job "train": there are "b" and "a"`},
		{"an expectation at no site", "{site: oslo, by", "{site: olso, by", `:15: expect/0/placed/site: unknown site "olso" (did you mean "oslo"?)`},
		{"an expectation on no node", "{site: oslo, by", "{node: n1, by", `:15: expect/0/placed/node: unknown node "n1"`},
		{"an expectation on no model", "{site: oslo, by", "{model: A6000, by", `:15: expect/0/placed/model: unknown GPU model "A6000"`},
		{"an expectation by a word", "by: 10m", "by: soon", `:15: expect/0/placed/by: is "soon": want a time span such as 90s`},
		{"an expectation long after", "by: 10m", "by: 73h", `:15: expect/0/placed/by: is "73h": want a time after start of at most 72h0m0s`},
		{"an expectation of a time too long to count", "by: 10m", "by: 99999999999999999h", `:15: expect/0/placed/by: is "99999999999999999h": want`},
		{"a wait of nothing", "waits: {until: 2h, ", "waits: {from: 2h, until: 2h, ", `:16: expect/1/waits/until: is "2h": want it after from`},
		{"a wait before the job", "waits: {until: 2h, ", "waits: {until: 1h, ", `:16: expect/1/waits/until: is "1h": b arrives only 1h30m0s after start`},
		{"a wait for a reason that is none", "why: waiting", "why: boredom", ":16: expect/1/waits/why: is boredom: want one of waiting cheaper-later"},
		{"more that run than there are", "waits: {until: 2h, why: waiting}", "running: {at: 1h, count: 3}", ":16: expect/1/running/count: is 3 of 2 jobs"},
		{"what is never, of jobs", "{job: a, placed: {site: oslo, by: 10m}}", "{job: a, never: [{job: a}]}", ":15: expect/0/never: names its jobs itself: drop job and jobs"},
		{"what is never, of no job", "{job: a, placed: {site: oslo, by: 10m}}", "{never: [{job: a}, {job: c}]}", `:15: expect/0/never/1/job: unknown job "c"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !strings.Contains(listed, tc.old) {
				t.Fatalf("the scenario has no %q", tc.old)
			}
			folder := file(t, strings.Replace(listed, tc.old, tc.new, 1))
			_, loaded := spec.LoadScenario(folder, spec.Options{})
			for how, err := range map[string]error{"LoadScenario": loaded, "CheckSyntax": spec.CheckSyntax(folder)} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s = %v; want an error with %q", how, err, tc.want)
				}
			}
		})
	}
}

func TestNodesMayHaveNames(t *testing.T) {
	text := strings.Replace(listed, "{count: 2, model: T4, gpus: 2, cpu: 16, memory: 64}", "{name: big, model: T4, gpus: 4, cpu: 16, memory: 64}, {name: n, count: 2, model: T4, gpus: 2, cpu: 16, memory: 64}, {cpu: 8, memory: 8}", 1)
	s, err := spec.LoadScenario(file(t, strings.Replace(text, "oslo-1-t4-02", "n-02", 1)), spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range s.Sites[0].Nodes {
		got = append(got, n.Name)
	}
	if want := []string{"big", "n-01", "n-02", "oslo-3-cpu-01"}; !slices.Equal(got, want) {
		t.Errorf("nodes %q; want %q", got, want)
	}
}

func TestOptionsThatChooseJobsAreRefusedForAList(t *testing.T) {
	for _, o := range []spec.Options{{MaxJobs: 1}, {Jobs: "x.csv"}, {Draw: 1}} {
		if _, err := spec.LoadScenario(file(t, listed), o); err == nil || !strings.Contains(err.Error(), "listed lists its jobs") {
			t.Errorf("%+v: %v; want that the scenario lists its jobs", o, err)
		}
	}
}

// What a scenario says of a service is what a service file says of it, for the same reason as below.
func TestAListedServiceHasTheFieldsOfAServiceFile(t *testing.T) {
	type schema struct {
		Properties map[string]any `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	var own, of schema
	if err := errors.Join(json.Unmarshal(spec.ScenarioSchema, &own), json.Unmarshal(servicefile.Schema, &of)); err != nil {
		t.Fatal(err)
	}
	got := own.Defs["service"].Properties
	delete(got, "at")
	delete(of.Properties, "task") // nobody simulates it
	if len(of.Properties) < 10 || !reflect.DeepEqual(got, of.Properties) {
		t.Errorf("a listed service has %v; want %v", got, of.Properties)
	}
}

// What a scenario says of a job is what a job file says of it, but for what nobody simulates. The
// schemas are apart so that each can be published alone.
func TestAListedJobHasTheFieldsOfAJobFile(t *testing.T) {
	type schema struct {
		Properties map[string]map[string]any `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	var own, of schema
	if err := json.Unmarshal(spec.ScenarioSchema, &own); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(jobfile.Schema), "#/$defs/site", "#/$defs/name")), &of); err != nil {
		t.Fatal(err)
	}
	got, want := own.Defs["job"].Properties, of.Properties
	delete(got, "at")
	delete(got, "fails_after")
	delete(want, "task")
	delete(want, "deferrable")
	if len(want) < 10 || !reflect.DeepEqual(got, want) {
		t.Errorf("a listed job has %v; want %v", got, want)
	}
}
