package seat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/scenarios/learned"
)

// Every bad line gets an error that names it, its key and what to do, and the day goes on as if it had
// not been sent.
func TestABadLineIsAnsweredAndEndsNothing(t *testing.T) {
	s := begin(t, Config{})
	first := s.say(`{"reset":{"seed":5,"jobs":10}}`)
	number := 2
	for _, tc := range []struct{ line, key, why, do string }{
		{`hello`, "", "no JSON object", "one object a line"},
		{`[1,2]`, "", "no JSON object", "one object a line"},
		{`{"act":0`, "", "no JSON object", "one object a line"},
		{`{}`, "", "asks for nothing", "open, reset, act or close"},
		{`{"act":0,"reset":{}}`, "", "several things", "one of"},
		{`{"act":65}`, "act", "65", "0 to 64"},
		{`{"act":-1}`, "act", "-1", "0 to 64"},
		{`{"act":1.5}`, "act", "1.5", "0 to 64"},
		{`{"act":null}`, "act", "null", "0 to 64"},
		{`{"act":"3"}`, "act", `"3"`, "0 to 64"},
		{`{"act":99999999999999999999999}`, "act", "9999", "0 to 64"},
		{`{"leap":1}`, "leap", "no key", "env, open"},
		{`{"open":2,"seat":"rule"}`, "open", "2", "send 1"},
		{`{"open":1}`, "seat", "missing", `"seat":"rule"`},
		{`{"open":1,"seat":"throne"}`, "seat", "throne", "rule"},
		{`{"seat":"rule"}`, "seat", "opens no seat", "beside open"},
		{`{"replan":true}`, "replan", "opens no seat", "beside open"},
		{`{"open":1,"seat":"rule","replan":"yes"}`, "replan", "yes", "true or false"},
		{`{"env":1,"act":0}`, "env", "no environment", "--envs"},
		{`{"env":-1,"act":0}`, "env", "-1", "from 0"},
		{`{"reset":7}`, "reset", "no set of", "six-regions"},
		{`{"reset":{"seeds":7}}`, "reset", "seeds", "six-regions"},
		{`{"reset":{"seed":-7}}`, "reset", "seed", "six-regions"},
		{`{"reset":null}`, "reset", "null", "six-regions"},
		{`{"reset":{"scenario":"atlantis"}}`, "reset", `no scenario "atlantis"`, "correct scenario"},
		{`{"reset":{"jobs":-1}}`, "reset", "max-jobs -1", "correct scenario"},
		{`{"reset":{"window":"no.csv"}}`, "reset", "no.csv", "correct scenario"},
		{`{"reset":{"window":"no.csv","scenario":"six-regions"}}`, "reset", "exclude each other", "correct scenario"},
		{`{"act":` + strings.Repeat(" ", maxLine) + `0}`, "", "over 65536 bytes", "shorter"},
		{`{"\u001b[2J":1}`, "\x1b[2J", "no key", "env, open"},
		{"{\"\xff\":1}", "\ufffd", "no key", "env, open"},
	} {
		number++
		got := s.say("%s", tc.line)
		if got.Error == nil {
			t.Errorf("%.80q was accepted: %+v", tc.line, got)
			continue
		}
		if e := *got.Error; e.Line != number || e.Key != tc.key || !strings.Contains(e.Why, tc.why) || !strings.Contains(e.Do, tc.do) {
			t.Errorf("%.80q is answered by line %d, key %q, why %q, do %q; want line %d, key %q, %q, %q", tc.line, e.Line, e.Key, e.Why, e.Do, number, tc.key, tc.why, tc.do)
		}
	}
	answers := s.play(first, cheapest)
	other := begin(t, Config{})
	undisturbed := other.play(other.say(`{"reset":{"seed":5,"jobs":10}}`), cheapest)
	if got, want := *answers[len(answers)-1].Info.Totals, *undisturbed[len(undisturbed)-1].Info.Totals; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after bad lines the day ended as\n%+v\nand without them as\n%+v", got, want)
	}
}

// Before its seat is open, and before a day has begun, a learner is told what to do first.
func TestLinesOutOfOrderAreAnswered(t *testing.T) {
	in, out := io.Pipe()
	var written bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- Serve(t.Context(), in, &written, Config{}) }()
	fmt.Fprint(out, "\n{\"act\":1}\n\n{\"open\":1,\"seat\":\"rule\"}\n{\"act\":1}\n{\"close\":1}\n{\"act\":1}\n")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(written.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `{"line":2,"why":"the seat is not open"`) || !strings.Contains(lines[2], `{"line":5,"key":"act","why":"no day is under way"`) {
		t.Errorf("the answers are\n%s", written.String())
	}
}

// A day that is cut off by the end of the lines leaves nothing running, and the last answer is written.
func TestLinesMayEndInTheMiddleOfADay(t *testing.T) {
	var written bytes.Buffer
	text := "{\"open\":1,\"seat\":\"rule\"}\n{\"reset\":{\"jobs\":10}}\n{\"act\":64}\n{\"act\":64}" // the last line has no end: it is none
	if err := Serve(t.Context(), strings.NewReader(text), &written, Config{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(written.String(), "\n"); n != 3 || !strings.Contains(written.String(), `"terminated":false`) {
		t.Errorf("there are %d answers, want 3", n)
	}
}

// A learner that has gone ends its server.
func TestAServerEndsWithItsLearner(t *testing.T) {
	text := strings.Repeat("nonsense\n", 100)
	if err := Serve(t.Context(), strings.NewReader(text), brokenWriter{}, Config{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the server ended with %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzLines reads any bytes as lines: each is a request for one thing, or wrong with something to do.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"{\"open\":1,\"seat\":\"rule\"}\n{\"reset\":{\"seed\":7,\"scenario\":\"six-regions\",\"jobs\":300}}\n{\"act\":3}\n{\"close\":1}\n",
		"{\"env\":2,\"act\":64}\n", "{\"act\":1e3}\n\r\n{}", "{\"reset\":{\"draw\":2,\"window\":\"w.csv\"}}\n", strings.Repeat("a", 70000) + "\n{\"act\":1}\n", "{\"seat\":\"rule\",\"open\":1}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, most := newLineReader(bytes.NewReader(text)), bytes.Count(text, []byte("\n"))
		for n := 0; ; n++ {
			line, wrong, err := lines.next()
			if err != nil {
				if n > most || !errors.Is(err, io.EOF) {
					t.Fatalf("after %d of %d lines: %v", n, most, err)
				}
				return
			}
			if len(line) > maxLine {
				t.Fatalf("a line has %d bytes", len(line))
			}
			var q request
			if wrong == nil {
				q, wrong = parseRequest(line)
			}
			if wrong != nil {
				if wrong.why == "" || wrong.do == "" || len(wrong.why) > 1000 || len(wrong.key) > 400 {
					t.Fatalf("%q is refused as %+v", line, wrong)
				}
				continue
			}
			if q.parts() != 1 || q.env < 0 || q.act != nil && (*q.act < 0 || *q.act > learned.Hold) || q.open != nil && q.open.seat != SeatRule {
				t.Fatalf("%q is read as %+v", line, q)
			}
		}
	})
}
