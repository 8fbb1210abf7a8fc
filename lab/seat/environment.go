package seat

import (
	"context"
	"fmt"

	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// An environment answers the lines of one learner, or of one of several environments: it has at most
// one day under way. It is used by one goroutine at a time.
type environment struct {
	cfg     Config
	reply   reply
	opened  *openRequest // nil: not yet
	episode *episode
	asked   *learned.Question // that waits for an act
	unit    float64           // dollars
}

// answer returns the line that answers a request, valid until the next call.
func (e *environment) answer(ctx context.Context, q numbered) []byte {
	var line []byte
	wrong := q.wrong
	switch {
	case wrong != nil:
	case q.open != nil:
		e.opened = q.open
		line = e.reply.openLine(e.cfg.Version)
	case e.opened == nil:
		wrong = &lineError{"", "the seat is not open", `send {"open":1,"seat":"rule"} first`}
	case q.reset != nil:
		line, wrong = e.reset(ctx, *q.reset)
	default:
		line, wrong = e.act(*q.act)
	}
	if wrong != nil {
		return e.reply.errorLine(q.line, wrong)
	}
	return line
}

// reset begins a day anew. A day that cannot be read leaves the one under way as it is.
func (e *environment) reset(ctx context.Context, r resetRequest) ([]byte, *lineError) {
	s, err := e.loadDay(r)
	if err != nil {
		return nil, &lineError{"reset", plainText(err), "correct scenario, window, jobs, draw or seed"}
	}
	unit, err := unitOfRewards(ctx, s)
	if err != nil {
		return nil, &lineError{"reset", plainText(err), "choose another day"}
	}
	e.abandonDay()
	e.unit = unit
	e.episode = startEpisode(ctx, s, e.opened.replan, e.cfg.Envs > 1)
	e.asked, err = e.episode.next()
	switch {
	case err != nil:
		e.abandonDay()
		return nil, &lineError{"reset", plainText(err), "choose another day"}
	case e.asked == nil:
		e.abandonDay()
		return nil, &lineError{"reset", "no site can run any job of the day, so there is nothing to decide", "choose another day"}
	}
	return e.reply.resetLine(&e.asked.Observation, dayInfo{Scenario: s.Name, Seed: s.Seed, Jobs: len(s.Jobs), UnitUSD: unit}, stepInfo{job: e.asked.Job, now: e.asked.Now}), nil
}

// loadDay reads the day of a reset.
func (e *environment) loadDay(r resetRequest) (spec.Scenario, error) {
	o := spec.Options{Data: e.cfg.Data, Seed: r.Seed, MaxJobs: r.Jobs, Draw: r.Draw, Window: r.Window}
	switch {
	case r.Window != "" && r.Scenario != "":
		return spec.Scenario{}, fmt.Errorf("spec: scenario and window exclude each other: drop one of them")
	case r.Window != "":
		return spec.LoadWindow(o)
	case r.Scenario != "":
		return spec.LoadScenario(r.Scenario, o)
	}
	return spec.LoadScenario(spec.DefaultScenario, o)
}

// unitOfRewards returns a thousandth of what the day's jobs would cost if every one had the place and
// hour of its choice, in dollars: the bound where capacity is free. Where that is nothing, earns money
// or is not known, it is a tenth of a cent.
func unitOfRewards(ctx context.Context, s spec.Scenario) (float64, error) {
	if s.HasEvents() { // no bound is known for what they change
		return fixedUnit, nil
	}
	free, err := bound.FreeCost(s, bound.Config{Stop: ctx.Err})
	if err != nil {
		return 0, err
	}
	if free <= 0 {
		return fixedUnit, nil
	}
	return free / 1000, nil
}

// fixedUnit is the unit of rewards where none may be told, in dollars: that of a day looks ahead.
const fixedUnit = 0.001

// act answers the open question, and returns the next one or the end of the day.
func (e *environment) act(action int) ([]byte, *lineError) {
	if e.asked == nil {
		return nil, &lineError{"act", "no day is under way", `send {"reset":{}} first`}
	}
	info := stepInfo{masked: e.asked.Mask[action] == 0}
	if info.masked {
		action = learned.Hold
	}
	var err error
	if e.asked, err = e.episode.decide(action); err != nil {
		e.abandonDay()
		return nil, &lineError{"act", plainText(err), "reset another day"}
	}
	a := &e.episode.account
	if e.asked != nil {
		cost := a.takeCost()
		info.job, info.now, info.settled = e.asked.Job, e.asked.Now, a.takeSettled()
		return e.reply.stepLine(&e.asked.Observation, rewardOf(cost, e.unit), info), nil
	}
	cost := a.takeRest(e.episode.result.Totals)
	info.settled, info.totals = a.takeSettled(), &e.episode.result.Totals
	line := e.reply.stepLine(nil, rewardOf(cost, e.unit), info)
	e.abandonDay()
	return line, nil
}

// rewardOf returns the reward for a cost.
func rewardOf(cost protocol.Microdollars, unit float64) float64 {
	if cost == 0 {
		return 0 // not -0, which JSON writes
	}
	return -cost.InDollars() / unit
}

// abandonDay ends the day under way, if there is one.
func (e *environment) abandonDay() {
	if e.episode != nil {
		e.episode.abandon()
	}
	e.episode, e.asked = nil, nil
}
