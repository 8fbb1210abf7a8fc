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

// A SimExecutor simulates the executor of one site: it runs the site's jobs and reads its
// meters. It is a bus.Machine.
//
// Invariant: the energy of an hour's meter equals that of its jobs plus that of its
// idle nodes, to the millijoule, and no energy is lost between hours. A job's draw in
// an hour is rounded down, the meter carries its remainder into the next hour, and
// energy that no job counts is idle energy: also what a node draws while it wakes.
type SimExecutor struct {
	sender        protocol.Sender
	dedup         protocol.Deduplicator
	agent         protocol.Party
	truePower     func(protocol.JobID, protocol.Milliwatts) protocol.Milliwatts // power that a job really draws, by its planned power
	runTime       func(protocol.Launch) time.Duration                           // how long a launch really takes; nil: as planned
	nodes         map[string]*simNode
	inOrder       []*simNode                // the nodes, in the order of the configuration
	jobs          []*runningJob             // by end, then id; some wait for their node to wake
	epochs        map[protocol.JobID]uint64 // epoch of the newest launch or cancellation of each job
	outcomes      []protocol.Message        // outcomes, oldest first, kept to answer repeated requests
	staleLaunches int                       // launches refused because their epoch is stale or their node unknown

	replicas   []*simReplica                    // of services, by service and number
	orders     map[protocol.ServiceID]uint64    // the newest RunReplicas of each service
	changes    []nodeChange                     // of nodes that go down and come back, by time
	failsAfter map[protocol.JobID]time.Duration // jobs whose program fails after so long of a run
	stopped    bool                             // the meters of the site are not read any more

	at    protocol.Time        // until when the meters have been advanced
	hour  protocol.Time        // start of the hour that is being metered
	total microjoules          // energy of the site in this hour
	drawn protocol.Millijoules // the part of total that ended jobs account for
	draw  protocol.Milliwatts  // current power of the site
}

// A microjoules is an energy in microjoules. One milliwatt for one millisecond is one
// microjoule, so the count is exact.
type microjoules int64

// toMillijoules rounds down; callers carry the remainder.
func (t microjoules) toMillijoules() protocol.Millijoules { return protocol.Millijoules(t / 1000) }

// A simNode is the physical state of a node.
type simNode struct {
	awakeDraw    protocol.Milliwatts // power of the awake node beside its jobs
	sleepingDraw protocol.Milliwatts
	host         power.Host    // when it sleeps and how it wakes
	jobs         int           // launched on it
	sleeps       protocol.Time // when it falls asleep; 0: it sleeps, is busy or never sleeps
	ready        protocol.Time // when it has woken
	awake        bool
	downs        int           // how many outages it is in; it has power in none
	why          string        // it is down; "" with power
	report       protocol.Node // as inventories have it
	topology     []protocol.Label
}

// A runningJob is one running launch.
type runningJob struct {
	launch protocol.Launch
	nodes  []*simNode    // those of its pods, each once
	start  protocol.Time // when its nodes are awake
	end    protocol.Time // start plus the launch's real run, unless cancelled or lost earlier
	power  protocol.Milliwatts
	runs   bool // it has started
	fails  bool // its program fails at end

	drew  []protocol.HourlyEnergy // before start, with more pods; of an ended one all
	fewer bool                    // it goes on with fewer pods than it was launched with
}

// NewSimExecutor returns the executor of a site, which begins at start. Truth maps a job's
// planned power to its real power; nil uses the plan.
func NewSimExecutor(site string, nodes []capacity.Node, table power.Table, start protocol.Time, truth func(protocol.JobID, protocol.Milliwatts) protocol.Milliwatts) *SimExecutor {
	h := &SimExecutor{
		sender: protocol.Sender{Party: protocol.ExecutorParty(site)}, agent: protocol.AgentParty(site), truePower: truth,
		nodes: make(map[string]*simNode), epochs: make(map[protocol.JobID]uint64), orders: make(map[protocol.ServiceID]uint64),
		at: start, hour: start.Floor(time.Hour),
	}
	for _, n := range nodes {
		gpu, _ := table.LookupModel(n.Model)
		m := &simNode{awakeDraw: n.Host.IdlePower(gpu, n.GPUs), sleepingDraw: n.Host.Asleep, host: n.Host, topology: n.Topology, report: protocol.Node{
			Name: n.Name, Model: n.Model, GPUs: n.GPUs, CPU: protocol.Milli(n.CPU), Memory: protocol.MiB(n.Memory), GPUMemory: protocol.MiB(n.GPUMemory),
		}}
		h.nodes[n.Name] = m
		h.inOrder = append(h.inOrder, m)
		h.powerUpNode(m)
	}
	return h
}

// SetRunTime sets how long each launch really takes, where that differs from its plan.
func (h *SimExecutor) SetRunTime(real func(protocol.Launch) time.Duration) { h.runTime = real }

// SetFailures sets which jobs' programs fail, each after so long of a run, unless it ends before.
func (h *SimExecutor) SetFailures(after map[protocol.JobID]time.Duration) { h.failsAfter = after }

// powerUpNode adds a node that gets power to the site's draw: it sleeps, or is awake if it never
// does.
func (h *SimExecutor) powerUpNode(m *simNode) {
	h.draw += m.sleepingDraw
	if m.host.Linger == 0 {
		h.setNodeAwake(m, true)
	}
}

// BeginIncarnation sets the incarnation number of the executor: see protocol.Sender.
func (h *SimExecutor) BeginIncarnation(life uint32) { h.sender.Incarnation = life }

// RunningLaunches returns the launches that hold GPUs now, by end. It is for observers of a replay;
// parties that decide must not use it.
func (h *SimExecutor) RunningLaunches() []protocol.Launch {
	out := make([]protocol.Launch, len(h.jobs))
	for i, j := range h.jobs {
		out[i] = j.launch
	}
	return out
}

// StopMetering ends a replay at the end of an hour: the executor does nothing from now on. No job
// may be running.
func (h *SimExecutor) StopMetering() { h.stopped = true }

// Due implements bus.Machine.
func (h *SimExecutor) Due() protocol.Time {
	due := h.hour.Add(time.Hour)
	if h.stopped {
		return 0
	}
	if t := h.nextNodeChange(); t != 0 {
		due = min(due, t)
	}
	if len(h.jobs) > 0 {
		due = min(due, h.jobs[0].end)
	}
	for _, j := range h.jobs {
		if !j.runs {
			due = min(due, j.start)
		}
	}
	for _, r := range h.replicas {
		switch {
		case !r.draws:
			due = min(due, r.start)
		case !r.runs:
			due = min(due, r.ready)
		}
	}
	for _, m := range h.inOrder {
		if t := m.sleeps; t != 0 {
			due = min(due, t)
		}
	}
	return due
}

// Tick implements bus.Machine.
func (h *SimExecutor) Tick(now protocol.Time) (said []protocol.Message) {
	h.meterUntil(now)
	for _, j := range h.jobs {
		if !j.runs && j.start <= now {
			said = append(said, h.beginRun(now, j))
		}
	}
	said = append(said, h.beginReplicas(now)...)
	for len(h.jobs) > 0 && h.jobs[0].end <= now {
		// Order matters: jobs that end now must count as ended before an outage of
		// the same instant could lose them.
		said = append(said, h.reportFinished(now, h.jobs[0], 0, false))
		h.jobs = h.jobs[1:]
	}
	for _, m := range h.inOrder {
		if m.sleeps != 0 && m.sleeps <= now {
			h.setNodeAwake(m, false)
		}
	}
	said = append(said, h.applyNodeChanges(now)...)
	if now >= h.hour.Add(time.Hour) {
		said = append(said, h.sender.NewMessage(now, h.agent, h.readSiteMeter()))
		h.hour = now.Floor(time.Hour)
	}
	return said
}

// readSiteMeter closes the current hour's meter reading and resets the counters.
func (h *SimExecutor) readSiteMeter() protocol.IdleReading {
	jobs := h.drawn
	for _, j := range h.jobs {
		if j.runs {
			jobs += j.energyBetween(max(j.start, h.hour), h.hour.Add(time.Hour)).Energy
		}
	}
	r := protocol.IdleReading{Hour: h.hour, Total: h.total.toMillijoules()}
	r.Idle = r.Total - jobs
	h.drawn, h.total = 0, h.total%1000
	return r
}

// Step implements bus.Machine.
func (h *SimExecutor) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	if m.From != h.agent || !h.dedup.AdmitOnce(m) {
		return nil
	}
	switch b := m.Body.(type) {
	case protocol.Launch:
		return h.launchJob(now, b)
	case protocol.Cancel:
		return h.cancelJob(now, b)
	case protocol.RunReplicas:
		return h.runReplicas(now, b)
	case protocol.LogRequest:
		return []protocol.Message{h.sender.NewMessage(now, h.agent, protocol.JobLog{Number: b.Number, Job: b.Job, Why: "only simulates its jobs: they write no log"})}
	}
	return nil
}

// repeatJobStatus repeats the status of a job whose launch or cancellation arrives again.
func (h *SimExecutor) repeatJobStatus(now protocol.Time, id protocol.JobID, epoch uint64) []protocol.Message {
	if j := h.indexOfJob(id); j >= 0 {
		if !h.jobs[j].runs {
			return nil // it is reported when its node is awake
		}
		return []protocol.Message{h.sender.NewMessage(now, h.agent, h.jobs[j].started())}
	}
	for _, m := range h.outcomes {
		if j, e := endedJobOf(m.Body); j == id && e == epoch {
			if x, ok := m.Body.(protocol.Finished); ok && m.At < now {
				x.Ended = m.At // the end, not the time of this answer
				m.Body = x
			}
			return []protocol.Message{h.sender.NewMessage(now, h.agent, m.Body)}
		}
	}
	h.staleLaunches++
	return nil
}

// indexOfJob returns the index of a running job, or -1.
func (h *SimExecutor) indexOfJob(id protocol.JobID) int {
	return slices.IndexFunc(h.jobs, func(j *runningJob) bool { return j.launch.Job.ID == id })
}

// cancelJob ends a job. It also records the epoch of a job that was never launched, so
// that a launch that arrives later is refused.
func (h *SimExecutor) cancelJob(now protocol.Time, c protocol.Cancel) []protocol.Message {
	i := h.indexOfJob(c.Job)
	if i < 0 && (c.Epoch <= h.epochs[c.Job] || c.Checkpoint) {
		return h.repeatJobStatus(now, c.Job, c.Epoch)
	}
	h.meterUntil(now)
	if i < 0 {
		h.epochs[c.Job] = c.Epoch
		return []protocol.Message{h.rememberOutcome(h.sender.NewMessage(now, h.agent, protocol.Finished{Job: c.Job, Epoch: c.Epoch, Stopped: true}))}
	}
	j := h.jobs[i]
	if c.Checkpoint && j.launch.Job.Pause == 0 {
		return h.repeatJobStatus(now, c.Job, c.Epoch) // the job cannot be paused, so it continues
	}
	h.jobs = slices.Delete(h.jobs, i, i+1)
	left := time.Duration(0)
	if c.Checkpoint {
		left = j.remainingPlan(now)
	}
	return []protocol.Message{h.reportFinished(now, j, left, !c.Checkpoint)}
}

// outcomeTTL is for how long an outcome can be repeated on request.
const outcomeTTL = 48 * time.Hour

// rememberOutcome stores an outcome and drops those older than outcomeTTL.
func (h *SimExecutor) rememberOutcome(m protocol.Message) protocol.Message {
	for len(h.outcomes) > 0 && h.outcomes[0].At < m.At.Add(-outcomeTTL) {
		// A newer launch of the same id has its own epoch, which must stay.
		if id, epoch := endedJobOf(h.outcomes[0].Body); h.epochs[id] == epoch {
			delete(h.epochs, id)
		}
		h.outcomes = h.outcomes[1:]
	}
	h.outcomes = append(h.outcomes, m)
	return m
}

// endedJobOf returns job and epoch of an outcome.
func endedJobOf(b protocol.Body) (protocol.JobID, uint64) {
	if x, ok := b.(protocol.Interrupted); ok {
		return x.Job, x.Epoch
	}
	x := b.(protocol.Finished)
	return x.Job, x.Epoch
}

// launchJob starts a job on its nodes, which first wake if they sleep. A known epoch is answered with the job's status;
// on a node that is down the job is lost at once.
func (h *SimExecutor) launchJob(now protocol.Time, l protocol.Launch) []protocol.Message {
	nodes := h.nodesOf(&l)
	if nodes == nil {
		h.staleLaunches++
		return nil
	}
	// Fencing: an epoch that is not newer than a known one must not start the job
	// twice.
	if l.Epoch <= h.epochs[l.Job.ID] || h.indexOfJob(l.Job.ID) >= 0 {
		if h.endedAt(now, l.Job.ID) {
			return nil // the agent asked for a job that is overdue, and this crosses the report of its end
		}
		return h.repeatJobStatus(now, l.Job.ID, l.Epoch)
	}
	if i := slices.IndexFunc(nodes, (*simNode).isDown); i >= 0 {
		return []protocol.Message{h.reportInterrupted(now, l.Job.ID, l.Epoch, nodes[i].why, nil)}
	}
	h.meterUntil(now)
	h.epochs[l.Job.ID] = l.Epoch
	start := now
	for _, n := range nodes {
		start = max(start, h.occupyNode(now, n))
	}
	h.wakeNodes(now, l.Wake)
	j := &runningJob{launch: l, nodes: nodes, start: start, end: start.Add(l.Run), power: l.Power}
	if h.runTime != nil {
		j.end = start.Add(h.runTime(l))
	}
	if after, fails := h.failsAfter[l.Job.ID]; fails && start.Add(after) < j.end {
		j.end, j.fails = start.Add(after), true
	}
	if h.truePower != nil {
		j.power = h.truePower(l.Job.ID, l.Power)
	}
	at, _ := slices.BinarySearchFunc(h.jobs, j, compareJobs)
	h.jobs = slices.Insert(h.jobs, at, j)
	if start > now {
		return nil // it starts when its node is awake
	}
	return []protocol.Message{h.beginRun(now, j)}
}

// compareJobs orders jobs by end, then id.
func compareJobs(x, y *runningJob) int {
	return cmp.Or(cmp.Compare(x.end, y.end), strings.Compare(string(x.launch.Job.ID), string(y.launch.Job.ID)))
}

// occupyNode puts a job or a replica on a node, and returns when the node is awake.
func (h *SimExecutor) occupyNode(now protocol.Time, n *simNode) protocol.Time {
	if !n.awake {
		n.ready = now.Add(n.host.WakeTime)
		h.setNodeAwake(n, true)
	}
	n.jobs, n.sleeps = n.jobs+1, 0
	return n.ready
}

// wakeNodes wakes nodes for jobs to come. Each falls asleep when it has woken and lingered without one; one that
// is awake without a job lingers anew.
func (h *SimExecutor) wakeNodes(now protocol.Time, names []string) {
	for _, name := range names {
		n := h.nodes[name]
		if n == nil || n.jobs > 0 || n.isDown() {
			continue
		}
		if !n.awake {
			n.ready = now.Add(n.host.WakeTime)
			h.setNodeAwake(n, true)
		}
		n.sleeps = max(n.ready, now).Add(max(n.host.Linger, time.Second))
	}
}

// nodesOf returns the nodes of a launch, each once; nil if one is unknown.
func (h *SimExecutor) nodesOf(l *protocol.Launch) (nodes []*simNode) {
	for _, p := range l.PlacesOf() {
		n := h.nodes[p.Node]
		if n == nil {
			return nil
		}
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// isDown reports whether m has no power.
func (m *simNode) isDown() bool { return m.downs > 0 }

// beginRun starts a job whose nodes are awake.
func (h *SimExecutor) beginRun(now protocol.Time, j *runningJob) protocol.Message {
	j.runs = true
	h.draw += j.power
	return h.sender.NewMessage(now, h.agent, j.started())
}

// remainingPlan returns the part of the planned run that remains at now: what a checkpoint holds is
// a share of the work, whose real length nobody knows.
func (j *runningJob) remainingPlan(now protocol.Time) time.Duration {
	long := j.end.Sub(j.start)
	left := min(j.end.Sub(now), long) // its node may still wake
	if long == j.launch.Run {
		return left
	}
	return time.Duration(float64(left) / float64(long) * float64(j.launch.Run)).Round(time.Millisecond)
}

// endedAt reports whether the end of a job was reported at now.
func (h *SimExecutor) endedAt(now protocol.Time, id protocol.JobID) bool {
	for _, m := range slices.Backward(h.outcomes) {
		if m.At != now {
			return false
		}
		if ended, _ := endedJobOf(m.Body); ended == id {
			return true
		}
	}
	return false
}

// setNodeAwake puts a node into or out of sleep and adjusts the site's power.
func (h *SimExecutor) setNodeAwake(m *simNode, on bool) {
	more := m.awakeDraw - m.sleepingDraw
	if !on {
		more = -more
	}
	m.awake, m.sleeps = on, 0
	h.draw += more
}

// meterUntil advances the meters to now. Invariant: the power was constant since h.at and
// the hour did not end, because Due returns both kinds of instants.
func (h *SimExecutor) meterUntil(now protocol.Time) {
	ms := int64(now - h.at)
	h.total += microjoules(int64(h.draw) * ms)
	h.at = now
}

// reportFinished stops a job and returns the message of its end. Left is the run time that
// remains of a paused job.
func (h *SimExecutor) reportFinished(now protocol.Time, j *runningJob, left time.Duration, stopped bool) protocol.Message {
	failed := ""
	if j.fails && now >= j.end {
		failed = "exit code 1"
	}
	return h.rememberOutcome(h.sender.NewMessage(now, h.agent, protocol.Finished{
		Job: j.launch.Job.ID, Epoch: j.launch.Epoch, Draw: h.stopJob(now, j), Left: left, Failed: failed, Stopped: stopped,
	}))
}

// stopJob removes a job from its node and returns its energy by hour.
func (h *SimExecutor) stopJob(now protocol.Time, j *runningJob) []protocol.HourlyEnergy {
	if j.runs {
		h.draw -= j.power
	}
	for _, m := range j.nodes {
		m.release(now)
	}
	h.closeDraw(now, j)
	return j.drew
}

// closeDraw adds a job's energy since its start to what it drew. It counts as that of an ended job from now on.
func (h *SimExecutor) closeDraw(now protocol.Time, j *runningJob) {
	for t := j.start; t < now; {
		end := min(t.Floor(time.Hour).Add(time.Hour), now)
		s := j.energyBetween(t, end)
		// Earlier hours were read already; only this hour's energy still has to be split.
		if s.Hour == h.hour {
			h.drawn += s.Energy
		}
		if n := len(j.drew); n > 0 && j.drew[n-1].Hour == s.Hour {
			j.drew[n-1].Energy += s.Energy
		} else {
			j.drew = append(j.drew, s)
		}
		t = end
	}
}

// release takes a job or a replica from a node, which may fall asleep then.
func (m *simNode) release(now protocol.Time) {
	if m.jobs--; m.jobs == 0 && m.host.Linger > 0 {
		m.sleeps = now.Add(max(m.host.Linger, time.Second)) // at least a second later, so that Due moves forward
	}
}

// energyBetween returns a job's energy between two instants of the same hour, rounded down to
// millijoules.
func (j *runningJob) energyBetween(from, to protocol.Time) protocol.HourlyEnergy {
	return protocol.HourlyEnergy{Hour: from.Floor(time.Hour), Energy: microjoules(int64(j.power) * int64(to-from)).toMillijoules()}
}
