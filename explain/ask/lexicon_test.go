package ask

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// smallLexicon is a lexicon with one of each line.
const smallLexicon = `# comment
question why: why {target}
parts: site
holds: not
lacks: many+jobs
is: supposition
rule: why TARGET / jobs ABOUT

refusal act
rule: act / *

ignored: a, an
splitter: by, per
split bysite: site, data center
concept why: why, how come
concept not: not
concept many: how many
concept jobs: jobs
concept act: stop
distinct: coast coal
`

func TestALexiconIsReadByLine(t *testing.T) {
	l, err := readLexicon("small.txt", smallLexicon)
	if err != nil {
		t.Fatal(err)
	}
	for phrase, want := range map[string]string{"how come": "why", "a": "_", "per data center": "bysite", "by site": "bysite"} {
		if got := l.phrases[phrase]; len(got) != 1 || got[0] != want {
			t.Errorf("%q stands for %v; want %s", phrase, got, want)
		}
	}
	if len(l.rules) != 2 || fmt.Sprint(l.rules[0].ask, " ", l.rules[0].needs, l.rules[0].may) != "why [[why] [JOB DEC]] [jobs SITE TENANT WIN]" || l.rules[1].ask != "!act" || !l.rules[1].allowsAll() {
		t.Errorf("rules are %+v", l.rules)
	}
	if q := l.questions["why"]; q.parts != "site" || q.lacks[0] != "many+jobs" || l.longest != 3 || !l.distinct["coal"] {
		t.Errorf("%+v", l)
	}
}

func TestAFaultOfALexiconNamesFileAndLine(t *testing.T) {
	for _, tc := range []struct{ old, with, want string }{
		{"parts: site", "parts: sites", `small.txt:3: parts: "sites"`},
		{"parts: site", "parts: site site", `small.txt:3: parts: "site"`},
		{"parts: site", "part: site", `small.txt:3: "part": no such key`},
		{"{target}", "{goal}", "small.txt:2: question why: slot {goal"},
		{"{target}", "{target", "small.txt:2: question why: slot {target"},
		{"holds: not", "holds: nut", `small.txt:4: "nut" is no concept`},
		{"many+jobs", "many+job", `small.txt:5: "job" is no concept`},
		{"is: supposition", "is: odd", `small.txt:6: is: "odd"`},
		{"/ jobs ABOUT", "/ job ABOUT", `small.txt:7: "job" is no concept`},
		{"/ jobs ABOUT", "/ jobs|not", "small.txt:7: rule"},
		{"refusal act", "refusal act: stop", "small.txt:9: "},
		{"rule: act / *", "parts: site", "small.txt:10: parts: a refusal has rules alone"},
		{"ignored: a, an", "ignored: a,an", `small.txt:12: "a,an": want phrases`},
		{"ignored: a, an", "ignored: A", `small.txt:12: "A": want small letters`},
		{"ignored: a, an", "ignored:  a", "small.txt:12: one blank"},
		{"ignored: a, an", "ignored: a, a", `small.txt:12: "a" stands for _ already`},
		{"ignored: a, an", "ignored x: a", "small.txt:12: \"ignored x\""},
		{"splitter: by, per\n", "", "small.txt:13: split bysite: no splitter"},
		{"concept not: not", "concept: not", "small.txt:16: \"concept\""},
		{"rule: why TARGET / jobs ABOUT\n", "", "small.txt: question why has no rule"},
		{"refusal act", "question why: why", "small.txt:9: question why: there is one"},
	} {
		_, err := readLexicon("small.txt", strings.Replace(smallLexicon, tc.old, tc.with, 1))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("with %q: %v; want %q in it", tc.with, err, tc.want)
		}
	}
}

var faultAt = regexp.MustCompile(`^fuzz\.txt(:\d+)?: .`)

// FuzzLexicon holds every text to a lexicon whose rules can be tried, or to an error
// that says where.
func FuzzLexicon(f *testing.F) {
	f.Add(smallLexicon)
	f.Add("question a: {\nrule: a")
	f.Add("split x: y\nsplitter: ")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := readLexicon("fuzz.txt", text)
		if err != nil {
			if !faultAt.MatchString(err.Error()) {
				t.Errorf("%q says not where", err)
			}
			return
		}
		for phrase, concepts := range l.phrases {
			if phrase == "" || len(concepts) == 0 || len(strings.Fields(phrase)) > l.longest {
				t.Errorf("phrase %q stands for %v, the longest has %d words", phrase, concepts, l.longest)
			}
		}
		for _, r := range l.rules {
			if _, ok := l.questions[r.ask]; !ok && !strings.HasPrefix(r.ask, "!") {
				t.Errorf("rule %+v is of no question", r)
			}
		}
	})
}
