package telemetry

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/gridbid/gridbid/bus/natsbus"
)

const alertRules = "../../deploy/prometheus/alerts.yaml"

// Every metric that an alert rule asks for is one of ours.
func TestAlertsAskForWhatThereIs(t *testing.T) {
	x, err := New(t.Context(), Config{Who: "coordinator"})
	if err != nil {
		t.Fatal(err)
	}
	x.registry.MustRegister(droppedCollector{new(natsbus.Bus)})
	x.RegisterSites([]string{"silent"}, func() (bool, []SiteStatus) {
		return true, []SiteStatus{{Site: "oslo", State: "silent", GridKnown: true, PowerKnown: true, Cap: 1}}
	})
	known := names(t, x.registry)
	text, err := os.ReadFile(alertRules)
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`\bgridbid_[a-z_]+`).FindAllString(string(text), -1)
	for _, m := range asked {
		if _, ok := known[m]; !ok {
			t.Errorf("%s asks for %s, which no metric has", alertRules, m)
		}
	}
	if len(asked) < 8 {
		t.Errorf("%s asks for %d metrics", alertRules, len(asked))
	}
}

// The rules fire when they should, and not else, as deploy/prometheus/alerts.test.yaml says.
func TestAlertsFireByPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool: `apt-get install prometheus` has it; the alert rules are not tested")
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", "../../deploy/prometheus/alerts.test.yaml").CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
