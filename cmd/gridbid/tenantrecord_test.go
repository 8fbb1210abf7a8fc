package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/history/historytest"
	"github.com/gridbid/gridbid/history/tenantview"
	"github.com/gridbid/gridbid/protocol"
)

// Every reader of records shows a tenant its own affairs, and none of others, from the part of the
// record that a coordinator serves it.
func TestEveryReaderShowsATenantItsOwnAffairs(t *testing.T) {
	dir := t.TempDir()
	w, err := wal.CreateFile(filepath.Join(dir, "auction.ledger"), map[string]string{"policy": "auction"})
	if err != nil {
		t.Fatal(err)
	}
	day, mine := historytest.GenerateDay(60, 3*time.Minute), make(map[string]bool)
	for _, m := range day {
		if s, ok := m.Body.(protocol.Submit); ok {
			mine[string(s.Job.ID)] = s.Job.Tenant == "team-a"
		}
	}
	for _, m := range tenantview.Of(day, func(tenant string) bool { return tenant == "team-a" }) {
		if err := w.AppendMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	ids, seen := regexp.MustCompile(`job-\d{5}`), 0
	check := func(what, text string) {
		t.Helper()
		for _, id := range ids.FindAllString(text, -1) {
			if seen++; !mine[id] && !strings.Contains(what, id) {
				t.Errorf("%s shows %s", what, id)
			}
		}
		for _, tenant := range []string{"team-b", "team-c", "team-d", "team-e"} {
			if strings.Contains(text, tenant) && !strings.Contains(what, tenant) {
				t.Errorf("%s shows %s", what, tenant)
			}
		}
	}
	for _, c := range []struct {
		args string
		want string // "": an error
	}{
		{"why job-00000", "was awarded to"}, {"why job-00001", ""}, {"why job-00005 --record", `"job"`},
		{"ask jobs by tenant", "team-a"}, {"ask late jobs", ""}, {"ask why job-00000", "was awarded to"}, {"ask why job-00001", ""},
		{"ask would job-00000 change at a carbon price of 400", ""}, {"ask carbon by site", ""},
		{"statement --tenant team-a", "payments:"}, {"statement --tenant team-b", ""}, {"statement --tenant team-a -o csv", "job-00000"},
		{"messages --kind award", "award"}, {"messages", "submit"}, {"brief", ""},
		{"chart job --job job-00000 --out " + out + ".svg", ""}, {"export --table jobs,sites,bids,rounds,signals,payments --out " + out, ""},
	} {
		args := strings.Fields(c.args)
		if args[0] == "ask" {
			args = []string{"ask", strings.Join(args[1:], " ")}
		}
		text, stderr, err := execute(newRootCommand(), append(args, "--run", dir)...)
		if err != nil {
			stderr += err.Error()
		}
		if check("gridbid "+c.args, text+stderr); !strings.Contains(text, c.want) {
			t.Errorf("gridbid %s: %v:\n%s%s\nwant %q", c.args, err, text, stderr, c.want)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "out*", "*"))
	files = append(files, out+".svg")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			check(filepath.Base(file), string(text))
		}
	}
	if seen < 50 || len(files) < 4 {
		t.Errorf("%d ids were shown in all, and %d files written", seen, len(files))
	}
}
