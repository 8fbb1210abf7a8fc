package ask

import (
	"maps"
	"slices"
	"testing"
)

// What is the same as other words is written so; names, quotes and known words stay.
func TestAQuestionIsWrittenInPlainWords(t *testing.T) {
	l := NewParser(RunContext{Sites: []string{"depot", "oslo"}, Tenants: []string{"team-b"}})
	for question, want := range map[string]string{
		"hi there, how many tasks at the data centre oslo?": "how many jobs at the site oslo?",
		"which depots are there":                            "which sites are there",
		"carbon at depot":                                   "carbon at depot",
		`why job "the tasks"`:                               `why job "the tasks"`,
		"tot carbon from 0300 to 0530":                      "total carbon from 03:00 to 05:30",
		"carbon on 2030-01-01":                              "carbon on 2030-01-01",
		"free gpus at 2030-01-01T00:00":                     "free gpus at 2030-01-01T00:00",
		"how many jobs were holded":                         "how many jobs were hold",
		"organisational carbon":                             "organisational carbon",
		"what's a lot":                                      "what is a lot",
	} {
		if got := l.plainWords(question); got != want {
			t.Errorf("%q is written %q; want %q", question, got, want)
		}
	}
}

// What is written for a phrase is not written otherwise once more: a question that goes on from
// another is written in plain words twice.
func TestPlainWordsStayAsTheyAre(t *testing.T) {
	l := NewParser(RunContext{})
	for _, plain := range slices.Compact(slices.Sorted(maps.Values(english.same))) {
		if again := l.plainWords(plain); again != plain {
			t.Errorf("%q is written %q", plain, again)
		}
	}
}

// "What is the" asks for a figure where there is one of that name, and for the meaning of the word elsewhere.
func TestAWordThatIsNoFigureIsDefined(t *testing.T) {
	l := NewParser(RunContext{Sites: []string{"oslo"}})
	for question, want := range map[string]string{"what is the objective?": "define", "what is the price": "price"} {
		if q, _, back := l.ParseQuestion(question); q.Ask != want {
			t.Errorf("%q is read as %q (%v); want %q", question, q.Ask, back, want)
		}
	}
}
