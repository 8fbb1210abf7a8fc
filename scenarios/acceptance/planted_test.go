package acceptance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios/acceptance"
)

// story is a run of which much is known: first fills the node of east, second waits for it behind
// first, moved loses the node of west and starts anew at east, huge fits nowhere, broken fails, and
// stopped is cancelled.
const story = `name: story
start: 2026-01-05T00:00:00Z
sites:
  - name: east
    region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}
    host: {wake: 1}
    fleet: [{count: 1, model: A100, gpus: 8, cpu: 64, memory: 512}]
  - name: west
    region: {price: {mean: 120, swing: 0}, carbon: {mean: 500, swing: 0}, match: 0}
    host: {wake: 1}
    fleet: [{count: 2, model: T4, gpus: 2, cpu: 64, memory: 512}]
jobs:
  list:
    - {id: first, gpus: 8, cpu: 8, memory: 64, run: 1h, within: 12h, urgency: now, models: [A100]}
    - {id: second, at: 5m, gpus: 8, cpu: 8, memory: 64, run: 1h, within: 12h, urgency: now, models: [A100]}
    - {id: moved, gpus: 2, cpu: 8, memory: 64, run: 4h, within: 48h, urgency: now}
    - {id: huge, gpus: 16, cpu: 8, memory: 64, run: 1h, within: 12h, urgency: now}
    - {id: broken, at: 4h, fails_after: 1m, gpus: 1, cpu: 8, memory: 64, run: 1h, within: 12h, urgency: now}
    - {id: stopped, at: 4h, gpus: 1, cpu: 8, memory: 64, run: 1h, within: 12h, urgency: now}
events:
  - {at: 2h, site_down: west}
  - {at: 4h10m, cancel: stopped}
expect:
`

// judged plays the story with one expectation, and returns what became of it.
func judged(t *testing.T, expectation string) []acceptance.Verdict {
	t.Helper()
	file := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(file, []byte(story+"  - "+expectation+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return play(t, file)
}

// Of each kind of expectation, and of each thing that it may say, one is false: it fails, and says
// what happened instead. One that is true differs in that thing alone, and is met.
func TestEveryKindOfExpectationCanFail(t *testing.T) {
	for _, tc := range []struct{ holds, fails, got string }{
		{"{job: first, placed: {}}", "{job: huge, placed: {}}", "huge starts; it never started; it is refused"},
		{"{job: first, placed: {site: east}}", "{job: first, placed: {site: west}}", "first starts at west; it started at east on node east-1-a100-01, A100"},
		{"{job: first, placed: {node: east-1-a100-01}}", "{job: moved, placed: {nth: 2, node: west-1-t4-01}}", "moved starts for the 2nd time on node west-1-t4-01; it started at east on node east-1-a100-01, A100"},
		{"{job: first, placed: {model: A100}}", "{job: first, placed: {model: T4}}", "first starts on T4; it started at east"},
		{"{job: first, placed: {pods: 1}}", "{job: first, placed: {pods: 2}}", "first starts with 2 pods; it started with 1 pods"},
		{"{job: first, placed: {by: 1m}}", "{job: second, placed: {by: 6m}}", "second starts by 6m; it started at 33m"},
		{"{job: moved, placed: {nth: 2, site: east}}", "{job: moved, placed: {nth: 3}}", "moved starts for the 3rd time; it started 2 times, at west after 2s, at east after 2h"},
		{"{job: second, waits: {until: 30m}}", "{job: second, waits: {until: 2h}}", "second waits from 5m until 2h; it runs at east from 33m"},
		{"{job: second, waits: {from: 10m, until: 30m}}", "{job: first, waits: {from: 2h, until: 3h}}", "first waits from 2h until 3h; it is done since 33m"},
		{"{job: second, waits: {until: 30m, why: least-cost}}", "{job: second, waits: {until: 30m, why: no-offer}}", "second waits from 5m until 30m, for no-offer; it is planned, for least-cost"},
		{"{job: huge, refused: {}}", "{job: first, refused: {}}", "first is refused; it is done"},
		{"{job: huge, refused: {why: fits-no-node}}", "{job: huge, refused: {why: no-such-gpu}}", "huge is refused, for no-such-gpu; it is refused for fits-no-node"},
		{"{job: huge, refused: {by: 10s}}", "{job: huge, refused: {by: 0s}}", "huge is refused by 0s; it is refused at 1s"},
		{"{job: first, ends: {}}", "{job: huge, ends: {}}", "huge ends as done; it is refused"},
		{"{job: broken, ends: {as: failed}}", "{job: broken, ends: {as: done}}", "broken ends as done; it is failed"},
		{"{job: stopped, ends: {as: cancelled}}", "{job: stopped, ends: {as: failed}}", "stopped ends as failed; it is cancelled"},
		{"{job: stopped, ends: {as: cancelled, by: 4h11m}}", "{job: stopped, ends: {as: cancelled, by: 4h9m}}", "stopped ends as cancelled by 4h9m; it ended at 4h10m"},
		{"{job: moved, starts: 2}", "{job: moved, starts: 1}", "moved starts once; it started 2 times, at west after 2s, at east after 2h"},
		{"{job: huge, starts: 0}", "{job: first, starts: 0}", "first never starts; it started once, at east after 2s"},
		{"{jobs: [first, second], starts: 1}", "{jobs: [first, moved], starts: 1}", "moved starts once; it started 2 times"},
		{"{jobs: [first, second], running: {at: 10m, count: 1}}", "{jobs: [first, second], running: {at: 10m, count: 2}}", "2 of first, second run after 10m; 1 run then: first"},
		{"{jobs: [first, moved], running: {at: 10m, count: 1, site: west}}", "{jobs: [first, moved], running: {at: 10m, count: 0, site: west}}", "0 of first, moved run at west after 10m; 1 run then: moved"},
		{"{job: first, running: {at: 1h, count: 0}}", "{job: first, running: {at: 1h, count: 1}}", "first runs after 1h; none runs then"},
		{"{jobs: [first, second], nodes: 1}", "{jobs: [first, second], nodes: 2}", "first, second start on 2 nodes in all; they started on 1: east-1-a100-01"},
		{"{jobs: [first, moved], nodes: 2}", "{jobs: [first, huge], nodes: 1}", "first, huge start on one node; huge never started"},
		{"{never: [{job: first}, {job: second}]}", "{never: [{job: first}, {job: moved}]}", "never: first runs and moved runs; so it is after 2s"},
		{"{never: [{job: first, site: west}]}", "{never: [{job: first, site: east}]}", "never: first runs at east; so it is after 2s"},
		{"{never: [{job: moved, site: east}, {job: moved, node: west-1-t4-01}]}", "{never: [{job: moved, node: east-1-a100-01}]}", "never: moved runs on node east-1-a100-01; so it is after 2h"},
	} {
		t.Run(tc.holds, func(t *testing.T) {
			for _, v := range judged(t, tc.holds) {
				if !v.Holds() {
					t.Errorf("%s is not met: %s", v.Expected, v.Got)
				}
			}
			all := judged(t, tc.fails)
			if v := all[len(all)-1]; v.Holds() || !strings.HasPrefix(v.Expected+"; "+v.Got, tc.got) || v.Line != 24 {
				t.Errorf("%s: line %d: %q; want %q of line 24", tc.fails, v.Line, v.Expected+"; "+v.Got, tc.got)
			}
		})
	}
}
