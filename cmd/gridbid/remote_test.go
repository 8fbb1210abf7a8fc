package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
)

// readRecordOverAPI reads the record of a running coordinator as a ledger on disk is read: no
// command needs a folder of the coordinator's machine. The job train-7 is done.
func readRecordOverAPI(t *testing.T, gridbid func(...string) (string, error)) {
	t.Helper()
	picture := filepath.Join(t.TempDir(), "energy.svg")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"why", "train-7"}, "train-7"},
		{[]string{"why", "train-7", "--record"}, `"job"`},
		{[]string{"ask", "why train-7"}, "train-7"},
		{[]string{"ask", "would train-7 change at a carbon price of 400"}, "Made again as recorded"},
		{[]string{"messages", "--job", "train-7", "--kind", "award"}, `"award"`},
		{[]string{"chart", "job", "--job", "train-7", "--out", picture}, picture},
	} {
		text, err := gridbid(c.args...)
		if err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%v over the API: %v:\n%s\nwant %q", c.args, err, text, c.want)
		}
	}
	if _, err := os.Stat(picture); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"why", "train-7", "--run", "."}, {"messages", "some.ledger"}} {
		if _, err := gridbid(args...); err == nil {
			t.Errorf("%v reads two records at once", args)
		}
	}
}

// quoteWithoutSubmitting asks what jobs would cost, and checks that nobody has heard of them
// afterwards: neither the listing of jobs nor the record of rounds.
func quoteWithoutSubmitting(t *testing.T, gridbid func(...string) (string, error), job string, write func(string)) {
	t.Helper()
	auctions := func() (all []jobstatus.Round) {
		t.Helper()
		text, err := gridbid("auctions", "--json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &all)
		}
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := len(auctions())
	write("id: dry\ngpus: 1\ncpu: 4\nrun: 30m\nwithin: 8h\nurgency: flexible\n")
	table, err := gridbid("submit", "-f", job, "--dry-run")
	if err != nil || !strings.Contains(table, "hydro-north") || !strings.Contains(table, "soonest") || !strings.Contains(table, "The market would") {
		t.Errorf("a quote: %v:\n%s", err, table)
	}
	var all []api.Quote
	text, err := gridbid("submit", "-f", job, "--dry-run", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(text), &all)
	}
	if err != nil || len(all) != 1 || len(all[0].Sites) != 6 || all[0].Job != "dry" || all[0].Takes == nil {
		t.Fatalf("a quote as JSON: %v:\n%s", err, text)
	}
	for _, s := range all[0].Sites {
		if s.Earliest == nil && s.Why == "" {
			t.Errorf("%s offers nothing, and does not say why", s.Site)
		}
		if s.Earliest != nil && (s.Cheapest.Price > s.Earliest.Price || s.Cheapest.Start < s.Earliest.Start || s.Earliest.Energy <= 0) {
			t.Errorf("%s: soonest %+v, cheapest %+v", s.Site, s.Earliest, s.Cheapest)
		}
	}
	write("id: dry\ncomponents: [{pods: 2, gpus: 1, cpu: 4}]\nsites: {max: 2, parts: 2}\nrun: 30m\nurgency: now\n")
	if text, err := gridbid("submit", "-f", job, "--dry-run"); err != nil || !strings.Contains(text, "dry.2") || !strings.Contains(text, "The market would award all parts now, dry.1 to ") {
		t.Errorf("a job in parts: %v:\n%s", err, text)
	}
	write("id: dry\ngpus: 16\nrun: 30m\n")
	if text, err := gridbid("submit", "-f", job, "--dry-run"); err == nil || !strings.Contains(text, "would refuse it") {
		t.Errorf("a job that fits nowhere: %v:\n%s", err, text)
	}
	write("id: dry\ngpus: 1\nrun: 30m\nmodels: [B200]\n")
	for _, args := range [][]string{{"--dry-run"}, {}} {
		if text, err := gridbid(append([]string{"submit", "-f", job}, args...)...); err == nil || !strings.Contains(err.Error(), `no site has a GPU of model "B200"`) {
			t.Errorf("an unknown model with %v: %v: %s", args, err, text)
		}
	}
	var jobs []jobstatus.Job
	if text, err = gridbid("jobs", "--json"); err == nil {
		err = json.Unmarshal([]byte(text), &jobs)
	}
	if err != nil || strings.Contains(text, "dry") || strings.Contains(text, "quote-") {
		t.Errorf("quotes left jobs: %v:\n%s", err, text)
	}
	if after := auctions(); len(after) != before {
		t.Errorf("quotes held auctions: %+v; want %d", after, before)
	}
}
