package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/scenarios"
)

// Bars of the benchmark: of questions in other words, so many read right, and
// so many answered as another question at most.
const (
	leastRight = 0.70
	mostWrong  = 0.02
)

func held(t *testing.T, what string, read []JudgedAnswer) {
	t.Helper()
	sums, n := make(map[string]int), 0
	for _, e := range read {
		if e.Verdict != "unjudged" {
			sums[e.Verdict]++
			n++
		}
		if e.Verdict == "wrong" {
			t.Logf("%s: %s %q is wrong: %s, read as %q", what, e.ID, e.Asked, e.Kind, e.Read)
		}
	}
	t.Logf("%s: %d questions, right %d, declined %d, wrong %d", what, n, sums["right"], sums["declined"], sums["wrong"])
	if n < 100 || float64(sums["wrong"]) > mostWrong*float64(n) {
		t.Errorf("%s: %d of %d are answered as another question; want at most %.0f %%", what, sums["wrong"], n, 100*mostWrong)
	}
}

func set(t *testing.T, name string) []BenchQuestion {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadQuestions("set.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readings are what came of the questions of each set, which are asked once.
var readings = make(map[string][]JudgedAnswer)

// explained returns what comes of the questions of a set, asked of the short day.
func explained(t *testing.T, name string) []JudgedAnswer {
	t.Helper()
	if readings[name] == nil {
		l, b := asked(t)
		l.SetReplay(query.ReplaySetup{Policies: scenarios.PolicyNames()})
		readings[name] = JudgeQuestions(l, b, set(t, name))
	}
	return readings[name]
}

func TestOtherWordsAreReadRightOrGivenBack(t *testing.T) {
	read := explained(t, "paraphrases")
	held(t, "other words", read)
	right, n := 0, 0
	for _, e := range read {
		if e.Verdict == "right" {
			right++
		}
		if e.Verdict != "unjudged" {
			n++
		}
	}
	if float64(right) < leastRight*float64(n) {
		t.Errorf("%d of %d are read right; want at least %.0f %%", right, n, 100*leastRight)
	}
}

// What operators say is judged by the whole query: a site, a time or a limit
// that got lost makes it wrong.
func TestWhatOperatorsSayIsReadRightOrGivenBack(t *testing.T) {
	for _, name := range []string{"spoken-1", "spoken-2", "spoken-3", "spoken-4", "spoken-5", "spoken-6", "spoken-7", "spoken-8", "spoken-9", "spoken-10", "spoken-11"} {
		read := explained(t, name)
		held(t, name, read)
		declined := 0
		for _, e := range read {
			if e.Verdict == "declined" {
				declined++
			}
		}
		if declined*100 > 15*len(read) {
			t.Errorf("%s: %d of %d are given back; want at most 15 %%", name, declined, len(read))
		}
	}
}

// The twelfth set was written by somebody else, with a twist in every third of its
// utterances: it may be given back more often, and must not be read wrong.
func TestWhatIsSaidBlindIsReadRightOrGivenBack(t *testing.T) {
	read := explained(t, "spoken-12")
	held(t, "spoken-12", read)
	declined := 0
	for _, e := range read {
		if e.answer.Query == nil && (e.Kind == "unclear" || e.Kind == "ambiguous" || e.Kind == "not-found") {
			declined++
		}
		if e.Asked == "and the cost of that?" && e.answer.Query != nil {
			t.Errorf("%q is read as %q", e.Asked, e.Read)
		}
	}
	t.Logf("%d of %d are given back", declined, len(read))
	if declined*100 > 35*len(read) {
		t.Errorf("%d of %d are given back; want at most 35 %%", declined, len(read))
	}
}

// The thirteenth set is measured and stays unlearned: its author had not read the lexicon,
// so it says what to expect of new users. Do not tune the lexicon on it, and do not gate
// how many are right; only questions answered as another one are bounded.
func TestTheUnlearnedSetIsMeasuredAndRarelyReadWrong(t *testing.T) {
	held(t, "spoken-13", explained(t, "spoken-13"))
}

// Of all that operators say in the twelve sets, 90 % is read right and 1 % is read wrong
// at most, without a model.
func TestWhatOperatorsSayIsReadWithoutAModel(t *testing.T) {
	n, right, wrong := 0, 0, 0
	for i := range 12 {
		for _, e := range explained(t, fmt.Sprintf("spoken-%d", i+1)) {
			if e.Verdict == "unjudged" {
				continue
			}
			n++
			switch e.Verdict {
			case "right":
				right++
			case "wrong":
				wrong++
			}
		}
	}
	t.Logf("%d said, %d right, %d wrong", n, right, wrong)
	if n < 2500 || right*100 < 90*n || wrong*100 > n {
		t.Errorf("of %d, %d are read right and %d wrong; want at least 90 %% and at most 1 %%", n, right, wrong)
	}
}

// The grammar reads English. What is said in German is given back, but for the few
// utterances that are made of words and names that English has too.
func TestAnotherLanguageIsNotReadAsAnotherQuestion(t *testing.T) {
	read, answered := explained(t, "foreign"), 0
	for _, e := range read {
		if e.answer.Query != nil {
			answered++
		}
		if e.Verdict == "wrong" {
			t.Errorf("%s %q is read as %q", e.ID, e.Asked, e.Read)
		}
	}
	if len(read) < 50 || answered*5 > len(read) {
		t.Errorf("%d of %d are answered; want at most a fifth", answered, len(read))
	}
}

// typo returns words with one slip of the fingers in a word of at least four
// letters that is no name's slot: two letters changed places, one left out, one
// doubled, or one hit beside.
func typo(words string, rnd *rand.Rand) string {
	all := strings.Fields(words)
	var long []int
	for i, w := range all {
		if len(w) >= 4 && !strings.ContainsAny(w, "$0123456789") {
			long = append(long, i)
		}
	}
	if len(long) == 0 {
		return words
	}
	i := long[rnd.IntN(len(long))]
	w := []byte(all[i])
	at := 1 + rnd.IntN(len(w)-2)
	switch rnd.IntN(4) {
	case 0:
		w[at], w[at-1] = w[at-1], w[at]
	case 1:
		w = append(w[:at], w[at+1:]...)
	case 2:
		w = append(w[:at+1], w[at:]...)
	case 3:
		w[at] = "qwertzuiopasdfghjklyxcvbnm"[rnd.IntN(26)]
	}
	all[i] = string(w)
	return strings.Join(all, " ")
}

func TestASlipOfTheFingersIsReadRightOrGivenBack(t *testing.T) {
	l, b := asked(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	var slips []BenchQuestion
	for _, q := range set(t, "paraphrases") {
		s := BenchQuestion{ID: q.ID, Truth: q.Truth, Q: typo(q.Q, rnd)}
		for _, words := range append(q.Alt, q.Q) {
			for range 2 {
				s.Alt = append(s.Alt, typo(words, rnd))
			}
		}
		slips = append(slips, s)
	}
	held(t, "slips", JudgeQuestions(l, b, slips))
}

// Words that set a limit make any question another one: it is read otherwise
// than without them, or given back.
func TestALimitIsNeverLost(t *testing.T) {
	l, b := asked(t)
	l.SetReplay(query.ReplaySetup{Policies: scenarios.PolicyNames()})
	limits := []string{
		"only for the late ones", "but not at $S", "without the late ones", "for jobs with 8 GPUs", "per GPU", "excluding idle", "for the second time",
		"compared with $T", "in percent", "more than once", "by less than an hour", "next week", "except the last", "among my jobs", "since 10:00",
	}
	names, tried := bindSlots(b), 0
	for _, name := range []string{"paraphrases", "spoken-1", "spoken-7"} {
		for i, e := range explained(t, name) {
			if e.answer.Query == nil || e.Verdict != "right" || strings.HasPrefix(e.answer.Query.Ask, "no-") || i%9 != 0 {
				continue
			}
			for _, limit := range limits {
				q, back := l.ParseQuestion(e.Asked + " " + names.fillSlots(limit))
				tried++
				if back == nil && q.String() == e.answer.Query.String() {
					t.Errorf("%q is read as %q with %q and without", e.Asked, q.String(), limit)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("%d were tried; want at least 1000", tried)
	}
}

// Questions at night: comparisons, thresholds, exceptions, two splits, definitions, states,
// follow-ups, in an operator's own words. The first set was developed on, the second is measured.
func TestQuestionsAtNightAreReadRightOrGivenBack(t *testing.T) {
	for name, least := range map[string]int{"night-1": 75, "night-2": 75, "night-3": 30, "night-4": 90} { // the third is still to be met

		read, right, wrong := explained(t, name), 0, 0
		for _, e := range read {
			switch e.Verdict {
			case "right":
				right++
			case "wrong":
				wrong++
				t.Logf("%s: %s %q is wrong: %s, read as %q", name, e.ID, e.Asked, e.Kind, e.Read)
			default:
				t.Logf("%s: %s %q is %s: %s %q", name, e.ID, e.Asked, e.Verdict, e.Kind, e.answer.Text)
			}
		}
		t.Logf("%s: %d questions, right %d, wrong %d", name, len(read), right, wrong)
		if right*100 < least*len(read) || wrong*100 > 2*len(read) {
			t.Errorf("%s: of %d, %d are read right and %d wrong; want at least %d %% and at most 2 %%", name, len(read), right, wrong, least)
		}
	}
}
