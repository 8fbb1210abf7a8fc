package lies_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/gridbid/gridbid/verify"
)

// A lieRow is a row of the table of docs/proof.md.
type lieRow struct {
	name    string
	readers []string
	checks  []verify.Check
}

var (
	rowOfLie = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$`)
	reader   = regexp.MustCompile(`site|tenant|auditor`)
	check    = regexp.MustCompile("`([a-z-]+)`")
)

// lieTable reads the table of docs/proof.md.
func lieTable(t *testing.T) map[int]lieRow {
	t.Helper()
	text, err := os.ReadFile("../../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[int]lieRow)
	for _, m := range rowOfLie.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		if _, twice := rows[n]; twice {
			t.Errorf("lie %d has two rows", n)
		}
		r := lieRow{name: m[2], readers: reader.FindAllString(m[3], -1)}
		for _, c := range check.FindAllStringSubmatch(m[4], -1) {
			r.checks = append(r.checks, verify.Check(c[1]))
		}
		rows[n] = r
	}
	return rows
}

// Each row of the table is a lie that is told, and each lie has its row: each of the readers that it names finds it by
// one of the checks that it names, and each of the checks is one that finds it.
func TestEachLieIsFoundByWhomTheTableNames(t *testing.T) {
	rows := lieTable(t)
	if len(rows) != len(lies) {
		t.Errorf("the table has %d rows, and %d lies are told", len(rows), len(lies))
	}
	for i := range lies {
		l := &lies[i]
		t.Run(fmt.Sprintf("%02d %s", l.number, l.name), func(t *testing.T) {
			row := rows[l.number]
			if row.name != l.name || len(row.readers) == 0 || len(row.checks) == 0 {
				t.Fatalf("its row is %+v", row)
			}
			w := toldIn(t, l)
			read := map[string]func() verify.Report{"site": func() verify.Report { return w.readSite(victim.SiteName()) }, "tenant": w.readTenant, "auditor": w.readAuditor}
			finds := make(map[verify.Check]bool)
			for _, reader := range row.readers {
				r, found := read[reader](), false
				said(t, w.seed, reader, r)
				for _, c := range row.checks {
					if r.Has(c) {
						finds[c], found = true, true
					}
				}
				if !found {
					t.Errorf("the %s finds it by none of %q", reader, row.checks)
				}
			}
			for _, c := range row.checks {
				if !finds[c] {
					t.Errorf("nobody finds it by %q", c)
				}
			}
		})
	}
}

// toldIn returns a world in which a lie was told.
func toldIn(t *testing.T, l *lie) *world {
	t.Helper()
	for seed := range uint64(200) { // it is not possible in every world
		w := newWorld(t, 100+seed, l)
		w.play(40)
		if l.rewrite != nil {
			l.rewrite(w)
		}
		if w.lied > 0 {
			return w
		}
	}
	t.Fatal("the lie was never possible")
	return nil
}
