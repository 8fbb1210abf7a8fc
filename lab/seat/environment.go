package seat

import (
	"context"
	"fmt"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/lab/bound"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// An environment answers the lines of one learner, or of one of several environments: it has at most
// one day under way. It is used by one goroutine at a time.
type environment struct {
	cfg    Config
	reply  reply
	opened *openRequest // nil: not yet
	boxes  *boxSeat     // that is open; nil: the seat of the clearing
	day    day          // under way, or nil
}

// A day is one that is under way at some seat.
type day interface {
	// act answers the open question, and returns the line of the next one, or of the end of the day.
	act(w *reply, q *request) (line []byte, over bool, wrong *lineError)
	abandon()
}

// answer returns the line that answers a request, valid until the next call.
func (e *environment) answer(ctx context.Context, q numbered) []byte {
	var line []byte
	wrong := q.wrong
	switch {
	case wrong != nil:
	case q.open != nil:
		line, wrong = e.open(q.open)
	case e.opened == nil:
		wrong = &lineError{"", "the seat is not open", fmt.Sprintf(`send {"open":1,"seat":%q} first`, e.cfg.seat())}
	case q.reset != nil:
		line, wrong = e.reset(ctx, *q.reset)
	case e.day == nil:
		wrong = &lineError{"act", "no day is under way", `send {"reset":{}} first`}
	default:
		line, wrong = e.act(&q.request)
	}
	if wrong != nil {
		return e.reply.errorLine(q.line, wrong)
	}
	return line
}

// open opens the seat. Agents of a seat with boxes are those of a scenario.
func (e *environment) open(q *openRequest) ([]byte, *lineError) {
	if q.seat != e.cfg.seat() {
		return nil, &lineError{"seat", "this program has the seat " + e.cfg.seat(), "start gridbid env --seat " + q.seat}
	}
	var boxes *boxSeat
	if q.seat != SeatRule {
		s, err := e.loadDay(q.day)
		if err != nil {
			return nil, &lineError{"scenario", plainText(err), "correct scenario or window"}
		}
		if boxes = boxSeatOf(q.seat, s); len(boxes.agents) == 0 || boxes.numbers() == 0 {
			return nil, &lineError{"scenario", "it has no GPUs to price", "choose another"}
		}
	}
	e.abandonDay()
	e.opened, e.boxes = q, boxes
	return e.reply.openLine(e.cfg.Version, boxes), nil
}

// reset begins a day anew. A day that cannot be read leaves the one under way as it is.
func (e *environment) reset(ctx context.Context, r resetRequest) ([]byte, *lineError) {
	if e.boxes != nil && r.Scenario == "" && r.Window == "" {
		r.Scenario, r.Window = e.opened.day.Scenario, e.opened.day.Window
	}
	s, err := e.loadDay(r)
	if err != nil {
		return nil, &lineError{"reset", plainText(err), "correct scenario, window, jobs, draw or seed"}
	}
	if e.boxes != nil && !e.boxes.equals(boxSeatOf(e.boxes.name, s)) {
		return nil, &lineError{"reset", "its sites or their GPUs are not those that the seat was opened with", "open the seat anew, with that scenario or window"}
	}
	unit, err := unitOfRewards(ctx, s)
	if err != nil {
		return nil, &lineError{"reset", plainText(err), "choose another day"}
	}
	e.abandonDay()
	info := dayInfo{Scenario: s.Name, Seed: s.Seed, Jobs: len(s.Jobs), UnitUSD: unit}
	line, err := e.startDay(ctx, s, r.Pay, info)
	switch {
	case err != nil:
		e.abandonDay()
		return nil, &lineError{"reset", plainText(err), "choose another day"}
	case line == nil:
		e.abandonDay()
		return nil, &lineError{"reset", "no site can run any job of the day, so there is nothing to decide", "choose another day"}
	}
	return line, nil
}

// startDay starts a day, and returns its first question in a line; nil: there is none.
func (e *environment) startDay(ctx context.Context, s spec.Scenario, pay accounts.Payment, info dayInfo) ([]byte, error) {
	sideBySide := e.cfg.Envs > 1
	if e.boxes != nil {
		d := &boxDay{seat: e.boxes, unit: info.UnitUSD}
		d.episode = startDay(ctx, s, sideBySide, e.boxes.idleAnswer(), func(ask func(*learned.BoxQuestion) [][]float64) scenarios.Options {
			o := e.boxes.options(ask)
			o.Pay = pay
			return o
		})
		e.day = d
		q, err := d.episode.next()
		if q == nil {
			return nil, err
		}
		return e.reply.boxResetLine(d.seat, q, info), nil
	}
	d := &ruleDay{episode: startEpisode(ctx, s, e.opened.replan, sideBySide), unit: info.UnitUSD}
	e.day = d
	var err error
	if d.asked, err = d.episode.next(); d.asked == nil {
		return nil, err
	}
	return e.reply.resetLine(&d.asked.Observation, info, stepInfo{job: d.asked.Job, now: d.asked.Now}), nil
}

// act answers the open question of the day.
func (e *environment) act(q *request) ([]byte, *lineError) {
	line, over, wrong := e.day.act(&e.reply, q)
	if over {
		e.abandonDay()
	}
	return line, wrong
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

// A ruleDay is a day at the seat of the clearing.
type ruleDay struct {
	episode *ruleEpisode
	asked   *learned.Question // that waits for an act
	unit    float64           // dollars
}

// act implements day.
func (d *ruleDay) act(w *reply, q *request) (line []byte, over bool, wrong *lineError) {
	if q.act == nil {
		return nil, false, &lineError{"act", "the seat rule is answered by one number", `send {"act":0}`}
	}
	action := *q.act
	info := stepInfo{masked: d.asked.Mask[action] == 0}
	if info.masked {
		action = learned.Hold
	}
	var err error
	if d.asked, err = d.episode.decide(action); err != nil {
		return nil, true, &lineError{"act", plainText(err), "reset another day"}
	}
	a := &d.episode.account
	if d.asked != nil {
		cost := a.takeCost()
		info.job, info.now, info.settled = d.asked.Job, d.asked.Now, a.takeSettled()
		return w.stepLine(&d.asked.Observation, rewardOf(cost, d.unit), info), false, nil
	}
	cost := a.takeRest(d.episode.result.Totals)
	info.settled, info.totals = a.takeSettled(), &d.episode.result.Totals
	return w.stepLine(nil, rewardOf(cost, d.unit), info), true, nil
}

// abandon implements day.
func (d *ruleDay) abandon() { d.episode.abandon() }

// A boxDay is a day at a seat with boxes.
type boxDay struct {
	seat    *boxSeat
	episode *boxEpisode
	unit    float64 // dollars
}

// act implements day.
func (d *boxDay) act(w *reply, q *request) (line []byte, over bool, wrong *lineError) {
	acts, wrong := d.seat.readActs(q.acts)
	if wrong != nil {
		return nil, false, wrong
	}
	next, err := d.episode.decide(acts)
	if err != nil {
		return nil, true, &lineError{"act", plainText(err), "reset another day"}
	}
	a := &d.episode.account
	if next != nil {
		rewards := d.seat.rewards(a, d.unit, a.takeCost())
		return w.boxStepLine(d.seat, next, rewards, stepInfo{now: next.Now, settled: a.takeSettled()}), false, nil
	}
	rewards := d.seat.rewards(a, d.unit, a.takeRest(d.episode.result.Totals))
	return w.boxStepLine(d.seat, nil, rewards, stepInfo{settled: a.takeSettled(), totals: &d.episode.result.Totals}), true, nil
}

// abandon implements day.
func (d *boxDay) abandon() { d.episode.abandon() }

// rewardOf returns the reward for a cost.
func rewardOf(cost protocol.Microdollars, unit float64) float64 {
	if cost == 0 {
		return 0 // not -0, which JSON writes
	}
	return -cost.InDollars() / unit
}

// abandonDay ends the day under way, if there is one.
func (e *environment) abandonDay() {
	if e.day != nil {
		e.day.abandon()
	}
	e.day = nil
}
