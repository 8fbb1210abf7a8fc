package seat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// Bounds of a learner that is judged.
const (
	// answerTime is how long a learner may take for one answer. Then the option that costs least is
	// taken for it.
	answerTime = time.Second
	// openTime is how long a learner may take to open its seat and ask for the day.
	openTime = time.Minute
	// mostLate is how many answers in a row may come too late. A learner that passes it is asked no
	// more, so that one that is stuck holds a replay up for seconds, not hours.
	mostLate = 20
)

// A Learner is an outside program at a seat of one replay, which asks it: at the seat of the clearing lot
// by lot. Whatever it does, or does not, the replay goes on: where it does not answer in time, the option
// that costs least is taken, or no room is priced, or sites say the truth, and that is counted. It is used
// by one replay.
type Learner struct {
	Name   string // for the row of the replay
	within time.Duration

	program *program
	reply   reply
	account account
	version string

	boxes   *boxSeat // that it has taken; nil: the seat of the clearing
	replan  bool     // it is asked about planned jobs in every full round, too
	owed    bool     // the program asked for a line, and waits for it
	writing bool     // a line is on its way
	begun   bool     // it was asked its first question
	missed  bool     // its last answer came too late
	masked  bool     // its last answer was an action that was not allowed
	inARow  int      // answers in a row that came too late
	left    error

	asked, late, refused int
}

// StartLearner starts a command line of the shell as a learner of a scenario, and waits until it has
// opened its seat, of which it has the choice, and asked for its day. A program that does not is an error, with the last line of its standard
// error. Close ends it.
func StartLearner(ctx context.Context, s spec.Scenario, name, command, version string) (*Learner, error) {
	p, err := startProgram(command)
	if err != nil {
		return nil, fmt.Errorf("seat: start %q: %w", command, err)
	}
	l := &Learner{Name: name, within: answerTime, program: p, version: version, reply: reply{env: -1}}
	if err := l.openSeat(ctx, s, openTime); err != nil {
		ended := l.program.end(ctx)
		if last := l.program.errors.lastLine(); last != "" {
			err = fmt.Errorf("%w; it wrote: %s", err, last)
		} else if ended != nil {
			err = fmt.Errorf("%w: %v", err, ended)
		}
		return nil, fmt.Errorf("seat: the program %q did not take its seat: %w: docs/learners.md has a first run", command, err)
	}
	return l, nil
}

// openSeat answers lines until the program has asked for its day.
func (l *Learner) openSeat(ctx context.Context, s spec.Scenario, within time.Duration) error {
	until := time.NewTimer(within)
	defer until.Stop()
	opened := false
	for {
		h, err := l.hear(ctx, until.C)
		switch {
		case err != nil:
			return err
		case h.wrong != nil:
			l.refuse(h.number, h.wrong)
		case h.close:
			return errGone
		case h.open != nil:
			opened, l.replan, l.boxes = true, h.open.replan, boxSeatOf(h.open.seat, s)
			l.say(l.reply.openLine(l.version, l.boxes))
		case !opened:
			l.refuse(h.number, &lineError{"", "the seat is not open", `send {"open":1,"seat":"rule"} first`})
		case h.reset != nil: // the day is the judge's, whatever the program asks for
			l.owed = true
			return nil
		default:
			l.refuse(h.number, &lineError{"act", "the day has not begun", `send {"reset":{}} first`})
		}
		if err := l.flush(ctx, until.C); err != nil {
			return err
		}
	}
}

// errLate says that a program did not do in time what it was waited for.
var errLate = errors.New("it took too long")

// hear returns the next line of the program. What was written in the meantime is accounted for.
func (l *Learner) hear(ctx context.Context, until <-chan time.Time) (heardLine, error) {
	for {
		select {
		case h, ok := <-l.program.heard:
			if !ok {
				return h, errGone
			}
			return h, nil
		case err := <-l.program.written:
			if l.writing = false; err != nil {
				return heardLine{}, errGone
			}
		case <-until:
			return heardLine{}, errLate
		case <-ctx.Done():
			return heardLine{}, context.Cause(ctx)
		}
	}
}

// say hands a line to the program, which has taken the one before.
func (l *Learner) say(line []byte) {
	l.writing = true
	l.program.outbox <- append([]byte(nil), line...)
}

// refuse answers a line that cannot be read or obeyed.
func (l *Learner) refuse(number int, wrong *lineError) {
	l.refused++
	l.say(l.reply.errorLine(number, wrong))
}

// flush waits until the program has taken what it was written.
func (l *Learner) flush(ctx context.Context, until <-chan time.Time) error {
	if !l.writing {
		return nil
	}
	select {
	case err := <-l.program.written:
		if l.writing = false; err != nil {
			return errGone
		}
		return nil
	case <-until:
		return errLate
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Seat returns the options of a replay with the learner at its seat: the replay of a day under a policy
// whose row it is.
func (l *Learner) Seat(ctx context.Context, s spec.Scenario, policy string, o scenarios.Options) scenarios.Options {
	if o.History == nil {
		o.History = history.New(history.Config{NoBids: o.NoBids})
	}
	l.account = newAccount(o.History, s, policy)
	if l.boxes != nil {
		seat := l.boxes.options(func(q *learned.BoxQuestion) [][]float64 { return l.decideBoxes(ctx, q) })
		o.Rule, o.Misreport = seat.Rule, seat.Misreport
	} else {
		o.Rule = func() auction.ClearingRule {
			return learned.NewRule(func(q *learned.Question) (int, string) { return l.decide(ctx, q) }, l.replan)
		}
	}
	record := o.Record
	o.Record = func(m protocol.Message) error {
		l.account.addMessage(m)
		if record == nil {
			return nil
		}
		return record(m)
	}
	return o
}

// decide has the program answer a question, and answers for it if it does not in time.
func (l *Learner) decide(ctx context.Context, q *learned.Question) (action int, note string) {
	answer, ok := l.ask(ctx, func() []byte { return l.questionLine(q) }, func(r *request) *lineError {
		if r.act == nil {
			return &lineError{"act", "the seat rule is answered by one number", `send {"act":0}`}
		}
		return nil
	})
	if !ok {
		return q.Best, "the program " + l.Name + " did not answer in time: this option costs least"
	}
	action = *answer.act
	if l.masked = q.Mask[action] == 0; l.masked {
		action = learned.Hold
	}
	return action, "the program " + l.Name + " decided"
}

// decideBoxes is decide at a seat with boxes.
func (l *Learner) decideBoxes(ctx context.Context, q *learned.BoxQuestion) (out [][]float64) {
	_, ok := l.ask(ctx, func() []byte { return l.boxQuestionLine(q) }, func(r *request) (wrong *lineError) {
		out, wrong = l.boxes.readActs(r.acts)
		return wrong
	})
	if !ok {
		return l.boxes.idleAnswer()
	}
	return out
}

// ask has the program answer a question, unless it has left or does not in time.
func (l *Learner) ask(ctx context.Context, question func() []byte, read func(*request) *lineError) (request, bool) {
	l.asked++
	if l.left == nil {
		answer, err := l.askProgram(ctx, question, read)
		if err == nil {
			l.missed, l.inARow = false, 0
			return answer, true
		}
		l.noteMissed(err)
	}
	l.late++
	return request{}, false
}

// noteMissed notes that the program did not answer, and gives it up if it has gone or is stuck.
func (l *Learner) noteMissed(err error) {
	l.missed, l.masked = true, false
	if l.inARow++; l.inARow >= mostLate {
		l.left = fmt.Errorf("it was late %d times in a row", mostLate)
	}
	if errors.Is(err, errGone) {
		l.left = err
	}
}

// askProgram sends a question as the answer to the program's last line, and returns an answer that can be
// read. The program may still owe its answer to an earlier question: that one comes first, and is void.
func (l *Learner) askProgram(ctx context.Context, question func() []byte, read func(*request) *lineError) (request, error) {
	until := time.NewTimer(l.within)
	defer until.Stop()
	for sent := false; ; {
		if l.owed && !sent {
			if err := l.flush(ctx, until.C); err != nil {
				return request{}, err
			}
			l.say(question())
			l.owed, sent = false, true
		}
		h, err := l.hear(ctx, until.C)
		if err != nil {
			return request{}, err
		}
		acts := h.wrong == nil && (h.act != nil || h.acts != nil)
		if acts {
			h.wrong = read(&h.request)
		}
		switch {
		case h.wrong == nil && acts:
			if l.owed = true; sent {
				return h.request, nil
			}
			continue
		case h.close:
			return request{}, errGone
		case h.wrong == nil:
			h.wrong = &lineError{"", "a day that is judged is played once", "send act"}
		}
		if err := l.flush(ctx, until.C); err != nil {
			return request{}, err
		}
		l.refuse(h.number, h.wrong)
	}
}

// questionLine returns the line that asks a question: the first answers the program's reset, and the
// others its acts. Rewards are in a fixed unit, since that of the day looks ahead.
func (l *Learner) questionLine(q *learned.Question) []byte {
	cost := l.account.takeCost()
	info := stepInfo{job: q.Job, now: q.Now, masked: l.masked, late: l.missed, settled: l.account.takeSettled()}
	if !l.begun {
		l.begun = true
		return l.reply.resetLine(&q.Observation, dayInfo{UnitUSD: fixedUnit}, info)
	}
	return l.reply.stepLine(&q.Observation, rewardOf(cost, fixedUnit), info)
}

// boxQuestionLine is questionLine at a seat with boxes.
func (l *Learner) boxQuestionLine(q *learned.BoxQuestion) []byte {
	rewards := l.boxes.rewards(&l.account, fixedUnit, l.account.takeCost())
	if !l.begun {
		l.begun = true
		return l.reply.boxResetLine(l.boxes, q, dayInfo{UnitUSD: fixedUnit})
	}
	return l.reply.boxStepLine(l.boxes, q, rewards, stepInfo{now: q.Now, late: l.missed, settled: l.account.takeSettled()})
}

// Close tells the program that its day is over, if it is, and ends it and whatever it started.
func (l *Learner) Close(ctx context.Context, t *history.Totals) {
	if t != nil && l.owed && l.begun && l.left == nil {
		l.sayTotals(ctx, *t)
	}
	_ = l.program.end(ctx) // how it ends changes nothing any more
}

// sayTotals sends the last line of the day, with the row of its table.
func (l *Learner) sayTotals(ctx context.Context, t history.Totals) {
	until := time.NewTimer(l.within)
	defer until.Stop()
	if l.flush(ctx, until.C) != nil {
		return
	}
	cost := l.account.takeRest(t)
	info := stepInfo{masked: l.masked, settled: l.account.takeSettled(), totals: &t}
	if l.boxes != nil {
		l.say(l.reply.boxStepLine(l.boxes, nil, l.boxes.rewards(&l.account, fixedUnit, cost), info))
	} else {
		l.say(l.reply.stepLine(nil, rewardOf(cost, fixedUnit), info))
	}
	_ = l.flush(ctx, until.C) // a program that has gone needs no last line
}

// A LearnerRecord says how a learner answered.
type LearnerRecord struct {
	Asked   int    // decisions
	Late    int    // of them, those that the program did not answer in time
	Refused int    // lines that could not be read or obeyed
	Left    string // why it was asked no more; "": it was asked to the end
	Instead string // what stood where it did not answer
}

// Record returns how the learner has answered so far.
func (l *Learner) Record() LearnerRecord {
	r := LearnerRecord{Asked: l.asked, Late: l.late, Refused: l.refused, Instead: "went to the option that costs least"}
	switch {
	case l.boxes != nil && l.boxes.name == SeatRoom:
		r.Instead = "priced no room"
	case l.boxes != nil:
		r.Instead = "left all sites with the truth"
	}
	if l.left != nil {
		r.Left = l.left.Error()
	}
	return r
}

// String returns the record as a sentence's end.
func (r LearnerRecord) String() string {
	s := fmt.Sprintf("%d decisions, of which %d were not answered in time", r.Asked, r.Late)
	if r.Late > 0 {
		s += " and " + r.Instead
	}
	if r.Refused > 0 {
		s += fmt.Sprintf("; %d lines were refused", r.Refused)
	}
	if r.Left != "" {
		s += "; the program was asked no more, as " + r.Left
	}
	return s
}
