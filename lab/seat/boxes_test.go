package seat

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// A boxLine is a line of a seat with boxes as a learner reads it.
type boxLine struct {
	Obs        map[string]flatArray
	Reward     map[string]float64
	Terminated bool
	Agents     []string
	Spaces     struct{ Observation, Action box }
	Info       struct {
		UnitUSD float64 `json:"unit_usd"`
		Totals  *history.Totals
	}
	Error *struct{ Key, Why, Do string }
}

// A flatArray is an array of base64.
type flatArray struct {
	F32   []byte
	Shape []int
}

// sayBoxes writes a line and reads the answer.
func (s *session) sayBoxes(format string, args ...any) (l boxLine) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.out, format+"\n", args...); err != nil {
		s.t.Fatal(err)
	}
	text, err := s.in.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(text), &l)
	}
	if err != nil {
		s.t.Fatalf("%.300s: %v", text, err)
	}
	return l
}

// actAll writes what all agents do as a line.
func actAll(opened boxLine, choose func() float64) string {
	n, acts := 1, map[string][]float64{}
	for _, d := range opened.Spaces.Action.Shape {
		n *= d
	}
	for _, name := range opened.Agents {
		for range n {
			acts[name] = append(acts[name], choose())
		}
	}
	text, err := json.Marshal(map[string]any{"act": acts})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// playBoxes plays a small day at a seat, and returns what open said, and all answers.
func playBoxes(t *testing.T, seat string, choose func() float64) (opened boxLine, all []boxLine) {
	t.Helper()
	s := begin(t, Config{Seat: seat})
	opened = s.sayBoxes(`{"open":1,"seat":%q}`, seat)
	l := s.sayBoxes(`{"reset":{"seed":7,"jobs":40}}`)
	for all = append(all, l); !l.Terminated; all = append(all, l) {
		if l = s.sayBoxes("%s", actAll(opened, choose)); l.Error != nil {
			t.Fatalf("an act was refused: %+v", *l.Error)
		}
	}
	s.end()
	return opened, all
}

// What pettingzoo.test.parallel_api_test demands, by hand: every agent is seen and rewarded in each step,
// within its spaces, whatever it does, and the day ends for all at once.
func TestBoxesKeepPettingZoosContract(t *testing.T) {
	for _, seat := range []string{SeatRoom, SeatSite} {
		dice := rand.New(rand.NewPCG(1, 2))
		opened, all := playBoxes(t, seat, func() float64 { return 4*dice.Float64() - 1 }) // beyond the bounds, too
		if len(all) < 50 {
			t.Errorf("%s: a day has %d steps", seat, len(all))
		}
		if want := map[string]int{SeatRoom: 1, SeatSite: 6}[seat]; len(opened.Agents) != want {
			t.Errorf("%s: the agents are %v", seat, opened.Agents)
		}
		seen := 1
		for _, d := range opened.Spaces.Observation.Shape {
			seen *= d
		}
		different := 0
		for i, l := range all {
			if len(l.Obs) != len(opened.Agents) || i > 0 && len(l.Reward) != len(opened.Agents) {
				t.Fatalf("%s: step %d has %d observations and %d rewards", seat, i, len(l.Obs), len(l.Reward))
			}
			for _, name := range opened.Agents {
				a := l.Obs[name]
				if !slices.Equal(a.Shape, opened.Spaces.Observation.Shape) || len(a.F32) != 4*seen || math.IsNaN(l.Reward[name]) || math.IsInf(l.Reward[name], 0) {
					t.Fatalf("%s: step %d shows %s the shape %v in %d bytes, reward %v", seat, i, name, a.Shape, len(a.F32), l.Reward[name])
				}
				for k, v := range floatsOf(a.F32) {
					if !(v >= -learned.FeatureBound && v <= learned.FeatureBound) {
						t.Fatalf("%s: step %d: number %d of %s is %v", seat, i, k, name, v)
					}
				}
				if i > 0 && string(a.F32) != string(all[i-1].Obs[name].F32) {
					different++
				}
			}
		}
		if different < len(all)/2 {
			t.Errorf("%s: agents saw something new %d times in %d steps", seat, different, len(all))
		}
		if names := opened.Spaces.Observation.Names; len(names) != opened.Spaces.Observation.Shape[len(opened.Spaces.Observation.Shape)-1] {
			t.Errorf("%s: %d numbers have %d names", seat, opened.Spaces.Observation.Shape, len(names))
		}
	}
}

// floatsOf decodes an array.
func floatsOf(raw []byte) []float32 {
	text, err := json.Marshal(map[string]any{"F32": raw})
	var a array
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		panic(err)
	}
	return a.values
}

// auctionDay is what the small day comes to under the auction.
func auctionDay(t *testing.T) history.Totals {
	t.Helper()
	res, err := scenarios.Replay(t.Context(), smallDay(t, 7, 40), scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{NoBids: true})
	if err != nil {
		t.Fatal(err)
	}
	return withoutName(res.Totals)
}

// A seat that prices no room, and sites that say the truth, leave the auction as it is, to the last figure;
// and what they do beside that changes the day.
func TestBoxesThatDoNothingLeaveTheAuction(t *testing.T) {
	want := auctionDay(t)
	for seat, idle := range map[string]float64{SeatRoom: 0, SeatSite: 1} {
		_, all := playBoxes(t, seat, func() float64 { return idle })
		if got := withoutName(*all[len(all)-1].Info.Totals); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the day comes to\n%+v\nunder the auction to\n%+v", seat, got, want)
		}
		dice := rand.New(rand.NewPCG(3, 4))
		_, all = playBoxes(t, seat, dice.Float64)
		if got := withoutName(*all[len(all)-1].Info.Totals); reflect.DeepEqual(got, want) {
			t.Errorf("%s: what its agents do changes nothing", seat)
		}
	}
}

// The rewards of the seat `room` add up to the objective, those of a site to its profit.
func TestRewardsOfBoxesAddUp(t *testing.T) {
	_, all := playBoxes(t, SeatRoom, func() float64 { return 0.3 })
	unit, sum := all[0].Info.UnitUSD, 0.0
	for _, l := range all {
		sum += l.Reward["market"] * unit
	}
	if objective := all[len(all)-1].Info.Totals.ObjectiveUSD; math.Abs(sum+objective) > 1e-6*float64(len(all)) {
		t.Errorf("the rewards add up to $%.6f, the day cost $%.6f", sum, objective)
	}
	opened, all := playBoxes(t, SeatSite, func() float64 { return 1 })
	profits := make(map[string]protocol.Microdollars)
	if _, err := scenarios.Replay(t.Context(), smallDay(t, 7, 40), scenarios.PolicyAuction, new(membus.Bus), scenarios.Options{Record: func(m protocol.Message) error {
		if b, ok := m.Body.(protocol.Settlement); ok {
			profits[b.Site] += b.Paid - b.Counted.Money
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	unit = all[0].Info.UnitUSD
	for _, name := range opened.Agents {
		sum := 0.0
		for _, l := range all {
			sum += l.Reward[name] * unit
		}
		if want := profits[name].InDollars(); math.Abs(sum-want) > 1e-6 {
			t.Errorf("the rewards of %s add up to $%.6f, its profit is $%.6f", name, sum, want)
		}
	}
	if len(profits) < 2 {
		t.Errorf("only %v had jobs", profits)
	}
}

func TestActsThatFitNoBoxAreAnswered(t *testing.T) {
	s := begin(t, Config{Seat: SeatSite})
	s.sayBoxes(`{"open":1,"seat":"site"}`)
	for _, tc := range []struct{ line, key, why string }{
		{`{"act":{"nobody":[1,1]}}`, "act", "no day is under way"},
		{`{"open":1,"seat":"room"}`, "seat", "this program has the seat site"},
		{`{"open":1,"seat":"site","scenario":"nowhere"}`, "scenario", "nowhere"},
		{`{"open":1,"seat":"site","scenario":7}`, "scenario", "it is 7"},
		{`{"window":"w.csv"}`, "window", "opens no seat"},
		{`{"reset":{"pay":"promises"}}`, "reset", "want settled or first-price"},
	} {
		if l := s.sayBoxes("%s", tc.line); l.Error == nil || l.Error.Key != tc.key || !strings.Contains(l.Error.Why, tc.why) {
			t.Errorf("%s is answered by %+v", tc.line, l.Error)
		}
	}
	first := s.sayBoxes(`{"reset":{"seed":7,"jobs":5}}`)
	agents := make(map[string][]float64)
	for name := range first.Obs {
		agents[name] = []float64{1, 1}
	}
	for why, change := range map[string]func(map[string][]float64){
		"0 numbers of the agent": func(m map[string][]float64) {
			for name := range m {
				delete(m, name)
				return
			}
		},
		"there is no agent nobody": func(m map[string][]float64) { m["nobody"] = []float64{1, 1} },
		"3 numbers of the agent": func(m map[string][]float64) {
			for name := range m {
				m[name] = []float64{1, 1, 1}
				return
			}
		},
	} {
		acts := make(map[string][]float64)
		for name, v := range agents {
			acts[name] = v
		}
		change(acts)
		text, err := json.Marshal(map[string]any{"act": acts})
		if err != nil {
			t.Fatal(err)
		}
		if l := s.sayBoxes("%s", text); l.Error == nil || !strings.Contains(l.Error.Why, why) {
			t.Errorf("%s is answered by %+v", text, l.Error)
		}
	}
	if l := s.sayBoxes(`{"act":3}`); l.Error == nil || !strings.Contains(l.Error.Do, `{"act":{"`) {
		t.Errorf("a number is answered by %+v", l.Error)
	}
	if l := s.sayBoxes(`{"act":{"a":["x"]}}`); l.Error == nil {
		t.Error("a text was taken as a number")
	}
	text, err := json.Marshal(map[string]any{"act": agents})
	if err != nil {
		t.Fatal(err)
	}
	if l := s.sayBoxes("%s", text); l.Error != nil || l.Obs == nil {
		t.Errorf("after all that a good act is answered by %+v", l.Error)
	}
}

// What an agent sees does not depend on what happens later.
func TestBoxesDoNotSeeWhatHappensLater(t *testing.T) {
	s := smallDay(t, 7, 60)
	at := s.Start.Add(11*time.Hour + 59*time.Minute)
	world, _ := withOtherFuture(s, at)
	for _, seat := range []string{SeatRoom, SeatSite} {
		var seen [2][]string
		for i, day := range []struct{ until protocol.Time }{{at}, {at}} {
			s := s
			if i == 1 {
				s = world
			}
			b := boxSeatOf(seat, s)
			e := startDay(t.Context(), s, true, b.idleAnswer(), b.options)
			for q, err := e.next(); q != nil || err != nil; q, err = e.decide(b.idleAnswer()) {
				if err != nil {
					t.Fatal(err)
				}
				if q.Now <= day.until {
					seen[i] = append(seen[i], fmt.Sprint(q.Now, q.Seen, b.rewards(&e.account, 1, e.account.takeCost())))
				}
			}
		}
		if len(seen[0]) < 5 || !slices.Equal(seen[0], seen[1]) {
			t.Errorf("%s: of %d and %d steps until %v some depend on what happens later", seat, len(seen[0]), len(seen[1]), at)
		}
	}
}

// A program that opens a seat with boxes is judged at it; one that dies there leaves the auction.
func TestAProgramIsJudgedAtABoxSeat(t *testing.T) {
	s, want := smallDay(t, 7, 40), auctionDay(t)
	for _, seat := range []string{SeatRoom, SeatSite} {
		got, record := judge(t, s, programCommand(t, "boxes", seat, "idle"), time.Minute)
		if !reflect.DeepEqual(withoutName(got), want) || record.Late > 0 || record.Asked < 50 || record.Refused > 0 {
			t.Errorf("%s: idle: %+v, %+v", seat, got, record)
		}
		got, record = judge(t, s, programCommand(t, "boxes", seat, "busy"), time.Minute)
		if reflect.DeepEqual(withoutName(got), want) || record.Late > 0 {
			t.Errorf("%s: what the program does changes nothing: %+v", seat, record)
		}
		got, record = judge(t, s, programCommand(t, "boxes", seat, "dies"), time.Minute)
		if record.Late != record.Asked-goodUntil || !strings.Contains(record.String(), "it ended") || strings.Contains(record.String(), "costs least") || !reflect.DeepEqual(withoutName(got), want) {
			t.Errorf("%s: dies: %s", seat, record)
		}
	}
}

// runBoxes is a program at a seat with boxes.
func runBoxes(seat, habit string, say func(string), read func() boxLine) {
	say(fmt.Sprintf(`{"open":1,"seat":%q}`, seat))
	opened := read()
	say(`{"reset":{}}`)
	idle := map[string]float64{SeatRoom: 0, SeatSite: 1}[seat]
	dice := rand.New(rand.NewPCG(3, 4))
	for step := 0; !read().Terminated; step++ {
		if habit == "dies" && step == goodUntil {
			return
		}
		say(actAll(opened, func() float64 {
			if habit == "busy" {
				return dice.Float64()
			}
			return idle
		}))
	}
}
