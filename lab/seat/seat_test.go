package seat

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A line is a line of a server as a learner reads it, arrays decoded.
type line struct {
	Env        *int
	Obs        *seen
	Reward     *float64
	Terminated *bool
	Truncated  *bool
	Info       struct {
		Scenario string
		Seed     uint64
		Jobs     int
		UnitUSD  float64 `json:"unit_usd"`
		Job, At  string
		Masked   bool
		Late     bool
		Settled  [][2]any
		Totals   *history.Totals
	}
	Error *struct {
		Line         int
		Key, Why, Do string
	}
	Schema int
	Spaces json.RawMessage
}

// A seen is an observation as a learner decodes it.
type seen struct{ Job, Options, Mask array }

// An array is decoded from either form of the lines.
type array struct {
	values []float32
	shape  []int
}

// UnmarshalJSON reads numbers in rows, or base64 with a shape.
func (a *array) UnmarshalJSON(text []byte) error {
	var packed struct {
		F32, U8 []byte
		Shape   []int
	}
	if text[0] == '{' {
		if err := json.Unmarshal(text, &packed); err != nil {
			return err
		}
		a.shape = packed.Shape
		for i := 0; i+3 < len(packed.F32); i += 4 {
			a.values = append(a.values, math.Float32frombits(binary.LittleEndian.Uint32(packed.F32[i:])))
		}
		for _, b := range packed.U8 {
			a.values = append(a.values, float32(b))
		}
		return nil
	}
	var rows [][]float32
	if json.Unmarshal(text, &rows) == nil {
		a.shape = []int{len(rows), len(rows[0])}
		for _, r := range rows {
			a.values = append(a.values, r...)
		}
		return nil
	}
	err := json.Unmarshal(text, &a.values)
	a.shape = []int{len(a.values)}
	return err
}

// A session is a learner in a test: it writes lines and reads the answers.
type session struct {
	t    testing.TB
	out  *io.PipeWriter
	in   *bufio.Reader
	done chan error
	log  bytes.Buffer // of what the server wrote

	ended bool
}

// begin starts a server and opens its seat.
func begin(t testing.TB, cfg Config) *session {
	t.Helper()
	theirIn, out := io.Pipe()
	in, theirOut := io.Pipe()
	s := &session{t: t, out: out, done: make(chan error, 1)}
	s.in = bufio.NewReader(io.TeeReader(in, &s.log))
	go func() {
		err := Serve(context.Background(), theirIn, theirOut, cfg)
		theirOut.Close()
		s.done <- err
	}()
	t.Cleanup(s.end)
	if got := s.say(`{"open":1,"seat":%q}`, cfg.seat()); got.Schema != 1 || got.Spaces == nil {
		t.Fatalf("the seat did not open: %+v", got)
	}
	return s
}

// end closes the learner's lines and waits for the server. A second end does nothing.
func (s *session) end() {
	if s.ended {
		return
	}
	s.ended = true
	s.out.Close()
	for {
		if _, err := s.in.ReadString('\n'); err != nil {
			break
		}
	}
	if err := <-s.done; err != nil {
		s.t.Errorf("the server ended with %v", err)
	}
}

// say writes a line and reads the answer.
func (s *session) say(format string, args ...any) line {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.out, format+"\n", args...); err != nil {
		s.t.Fatal(err)
	}
	return s.read()
}

// read reads an answer.
func (s *session) read() (l line) {
	s.t.Helper()
	text, err := s.in.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(text), &l)
	}
	if err != nil {
		s.t.Fatalf("%.300s: %v", text, err)
	}
	return l
}

// play plays a day by a policy of the mask, and returns all answers to its acts.
func (s *session) play(first line, choose func(l line) int) (all []line) {
	s.t.Helper()
	for l := first; l.Terminated == nil || !*l.Terminated; all = append(all, l) {
		if l = s.say(`{"act":%d}`, choose(l)); l.Error != nil {
			s.t.Fatalf("an act was refused: %+v", *l.Error)
		}
	}
	return all
}

// cheapest chooses the first allowed action: the option that costs least.
func cheapest(l line) int {
	for i, allowed := range l.Obs.Mask.values {
		if allowed == 1 {
			return i
		}
	}
	return learned.Hold
}

// anyAllowed draws among the allowed actions.
func anyAllowed(dice *rand.Rand) func(line) int {
	return func(l line) int {
		var allowed []int
		for i, v := range l.Obs.Mask.values {
			if v == 1 {
				allowed = append(allowed, i)
			}
		}
		return allowed[dice.IntN(len(allowed))]
	}
}

// anyAtAll draws among all actions, as a program does that knows the action space alone.
func anyAtAll(dice *rand.Rand) func(line) int {
	return func(line) int { return dice.IntN(learned.Hold + 1) }
}

// smallDay is a day of a few jobs.
func smallDay(t testing.TB, seed uint64, jobs int) spec.Scenario {
	t.Helper()
	s, err := spec.LoadScenario(spec.DefaultScenario, spec.Options{Seed: &seed, MaxJobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What gymnasium.utils.env_checker.check_env demands of an environment, by hand: resets and steps give
// observations within their spaces, the same seed the same observation, rewards are finite, any
// action of the space may be taken, and the day ends once.
func TestAnEnvironmentKeepsGymnasiumsContract(t *testing.T) {
	for _, plain := range []bool{false, true} {
		s := begin(t, Config{Plain: plain})
		first := s.say(`{"reset":{"seed":7,"jobs":40}}`)
		again := s.say(`{"reset":{"seed":7,"jobs":40}}`)
		if a, b := fmt.Sprint(*first.Obs), fmt.Sprint(*again.Obs); a != b {
			t.Errorf("the same seed begins with\n%.200s\nand with\n%.200s", a, b)
		}
		if first.Reward != nil || first.Terminated != nil || first.Info.Jobs != 40 || first.Info.Seed != 7 || first.Info.Scenario != "six-regions" || !(first.Info.UnitUSD > 0) {
			t.Errorf("a reset answers %+v", first)
		}
		if other := s.say(`{"reset":{"seed":8,"jobs":40}}`); fmt.Sprint(*first.Obs) == fmt.Sprint(*other.Obs) {
			t.Error("another seed begins the same day")
		}
		dice := rand.New(rand.NewPCG(1, 2))
		answers := s.play(s.say(`{"reset":{"seed":7,"jobs":40}}`), anyAtAll(dice))
		for i, l := range append([]line{first}, answers...) {
			checkSpace(t, i, l)
		}
		for i, l := range answers {
			if l.Reward == nil || math.IsNaN(*l.Reward) || math.IsInf(*l.Reward, 0) || l.Truncated == nil || *l.Truncated {
				t.Fatalf("step %d answers %+v", i, l)
			}
			if last := i == len(answers)-1; *l.Terminated != last || (l.Info.Totals != nil) != last {
				t.Fatalf("step %d of %d: terminated is %v, totals %v", i, len(answers), *l.Terminated, l.Info.Totals)
			}
		}
		if l := s.say(`{"act":64}`); l.Error == nil || l.Error.Key != "act" || !strings.Contains(l.Error.Do, "reset") {
			t.Errorf("an act after the end answers %+v", l)
		}
		s.end()
	}
}

// checkSpace fails the test for an observation outside the spaces that open announces.
func checkSpace(t *testing.T, step int, l line) {
	t.Helper()
	if l.Obs == nil {
		t.Fatalf("step %d has no observation", step)
	}
	for name, a := range map[string]struct {
		array
		shape []int
		bound float32
	}{
		"job": {l.Obs.Job, []int{19}, learned.FeatureBound}, "options": {l.Obs.Options, []int{64, 32}, learned.FeatureBound}, "mask": {l.Obs.Mask, []int{65}, 1},
	} {
		if fmt.Sprint(a.array.shape) != fmt.Sprint(a.shape) {
			t.Fatalf("step %d: %s has the shape %v, want %v", step, name, a.array.shape, a.shape)
		}
		n := 1
		for _, d := range a.shape {
			n *= d
		}
		if len(a.values) != n {
			t.Fatalf("step %d: %s has %d values, want %d", step, name, len(a.values), n)
		}
		for i, v := range a.values {
			if !(v >= -a.bound && v <= a.bound) || name == "mask" && v != 0 && v != 1 {
				t.Fatalf("step %d: %s[%d] is %v", step, name, i, v)
			}
		}
	}
	if l.Obs.Mask.values[learned.Hold] != 1 {
		t.Fatalf("step %d: a job cannot be held", step)
	}
}

// The same resets and actions give the same lines, byte for byte.
func TestTheSameActionsGiveTheSameLines(t *testing.T) {
	var logs [2]string
	for i := range logs {
		s := begin(t, Config{})
		s.play(s.say(`{"reset":{"seed":3,"jobs":60}}`), anyAllowed(rand.New(rand.NewPCG(5, 0))))
		s.end()
		logs[i] = s.log.String()
	}
	if logs[0] != logs[1] {
		t.Error("two sessions with the same actions got different lines")
	}
	if !strings.Contains(logs[0], `"wall_s":0`) {
		t.Error("the lines hold the time that a run took")
	}
}

// The base64 form and the plain one say the same.
func TestPlainArraysHoldTheSameNumbers(t *testing.T) {
	var firsts [2]string
	for i, plain := range []bool{false, true} {
		s := begin(t, Config{Plain: plain})
		firsts[i] = fmt.Sprint(*s.say(`{"reset":{"seed":3,"jobs":20}}`).Obs)
		s.end()
	}
	if firsts[0] != firsts[1] {
		t.Errorf("base64 holds\n%.300s\nnumbers are\n%.300s", firsts[0], firsts[1])
	}
}

// Rewards add up to the objective of the run, and what is settled is told when it is, not at the end.
func TestRewardsAddUpToTheObjective(t *testing.T) {
	s := begin(t, Config{})
	for name, choose := range map[string]func(line) int{"cheapest": cheapest, "random": anyAllowed(rand.New(rand.NewPCG(9, 9)))} {
		first := s.say(`{"reset":{"seed":11,"jobs":80}}`)
		unit := first.Info.UnitUSD
		answers := s.play(first, choose)
		sum, settled := 0.0, map[string]float64{}
		for _, l := range answers {
			sum += *l.Reward
			for _, x := range l.Info.Settled {
				settled[x[0].(string)] += x[1].(float64)
			}
		}
		last := answers[len(answers)-1]
		objective := last.Info.Totals.ObjectiveUSD
		if math.Abs(sum*unit+objective) > 1e-6*float64(len(answers)) {
			t.Errorf("%s: the rewards add up to $%.6f, the run cost $%.6f", name, -sum*unit, objective)
		}
		if len(settled) != 80 {
			t.Errorf("%s: %d of 80 jobs were told as settled", name, len(settled))
		}
		jobs := 0.0
		for _, usd := range settled {
			jobs += usd
		}
		// A job's own costs are rounded by themselves, and later corrections of its bill are no part of it.
		if math.Abs(jobs-last.Info.Totals.JobsUSD) > 0.02*last.Info.Totals.JobsUSD {
			t.Errorf("%s: settled jobs cost $%.6f, all jobs $%.6f", name, jobs, last.Info.Totals.JobsUSD)
		}
	}
}

// The running sum by which rewards are told reaches the objective by itself, unless the run was metered
// for longer than every run is: what the last reward adds is what was settled last.
func TestNothingIsLeftForTheLastReward(t *testing.T) {
	e := startEpisode(t.Context(), smallDay(t, 11, 80), false, true)
	for q, err := e.next(); q != nil; q, err = e.decide(q.Best) {
		if err != nil {
			t.Fatal(err)
		}
	}
	e.account.takeCost()
	if rest := e.account.takeRest(e.result.Totals); rest < -100 || rest > 100 {
		t.Errorf("the sum of what was settled misses the objective by %v microdollars", rest)
	}
}

// A later start that was chosen stands until its hour, and the job is asked about again then; a learner
// that replans is asked in every full round, and told what had been planned.
func TestAPlanStandsUntilItsHourUnlessTheLearnerReplans(t *testing.T) {
	chosen := slices.Index(learned.OptionFeatures, "chosen")
	var asked [2]int
	for i, replan := range []bool{false, true} {
		early, told := 0, 0
		planned := make(map[protocol.JobID]protocol.Time) // the start of the option that was chosen last
		e := startEpisode(t.Context(), smallDay(t, 7, 60), replan, true)
		for q, err := e.next(); q != nil || err != nil; q, err = e.decide(q.Best) {
			if err != nil {
				t.Fatal(err)
			}
			asked[i]++
			if q.Now.Add(time.Minute) < planned[q.Job] {
				early++
				if tellsOf(q, chosen) {
					told++
				}
			}
			wait := float64(q.Options[q.Best*len(learned.OptionFeatures)+slices.Index(learned.OptionFeatures, "wait")])
			planned[q.Job] = q.Now.Add(time.Duration(4 * wait / (1 - wait) * float64(time.Hour)))
		}
		if (early > 0) != replan || told != early {
			t.Errorf("replan %v: %d questions came before the hour that was planned, and %d of them told of it", replan, early, told)
		}
	}
	if asked[1] <= asked[0] {
		t.Errorf("a learner that replans was asked %d times, one that does not %d times", asked[1], asked[0])
	}
}

// Sites are asked for a job when the learner is, and not for what it planned.
func TestSitesAreAskedWhenTheLearnerIs(t *testing.T) {
	for _, replan := range []bool{false, true} {
		questions, called := 0, 0
		_, err := scenarios.Replay(t.Context(), smallDay(t, 7, 60), scenarios.PolicyOutside, new(membus.Bus), scenarios.Options{
			Rule: func() auction.ClearingRule {
				return learned.NewRule(func(q *learned.Question) (int, string) { questions++; return q.Best, "" }, replan)
			},
			Record: func(m protocol.Message) error {
				if c, ok := m.Body.(protocol.CallForBids); ok {
					called += len(c.Jobs)
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if questions != called || questions < 60 {
			t.Errorf("replan %v: sites were asked %d times for a job, the learner %d times", replan, called, questions)
		}
	}
}

// tellsOf reports whether a feature is 1 for some option of a question.
func tellsOf(q *learned.Question, feature int) bool {
	for k := range learned.MostOptions {
		if q.Options[k*len(learned.OptionFeatures)+feature] == 1 {
			return true
		}
	}
	return false
}

// Base64 is what numpy.frombuffer reads: little-endian float32.
func TestFloatsAreLittleEndian(t *testing.T) {
	w := reply{env: -1}
	w.begin()
	w.floats([]float32{1, -2.5}, 2)
	text := string(w.end())
	raw, err := base64.StdEncoding.DecodeString(strings.Split(text, `"`)[3])
	if err != nil || !bytes.Equal(raw, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0}) {
		t.Errorf("1 and -2.5 are %x in %s, %v", raw, text, err)
	}
}
