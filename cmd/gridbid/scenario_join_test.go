package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// A window that was joined from public files can be replayed.
func TestPublicFilesBecomeAWindow(t *testing.T) {
	dir := t.TempDir()
	var carbon, price strings.Builder
	carbon.WriteString("Datetime (UTC),Carbon Intensity gCO₂eq/kWh (LCA)\n")
	price.WriteString("Datetime,Price (EUR/MWh)\n")
	for h := range 80 {
		at := time.Date(2022, 4, 12, h, 0, 0, 0, time.UTC)
		carbon.WriteString(at.Format("2006-01-02 15:04:05") + ",300\n")
		price.WriteString(at.Format("2006-01-02 15:04:05") + ",50\n")
	}
	c, p, day := filepath.Join(dir, "c.csv"), filepath.Join(dir, "p.csv"), filepath.Join(dir, "day.csv")
	nodes := filepath.Join(dir, "nodes.csv")
	jobs := filepath.Join(dir, "jobs.csv")
	if err := errors.Join(os.WriteFile(c, []byte(carbon.String()), 0o644), os.WriteFile(p, []byte(price.String()), 0o644),
		os.WriteFile(nodes, []byte("sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,V100M16\nb,64000,262144,2,T4\n"), 0o644),
		os.WriteFile(jobs, []byte("job_id,submit_s,duration_s,gpus\na,3600,600,1\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	args := []string{"join", "--start", "2022-04-12T02:00:00Z", "--out", day, "--clock", "DE=Europe/Berlin"}
	for _, zone := range []string{"DE", "GB"} {
		args = append(args, zone+":carbon="+c+"#Carbon Intensity gCO₂eq/kWh (LCA)", zone+":price="+p+"#Price (EUR/MWh)*1.1")
	}
	if _, stderr, err := execute(newScenarioCommand(), args...); err != nil {
		t.Fatalf("join: %v\n%s", err, stderr)
	}
	text, err := os.ReadFile(day)
	if err != nil || !strings.Contains(string(text), "2022-04-12T02:00:00Z,DE,300,55,0,\n") || strings.Count(string(text), "\n") != 145 {
		t.Errorf("the window is %v\n%.300s", err, text)
	}
	if s, err := spec.LoadWindow(spec.Options{Window: day, Jobs: jobs, Fleet: nodes}); err != nil || len(s.Sites) != 2 || len(s.Jobs) != 1 {
		t.Errorf("LoadWindow = %+v, %v", s, err)
	}
	for _, tc := range []struct{ arg, want string }{
		{"DE:carbon=" + c + "#Carbon Intensity gCO₂eq/kWh (LCA)", "DE has no price: add 'DE:price=FILE#COLUMN'"},
		{"DE:heat=" + c + "#x", "want ZONE:QUANTITY=FILE#COLUMN"},
		{"DE:price=" + p + "#Price", `no column "Price"`},
	} {
		if _, _, err := execute(newScenarioCommand(), "join", "--start", "2022-04-12T02:00:00Z", tc.arg); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("join %s = %v; want %q", tc.arg, err, tc.want)
		}
	}
}

// A recorded day without its data names the page and the command that bring it.
func TestARecordedDayWithoutDataSaysWhereItIs(t *testing.T) {
	_, err := spec.LoadScenario("real-days/ordinary_2022-04-13", spec.Options{Data: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "docs/recorded-days.md") || !strings.Contains(err.Error(), "gridbid scenario join") {
		t.Errorf("LoadScenario = %v; want the page and the command", err)
	}
}
