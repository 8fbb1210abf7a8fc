package faults

import (
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/agents/capacity"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/sim"
)

// An oracle knows what must be true. It looks at what runs in the clusters, at
// the stream and at what is said, and at nothing within the machines that decide.
//
//   - A job runs in one place at a time, and never again after it has ended.
//   - No node gives more than it has.
//   - A job that was refused does not run; one that was settled has run.
//   - Each job ends once on the stream: settled or refused.
//   - What a submitter was told is taken is on the stream.
//   - Accounts add up to zero.
//   - When faults have stopped every job ends, and its submitter hears of it.
type oracle struct {
	play      *play
	jobs      map[protocol.JobID]*fate
	has       map[string]capacity.Node
	sites     []string
	clusters  map[string]*cluster
	submitter *submitter
	over      protocol.Time // since when all jobs have ended
}

// A fate is what befell a job.
type fate struct {
	taken     bool            // its submission is on the stream
	outcome   string          // on the stream
	site      string          // where it runs
	ran       int             // runs that have ended
	seen      map[uint64]bool // epochs under which it ran
	cancelled bool
	places    []string // where it ran, in order
}

// gone is told that an operator says that a site's machines are off. What still
// runs there counts as over: if they are not, that is the operator's doing.
func (o *oracle) gone(site string) {
	for id := range o.clusters[site].runs {
		if o.jobs[id].site == site {
			o.jobs[id].site = ""
		}
	}
}

// A cluster is what one site's machines do.
type cluster struct {
	world *sim.Hands
	host  *host
	runs  map[protocol.JobID]protocol.Launch // when last seen
	// behind is set until a world that was restored from its facts has caught
	// up with the time.
	behind bool
}

func (o *oracle) expect(j protocol.Job) {
	if o.jobs == nil {
		o.jobs, o.has, o.clusters = make(map[protocol.JobID]*fate), make(map[string]capacity.Node), make(map[string]*cluster)
	}
	o.jobs[j.ID] = &fate{seen: make(map[uint64]bool)}
	o.play.sum.Jobs++
}

func (o *oracle) nodes(all []capacity.Node) {
	for _, n := range all {
		o.has[n.Name] = n
	}
}

// cluster is told of a site's machines, whenever their hands begin anew.
func (o *oracle) cluster(site string, w *sim.Hands, h *host) {
	c := o.clusters[site]
	if c == nil {
		c = &cluster{runs: make(map[protocol.JobID]protocol.Launch)}
		o.clusters[site] = c
		o.sites = append(o.sites, site)
	}
	c.world, c.host, c.behind = w, h, true
	// What was started just before a crash runs, and may end before anybody looks.
	for _, l := range w.Running() {
		if id := l.Job.ID; !o.jobs[id].seen[l.Epoch] {
			o.started(l, site)
			c.runs[id] = l
		}
	}
}

// caughtUp is told that a host has taken a step.
func (o *oracle) caughtUp(h *host) {
	if c := o.clusters[h.site]; c != nil && c.host == h && !h.down {
		c.behind = false
	}
}

// look looks at all clusters whose hands are up: those of others are not known
// to have changed.
func (o *oracle) look() {
	for _, site := range o.sites {
		c := o.clusters[site]
		if c.host.down || c.behind {
			continue
		}
		now := make(map[protocol.JobID]protocol.Launch)
		for _, l := range c.world.Running() {
			if _, twice := now[l.Job.ID]; twice {
				o.play.broken("%s runs twice at %s", l.Job.ID, site)
			}
			now[l.Job.ID] = l
		}
		for _, id := range slices.Sorted(maps.Keys(c.runs)) {
			if _, still := now[id]; !still && o.jobs[id].site == site {
				o.play.note("(%s has ended at %s)", id, site)
				o.jobs[id].site = ""
				o.jobs[id].ran++
			}
		}
		for _, id := range slices.Sorted(maps.Keys(now)) {
			if _, before := c.runs[id]; !before {
				o.started(now[id], site)
			}
		}
		c.runs = now
		o.fits(now)
	}
	o.balanced()
}

func (o *oracle) started(l protocol.Launch, site string) {
	id := l.Job.ID
	f := o.jobs[id]
	f.seen[l.Epoch] = true
	o.play.note("(%s runs at %s)", id, site)
	switch {
	case f.site != "":
		o.play.broken("%s runs at %s and at %s at once", id, f.site, site)
	case f.ran > 0:
		o.play.broken("%s has ended, and runs again at %s", id, site)
	case f.outcome != "":
		o.play.broken("%s was %s, and runs at %s", id, f.outcome, site)
	}
	f.site, f.places = site, append(f.places, site)
}

// fits adds up what a site's jobs hold of each node.
func (o *oracle) fits(runs map[protocol.JobID]protocol.Launch) {
	type use struct {
		cpu protocol.Milli
		mem protocol.MiB
		gpu [protocol.MaxGPUs]protocol.Milli
	}
	held := make(map[string]*use)
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		l := runs[id]
		n, ok := o.has[l.Node]
		if !ok || len(l.Devices) != l.Job.GPUs {
			o.play.broken("%s runs on %s, devices %v", id, l.Node, l.Devices)
			return
		}
		u := held[l.Node]
		if u == nil {
			u = &use{}
			held[l.Node] = u
		}
		u.cpu += l.Job.CPU
		u.mem += l.Job.Memory
		for _, d := range l.Devices {
			u.gpu[d] += l.Job.Share
			if d >= n.GPUs || u.gpu[d] > 1000 {
				o.play.broken("device %d of %s is given twice, to %s as well", d, l.Node, id)
			}
		}
		if u.cpu > protocol.Milli(n.CPU) || u.mem > protocol.MiB(n.Memory) {
			o.play.broken("%s gives more than it has", l.Node)
		}
	}
}

// balanced adds up the accounts of whoever leads.
func (o *oracle) balanced() {
	for _, h := range o.play.hosts {
		m, ok := h.machine.(*market.Market)
		if !ok {
			continue
		}
		sum := protocol.Microdollars(0)
		for _, a := range m.Ledger().Accounts() {
			sum += m.Ledger().Balance(a)
		}
		if sum != 0 {
			o.play.broken("the accounts of %s add up to %d", h.name, sum)
		}
	}
}

// kept is told what was written to the stream.
func (o *oracle) kept(facts []protocol.Message) {
	for _, m := range facts {
		switch b := m.Body.(type) {
		case protocol.Submit:
			o.jobs[b.Job.ID].taken = true
		case protocol.Settled:
			o.ends(b.Job, "settled")
			if f := o.jobs[b.Job]; f.ran == 0 && !f.cancelled {
				o.play.broken("%s was settled, and has not run to its end", b.Job)
			}
			o.play.sum.Ran++
		case protocol.Refuse:
			if b.Why.Code != protocol.Duplicate {
				o.ends(b.Job, "refused")
				if f := o.jobs[b.Job]; f.site != "" || f.ran > 0 {
					o.play.broken("%s was refused, and has run", b.Job)
				}
				o.play.sum.Refused++
			}
		}
	}
}

func (o *oracle) ends(id protocol.JobID, how string) {
	f := o.jobs[id]
	o.play.note("(%s is %s on the stream)", id, how)
	if f.outcome != "" {
		o.play.broken("%s was %s, and is %s", id, f.outcome, how)
	}
	f.outcome = how
}

// said is told what somebody said.
func (o *oracle) said(m protocol.Message) {
	switch b := m.Body.(type) {
	case protocol.Confirm:
		if f := o.jobs[b.Job]; f != nil && b.Code == protocol.Taken && !f.taken {
			o.play.broken("%s was said to be taken, and is not on the stream", b.Job)
		}
	case protocol.Cancel:
		o.jobs[b.Job].cancelled = true
	}
}

// settled reports whether all has been over for so long that nothing can come.
func (o *oracle) settled() bool {
	p := o.play
	if p.trouble() || o.submitter == nil || !o.submitter.over() {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(o.jobs)) {
		if o.jobs[id].outcome == "" {
			return false
		}
	}
	if o.over == 0 {
		o.over = p.now
	}
	return p.now > o.over.Add(3*time.Minute)
}

// end is when everything should be over.
func (o *oracle) end() {
	for _, id := range slices.Sorted(maps.Keys(o.jobs)) {
		if f := o.jobs[id]; f.outcome == "" {
			o.play.broken("%s never ended: on the stream %t, runs at %q, has run %d times", id, f.taken, f.site, f.ran)
			return
		} else if f.site != "" {
			o.play.broken("%s is %s, and still runs at %s", id, f.outcome, f.site)
			return
		}
	}
	if o.submitter == nil || !o.submitter.over() {
		o.play.broken("the submitter was never told how its jobs ended")
	}
}
