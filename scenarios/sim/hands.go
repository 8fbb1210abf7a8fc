package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// Hands are the simulated executor of one site: they run its jobs and read its meters. It is a bus.Machine.
//
// Invariant: the energy of an hour's meter equals that of its jobs plus that of its idle nodes, to the millijoule,
// and no energy is lost between hours. A job's draw in an hour is rounded down, the meter carries its remainder
// into the next hour, and energy that no job counts is idle energy.
type Hands struct {
	mouth  protocol.Mouth
	ears   protocol.Ears
	agent  protocol.Party
	truth  func(protocol.JobID, protocol.Milliwatts) protocol.Milliwatts // power that a job really draws, by its planned power
	nodes  map[string]*machine
	order  []string                  // names of nodes, for a deterministic order
	jobs   []*job                    // by end, then id
	epochs map[protocol.JobID]uint64 // epoch of the newest launch or cancellation of each job
	past   []protocol.Message        // outcomes, oldest first, kept to answer repeated requests
	late   int                       // launches refused because their epoch is stale or their node unknown

	outages []outage // to come, and the current one, by time
	dark    bool     // whether the site is without power

	at    protocol.Time        // until when the meters have been advanced
	hour  protocol.Time        // start of the hour that is being metered
	total tally                // energy of the site in this hour
	drawn protocol.Millijoules // the part of total that ended jobs account for
	draw  protocol.Milliwatts  // current power of the site
}

// One milliwatt for one millisecond is one microjoule, so the count is exact.
// A tally is an energy in microjoules.
type tally int64

func (t tally) millijoules() protocol.Millijoules { return protocol.Millijoules(t / 1000) }

// A machine is the physical state of a node.
type machine struct {
	awakeDraw protocol.Milliwatts // power of the awake node beside its jobs
	asleep    protocol.Milliwatts
	linger    time.Duration // idle time before the node falls asleep
	jobs      int           // running on it
	sleeps    protocol.Time // when it falls asleep; 0: it is asleep or busy
	awake     bool
}

// A job is one running launch.
type job struct {
	launch protocol.Launch
	start  protocol.Time
	end    protocol.Time // start plus the launch's run, unless cancelled or lost earlier
	power  protocol.Milliwatts
}

// NewHands returns the executor of a site, which begins at start. Truth maps a job's planned power to its real
// power; nil uses the plan.
func NewHands(site string, nodes []capacity.Node, table power.Table, start protocol.Time, truth func(protocol.JobID, protocol.Milliwatts) protocol.Milliwatts) *Hands {
	h := &Hands{
		mouth: protocol.Mouth{Who: protocol.Hands(site)}, agent: protocol.Agent(site), truth: truth,
		nodes: make(map[string]*machine), epochs: make(map[protocol.JobID]uint64),
		at: start, hour: start.Floor(time.Hour),
	}
	for _, n := range nodes {
		gpu, _ := table.Lookup(n.Model)
		m := &machine{awakeDraw: n.Host.Idle(gpu, n.GPUs), asleep: n.Host.Asleep, linger: n.Host.Linger}
		h.nodes[n.Name] = m
		h.order = append(h.order, n.Name)
		h.draw += m.asleep
	}
	return h
}

// Begin sets the incarnation number of the executor: see protocol.Mouth.
func (h *Hands) Begin(life uint32) { h.mouth.Life = life }

// Running returns the launches that run now, by end. It is for observers of a replay; parties that decide must not
// use it.
func (h *Hands) Running() []protocol.Launch {
	out := make([]protocol.Launch, len(h.jobs))
	for i, j := range h.jobs {
		out[i] = j.launch
	}
	return out
}

// Due implements bus.Machine.
func (h *Hands) Due() protocol.Time {
	due := h.hour.Add(time.Hour)
	if t := h.turns(); t != 0 {
		due = min(due, t)
	}
	if len(h.jobs) > 0 {
		due = min(due, h.jobs[0].end)
	}
	for _, name := range h.order {
		if t := h.nodes[name].sleeps; t != 0 {
			due = min(due, t)
		}
	}
	return due
}

// Tick implements bus.Machine.
func (h *Hands) Tick(now protocol.Time) (said []protocol.Message) {
	h.count(now)
	for len(h.jobs) > 0 && h.jobs[0].end <= now {
		// Order matters: jobs that end now must count as ended before an outage of the same instant could lose
		// them.
		said = append(said, h.exit(now, h.jobs[0], 0))
		h.jobs = h.jobs[1:]
	}
	for _, name := range h.order {
		if m := h.nodes[name]; m.sleeps != 0 && m.sleeps <= now {
			h.wake(m, false)
		}
	}
	said = append(said, h.turn(now)...)
	if now >= h.hour.Add(time.Hour) {
		said = append(said, h.mouth.Say(now, h.agent, h.read()))
		h.hour = now.Floor(time.Hour)
	}
	return said
}

// read closes the current hour's meter reading and resets the counters.
func (h *Hands) read() protocol.Reading {
	jobs := h.drawn
	for _, j := range h.jobs {
		jobs += j.slice(max(j.start, h.hour), h.hour.Add(time.Hour)).Energy
	}
	r := protocol.Reading{Hour: h.hour, Total: h.total.millijoules()}
	r.Idle = r.Total - jobs
	h.drawn, h.total = 0, h.total%1000
	return r
}

// Step implements bus.Machine.
func (h *Hands) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if m.From != h.agent || !h.ears.New(m) {
		return nil
	}
	switch b := m.Body.(type) {
	case protocol.Launch:
		return h.launch(now, b)
	case protocol.Cancel:
		return h.cancel(now, b)
	}
	return nil
}

// tell repeats the status of a job whose launch or cancellation arrives again.
func (h *Hands) tell(now protocol.Time, id protocol.JobID, epoch uint64) []protocol.Message {
	if j := h.job(id); j >= 0 {
		return []protocol.Message{h.mouth.Say(now, h.agent, protocol.Started{Job: id, Epoch: h.jobs[j].launch.Epoch})}
	}
	for _, m := range h.past {
		if j, e := whose(m.Body); j == id && e == epoch {
			if x, ok := m.Body.(protocol.Exited); ok && m.At < now {
				x.Ended = m.At // the end, not the time of this answer
				m.Body = x
			}
			return []protocol.Message{h.mouth.Say(now, h.agent, m.Body)}
		}
	}
	h.late++
	return nil
}

func (h *Hands) job(id protocol.JobID) int {
	return slices.IndexFunc(h.jobs, func(j *job) bool { return j.launch.Job.ID == id })
}

// cancel ends a job. It also records the epoch of a job that was never launched, so that a launch that arrives
// later is refused.
func (h *Hands) cancel(now protocol.Time, c protocol.Cancel) []protocol.Message {
	i := h.job(c.Job)
	if i < 0 && (c.Epoch <= h.epochs[c.Job] || c.Keep) {
		return h.tell(now, c.Job, c.Epoch)
	}
	h.count(now)
	if i < 0 {
		h.epochs[c.Job] = c.Epoch
		return []protocol.Message{h.remember(h.mouth.Say(now, h.agent, protocol.Exited{Job: c.Job, Epoch: c.Epoch}))}
	}
	j := h.jobs[i]
	if c.Keep && j.launch.Job.Pause == 0 {
		return h.tell(now, c.Job, c.Epoch) // the job cannot be paused, so it continues
	}
	h.jobs = slices.Delete(h.jobs, i, i+1)
	left := time.Duration(0)
	if c.Keep {
		left = j.end.Sub(now)
	}
	return []protocol.Message{h.exit(now, j, left)}
}

// recall is for how long an outcome can be repeated on request.
const recall = 48 * time.Hour

// remember stores an outcome and drops those older than recall.
func (h *Hands) remember(m protocol.Message) protocol.Message {
	for len(h.past) > 0 && h.past[0].At < m.At.Add(-recall) {
		// A newer launch of the same id has its own epoch, which must stay.
		if id, epoch := whose(h.past[0].Body); h.epochs[id] == epoch {
			delete(h.epochs, id)
		}
		h.past = h.past[1:]
	}
	h.past = append(h.past, m)
	return m
}

// whose returns job and epoch of an outcome.
func whose(b protocol.Body) (protocol.JobID, uint64) {
	if x, ok := b.(protocol.Lost); ok {
		return x.Job, x.Epoch
	}
	x := b.(protocol.Exited)
	return x.Job, x.Epoch
}

// launch starts a job on its node. A known epoch is answered with the job's status; without power the job is lost
// at once.
func (h *Hands) launch(now protocol.Time, l protocol.Launch) []protocol.Message {
	node := h.nodes[l.Node]
	if node == nil {
		h.late++
		return nil
	}
	if l.Epoch <= h.epochs[l.Job.ID] || h.job(l.Job.ID) >= 0 {
		return h.tell(now, l.Job.ID, l.Epoch)
	}
	if h.dark {
		return []protocol.Message{h.lose(now, l.Job.ID, l.Epoch, nil)}
	}
	h.count(now)
	h.epochs[l.Job.ID] = l.Epoch
	j := &job{launch: l, start: now, end: now.Add(l.Run), power: l.Power}
	if h.truth != nil {
		j.power = h.truth(l.Job.ID, l.Power)
	}
	if !node.awake {
		h.wake(node, true)
	}
	node.jobs, node.sleeps = node.jobs+1, 0
	h.draw += j.power
	at, _ := slices.BinarySearchFunc(h.jobs, j, func(x, y *job) int {
		return cmp.Or(cmp.Compare(x.end, y.end), strings.Compare(string(x.launch.Job.ID), string(y.launch.Job.ID)))
	})
	h.jobs = slices.Insert(h.jobs, at, j)
	return []protocol.Message{h.mouth.Say(now, h.agent, protocol.Started{Job: l.Job.ID, Epoch: l.Epoch})}
}

// wake puts a node into or out of sleep and adjusts the site's power.
func (h *Hands) wake(m *machine, on bool) {
	more := m.awakeDraw - m.asleep
	if !on {
		more = -more
	}
	m.awake, m.sleeps = on, 0
	h.draw += more
}

// count advances the meters to now. Invariant: the power was constant since h.at and the hour did not end, because
// Due returns both kinds of instants.
func (h *Hands) count(now protocol.Time) {
	ms := int64(now - h.at)
	h.total += tally(int64(h.draw) * ms)
	h.at = now
}

// exit stops a job and returns the message of its end. Left is the run time that remains of a paused job.
func (h *Hands) exit(now protocol.Time, j *job, left time.Duration) protocol.Message {
	return h.remember(h.mouth.Say(now, h.agent, protocol.Exited{
		Job: j.launch.Job.ID, Epoch: j.launch.Epoch, Draw: h.stop(now, j), Left: left,
	}))
}

// stop removes a job from its node and returns its energy by hour.
func (h *Hands) stop(now protocol.Time, j *job) (drew []protocol.Slice) {
	h.draw -= j.power
	m := h.nodes[j.launch.Node]
	if m.jobs--; m.jobs == 0 {
		m.sleeps = now.Add(max(m.linger, time.Second)) // at least a second later, so that Due moves forward
	}
	for t := j.start; t < now; {
		end := min(t.Floor(time.Hour).Add(time.Hour), now)
		s := j.slice(t, end)
		// Earlier hours were read already; only this hour's energy still has to be split.
		if s.Hour == h.hour {
			h.drawn += s.Energy
		}
		drew = append(drew, s)
		t = end
	}
	return drew
}

// slice returns a job's energy between two instants of the same hour, rounded down to millijoules.
func (j *job) slice(from, to protocol.Time) protocol.Slice {
	return protocol.Slice{Hour: from.Floor(time.Hour), Energy: tally(int64(j.power) * int64(to-from)).millijoules()}
}
