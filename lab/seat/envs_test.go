package seat

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Environments of one process do not disturb each other: each answers as it would alone, however their
// lines are mixed.
func TestEnvironmentsSideBySideAnswerAsAlone(t *testing.T) {
	const envs, jobs = 3, 25
	alone := make([][]string, envs)
	for k := range envs {
		s := begin(t, Config{})
		l := s.say(`{"reset":{"seed":%d,"jobs":%d}}`, k+1, jobs)
		for _, l := range append([]line{l}, s.play(l, cheapest)...) {
			alone[k] = append(alone[k], asText(l))
		}
	}
	s := begin(t, Config{Envs: envs})
	for k := 1; k < envs; k++ { // begin opened the first
		s.say(`{"env":%d,"open":1,"seat":"rule"}`, k)
	}
	waits, got := make(map[int]string), make([][]string, envs) // what each is to be told next
	for k := range envs {
		waits[k] = fmt.Sprintf(`{"env":%d,"reset":{"seed":%d,"jobs":%d}}`, k, k+1, jobs)
	}
	dice := rand.New(rand.NewPCG(4, 4))
	for len(waits) > 0 {
		// Some of them, at random, are told something before any is heard.
		told := 0
		for k := range envs {
			if text := waits[k]; text != "" && (told == 0 || dice.IntN(2) == 0) {
				go fmt.Fprintln(s.out, text) // answers are written while we write
				delete(waits, k)
				told++
			}
		}
		for range told {
			l := s.read()
			if l.Env == nil {
				t.Fatalf("an answer names no environment: %+v", l)
			}
			k := *l.Env
			got[k] = append(got[k], asText(l))
			if l.Terminated == nil || !*l.Terminated {
				waits[k] = fmt.Sprintf(`{"env":%d,"act":%d}`, k, cheapest(l))
			}
		}
	}
	for k := range envs {
		if fmt.Sprint(got[k]) != fmt.Sprint(alone[k]) {
			t.Errorf("environment %d answers %d lines that differ from its %d lines alone", k, len(got[k]), len(alone[k]))
		}
	}
}

// asText is a line without the number of its environment.
func asText(l line) string {
	l.Env = nil
	text := fmt.Sprint(l.Obs, l.Info.Job, l.Info.At, l.Info.Settled, l.Info.UnitUSD)
	if l.Reward != nil {
		text += fmt.Sprint(*l.Reward, *l.Terminated)
	}
	if l.Info.Totals != nil {
		text += fmt.Sprintf("%+v", *l.Info.Totals)
	}
	return text
}
