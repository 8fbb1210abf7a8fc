package bench

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/scenarios"
)

// everything is every answer to every question of our sets, of a short day.
func everything(t *testing.T) (*GroundingCheck, []JudgedAnswer) {
	t.Helper()
	l, _ := asked(t)
	l.SetReplay(query.ReplaySetup{Policies: scenarios.PolicyNames()})
	var all []JudgedAnswer
	for _, name := range []string{"paraphrases", "spoken-1", "spoken-2", "spoken-3"} {
		all = append(all, explained(t, name)...)
	}
	return ground(l), all
}

func TestGrounding(t *testing.T) {
	g, all := everything(t)
	t.Run("every text is grounded", func(t *testing.T) { grounded(t, g, all) })
	t.Run("planted faults are seen", func(t *testing.T) { planted(t, g, all) })
	t.Run("wrong figures of a card are seen", func(t *testing.T) { plantedInCards(t, g) })
	t.Run("figures of another site are seen", func(t *testing.T) { swapped(t, g, all) })
}

func grounded(t *testing.T, g *GroundingCheck, all []JudgedAnswer) {
	for _, x := range g.CheckAnswersAndReasons(all) {
		t.Logf("%s: %d texts, %d claims", x.Surface, x.Texts, x.Claims)
		for _, l := range x.Loose {
			t.Errorf("%s %q: %q in %q: %s", l.ID, l.Asked, l.Claim, l.In, l.Why)
		}
		if x.Claims < 5000 {
			t.Errorf("%s: only %d claims were found", x.Surface, x.Claims)
		}
	}
}

// faults are what is planted into right answers; least is the share of them, in
// per cent, that must be seen. A small count in the place of another may be a
// figure of the same answer, a figure with decimals hardly.
var faults = []struct {
	name  string
	where *regexp.Regexp
	by    func(string) string
	least int
}{
	{"the last digit of an amount", regexp.MustCompile(`\$?\d+\.\d{2,4}\b`), func(s string) string { return s[:len(s)-1] + other(s[len(s)-1]) }, 90},
	{"ten times as much", regexp.MustCompile(`\b[1-9]\d*\.\d{4} (?:kWh|kg)`), func(s string) string { return "9" + s }, 99},
	{"another unit", regexp.MustCompile(`\d\.\d{4} kWh`), func(s string) string { return strings.Replace(s, "kWh", "kg", 1) }, 97},
	{"grams for kilograms", regexp.MustCompile(`\d\.\d{4} kg`), func(s string) string { return strings.Replace(s, "kg", "g", 1) }, 99},
	{"another minute", regexp.MustCompile(`\d{1,2} Mar \d\d:\d\d\b`), func(s string) string { return s[:len(s)-1] + other(s[len(s)-1]) }, 90},
	{"a longer time", regexp.MustCompile(`\b\d+ h \d+ min`), func(s string) string { return "7" + s }, 99},
	{"a decision that is not", regexp.MustCompile(`\bD-\d+\b`), func(s string) string { return s + "999" }, 100},
	{"a job that is not", regexp.MustCompile(`\bjob-\d+\b`), func(s string) string { return s + "9" }, 100},
	{"a large count", regexp.MustCompile(`\b\d{2,3} (?:rounds|decisions|options)\b`), func(s string) string { return "9" + s }, 99},
}

func other(c byte) string { return strconv.Itoa((int(c-'0') + 3) % 10) }

// A checker that stops seeing a planted fault fails here.
func planted(t *testing.T, g *GroundingCheck, all []JudgedAnswer) {
	for _, f := range faults {
		planted, seen := 0, 0
		for n, e := range all {
			if n%4 != 0 {
				continue
			}
			for i, s := range e.answer.Text {
				at := f.where.FindStringIndex(exampleText.ReplaceAllString(s, ""))
				if at == nil || e.answer.Query == nil || exampleText.MatchString(s) {
					continue
				}
				wrong := e.answer
				wrong.Text = append([]string(nil), e.answer.Text...)
				wrong.Text[i] = s[:at[0]] + f.by(s[at[0]:at[1]]) + s[at[1]:]
				planted++
				if _, loose := g.CheckAnswer(e.Asked, wrong); len(loose) > 0 {
					seen++
				}
			}
		}
		t.Logf("%s: %d of %d seen", f.name, seen, planted)
		if planted < 3 || seen*100 < f.least*planted {
			t.Errorf("%s: %d of %d are seen; want %d %%", f.name, seen, planted, f.least)
		}
	}
}

// A card is checked against the records of its job, and not against its own figures, which come from the code that
// words it. A sentence with another figure than the records hold is seen.
func plantedInCards(t *testing.T, g *GroundingCheck) {
	planted, seen := make([]int, len(faults)), make([]int, len(faults))
	for _, id := range g.log.History().JobIDs() {
		r, _ := g.log.History().LatestJob(id)
		card, facts := query.ExplainJob(g.log.History(), r), g.factsOfCard(r)
		for _, s := range card.Text {
			if exampleText.MatchString(s) {
				continue
			}
			for n, f := range faults {
				at := f.where.FindStringIndex(s)
				if at == nil {
					continue
				}
				wrong := query.Answer{Text: []string{s[:at[0]] + f.by(s[at[0]:at[1]]) + s[at[1]:]}, Cites: card.Cites}
				planted[n]++
				if _, loose := g.checkCardText(facts, wrong); len(loose) > 0 {
					seen[n]++
				}
			}
		}
	}
	for n, f := range faults {
		t.Logf("%s: %d of %d seen", f.name, seen[n], planted[n])
		least := f.least - 20 // the records of one job hold hundreds of figures, and a wrong one may be like another
		if planted[n] > 0 && seen[n]*100 < least*planted[n] {
			t.Errorf("%s: %d of %d are seen; want %d %%", f.name, seen[n], planted[n], least)
		}
	}
}

// Two sites in each other's place are seen where the figures are bound to them.
func swapped(t *testing.T, g *GroundingCheck, all []JudgedAnswer) {
	planted, seen := 0, 0
	for _, e := range all {
		a := e.answer
		if a.Table == nil || a.Table.Head[0] != "site" || len(a.Table.Rows) < 2 || a.Table.Rows[0][1] == a.Table.Rows[1][1] || !strings.Contains(a.Table.Rows[0][1], ".") || !strings.Contains(a.Table.Rows[1][1], ".") || strings.Contains(a.Table.Head[1], "hear") {
			continue
		}
		rows := append([][]string(nil), a.Table.Rows...)
		x, y := append([]string(nil), rows[0]...), append([]string(nil), rows[1]...)
		x[0], y[0] = y[0], x[0]
		rows[0], rows[1] = x, y
		a.Table = &query.Table{Head: a.Table.Head, Rows: rows}
		planted++
		if _, loose := g.CheckAnswer(e.Asked, a); len(loose) > 0 {
			seen++
		}
	}
	t.Logf("two sites swapped: %d of %d seen", seen, planted)
	if planted < 20 || seen*100 < 90*planted {
		t.Errorf("two sites swapped: %d of %d are seen", seen, planted)
	}
}
