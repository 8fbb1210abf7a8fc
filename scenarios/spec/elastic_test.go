package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const elasticScenario = `name: e
start: 2026-01-05T00:00:00Z
sites:
  - name: east
    region: {price: {mean: 40, swing: 0}, carbon: {mean: 100, swing: 0}, match: 0}
    fleet: [{count: 8, model: A100, gpus: 8, cpu: 64, memory: 512}]
jobs: {count: 300, elastic: {share: 0.5, curve: vgg16}}
`

func loadElastic(t *testing.T, from, to string) (Scenario, error) {
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(elasticScenario, from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadScenario(file, Options{})
}

// A share of the jobs is elastic, at the measured speeds; each asks for what it asked for before, and the others
// are as they were.
func TestAShareOfTheJobsIsElastic(t *testing.T) {
	s, err := loadElastic(t, "", "")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := loadElastic(t, ", elastic: {share: 0.5, curve: vgg16}", "")
	if err != nil {
		t.Fatal(err)
	}
	could, elastic := 0, 0
	for i, j := range s.Jobs {
		was := plain.Jobs[i]
		if was.MayWait() && was.Run >= minElasticRun && was.GPUs >= 1 && was.GPUs <= 8 && was.Share == 1000 {
			could++
		}
		if why := j.InvalidReason(); why != "" || j.Run != was.Run || j.GPUs != was.GPUs || j.ID != was.ID {
			t.Fatalf("%+v was %+v: %s", j, was, why)
		}
		if !j.IsElastic() {
			continue
		}
		elastic++
		if fewest, most := j.PodRange(); fewest != 1 || most != 8 || j.SpeedOf(2) != 1218 || j.Pause == 0 || j.PodCount() != was.GPUs {
			t.Errorf("%+v", j)
		}
	}
	if elastic*10 < could*4 || elastic*10 > could*6 || could < 30 {
		t.Errorf("%d of %d jobs that could are elastic; want half", elastic, could)
	}
	for _, tc := range []struct{ from, to, want string }{
		{"vgg16", "vgg17", ":7: jobs/elastic/curve"},
		{"share: 0.5", "share: 1.5", ":7: jobs/elastic/share"},
		{", curve: vgg16", "", ":7: jobs/elastic"},
		{"{count: 300, elastic: {share: 0.5, curve: vgg16}}", "{list: [{id: a, gpus: 1, cpu: 1, run: 1h}], elastic: {share: 0.5, curve: vgg16}}", ":7: jobs: "},
	} {
		if _, err := loadElastic(t, tc.from, tc.to); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q for %q: %v; want %q", tc.to, tc.from, err, tc.want)
		}
	}
}
