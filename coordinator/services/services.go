package services

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// Config holds what may be set. A zero field means its default.
type Config struct {
	Gather    time.Duration // between a change and the call for capacity; default 1s
	Window    time.Duration // for bids, at most; default 2s
	Check     time.Duration // between two looks at replicas that wait or find no node; default 2m, as ACK One
	Stuck     time.Duration // for how long a replica finds no node until it may go elsewhere; default 30s, as ACK One
	Tolerance time.Duration // for how long a site is silent until its replicas are divided among others; default 5m, as Karmada
	Weights   protocol.Weights
}

// withDefaults replaces zero fields by their defaults.
func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&c.Gather, time.Second)
	def(&c.Window, 2*time.Second)
	def(&c.Check, 2*time.Minute)
	def(&c.Stuck, 30*time.Second)
	def(&c.Tolerance, 5*time.Minute)
	return c
}

// maxServices bounds the services of a federation.
const maxServices = 10_000

// A Site is what the market knows of a registered site.
type Site struct {
	Name     string
	Pools    []protocol.Pool
	Location protocol.Location
	Draining bool
	Suspect  bool // it is not waited for
}

// An Output is a message to send. An event must be durable before it is sent.
type Output struct {
	To    protocol.Party
	Body  protocol.Body
	Event bool
}

// Services are all services of a federation. It is not safe for concurrent use.
type Services struct {
	cfg      Config
	all      map[protocol.ServiceID]*service
	sorted   []*service // see inOrder; nil: to be sorted
	order    int        // services submitted so far
	revision uint64     // of the newest AssignReplicas
	call     *call      // open; nil: none
	resend   resend
	silent   map[string]protocol.Time // since when sites are silent; until they are back
	ticked   protocol.Time            // the last Tick
	restored bool                     // events were restored, and no step was taken since
	counts   map[string]int           // of what was refused, by reason
	out      []Output                 // of the current step

	quotaRoom func(now protocol.Time) QuotaRoom // see LimitBy; nil: no quotas are kept
}

// A service is one service and what its sites were told.
type service struct {
	spec       protocol.Service
	order      int
	deleted    bool
	decision   uint64
	target     map[string]int        // by the newest decision
	wish       map[string]assignment // what each site was told last; above its target while replicas move away
	status     map[string]protocol.ReplicaStatus
	meters     map[string]siteMeter // by site
	pending    int
	lack       protocol.Reason
	overQuota  int             // of pending: see quota.go
	overBudget protocol.Reason // why these wait, if it is for a budget
	barred     []string        // sites where no replica may start, when it was divided last: see constraints.go

	due       protocol.Time // of the next call; 0: none
	cause     protocol.Code // of what it is for; "": to look whether anything has changed
	rebalance bool
	preview   bool // say what a rebalance would do
}

// An assignment is a number of replicas that a site was told to hold.
type assignment struct {
	revision uint64
	count    int
	spec     protocol.Service // as the site was told
}

// New returns no services. Refusals are counted in counts, by reason.
func New(cfg Config, counts map[string]int) *Services {
	return &Services{cfg: cfg.withDefaults(), all: make(map[protocol.ServiceID]*service), silent: make(map[string]protocol.Time), counts: counts}
}

// IsEmpty reports whether there is no service, and none that a site still has to remove.
func (k *Services) IsEmpty() bool { return len(k.all) == 0 }

// Due returns when the next Tick is needed; 0: never.
func (k *Services) Due() (due protocol.Time) {
	sooner := func(t protocol.Time) {
		if t != 0 && (due == 0 || t < due) {
			due = t
		}
	}
	if len(k.all) == 0 {
		return 0
	}
	if k.restored {
		return 1
	}
	sooner(k.resend.due)
	if k.call != nil {
		sooner(k.call.closes)
		return due
	}
	for _, s := range k.inOrder() {
		sooner(s.due)
	}
	for _, name := range slices.Sorted(maps.Keys(k.silent)) {
		if at := k.silent[name].Add(k.cfg.Tolerance); at > k.ticked && k.anyAt(name) {
			sooner(at)
		}
	}
	return due
}

// inOrder returns the services in the order in which they are divided: by priority, then as they came.
func (k *Services) inOrder() []*service {
	if k.sorted != nil {
		return k.sorted
	}
	all := make([]*service, 0, len(k.all))
	for _, id := range slices.Sorted(maps.Keys(k.all)) {
		all = append(all, k.all[id])
	}
	k.sorted = all
	slices.SortFunc(all, func(x, y *service) int {
		return cmp.Or(cmp.Compare(y.spec.Priority, x.spec.Priority), cmp.Compare(x.order, y.order))
	})
	return all
}

// anyAt reports whether any service is to have replicas at a site.
func (k *Services) anyAt(site string) bool {
	return slices.ContainsFunc(k.inOrder(), func(s *service) bool { return s.target[site] > 0 })
}

// callFor has a service divided soon, for a cause.
func (k *Services) callFor(now protocol.Time, s *service, cause protocol.Code) {
	if due := now.Add(k.cfg.Gather); s.due == 0 || due < s.due {
		s.due = due
	}
	if cause != "" {
		s.cause = cause
	}
}

// RoomAppeared has services divided whose replicas wait: capacity may have become free.
func (k *Services) RoomAppeared(now protocol.Time) {
	for _, s := range k.inOrder() {
		if s.pending > 0 {
			k.callFor(now, s, "")
		}
	}
}

// send adds a message to the output of the step.
func (k *Services) send(to protocol.Party, b protocol.Body, event bool) {
	k.out = append(k.out, Output{to, b, event})
}

// takeOutput returns the messages of the step.
func (k *Services) takeOutput() []Output {
	out := k.out
	k.out = nil
	return out
}

// Tick calls for capacity, closes the call and repeats what was not acknowledged.
func (k *Services) Tick(now protocol.Time, sites []Site) []Output {
	k.ticked = now
	if k.restored {
		k.resumeAfterRestart(now)
	}
	if k.call != nil && k.call.closes <= now {
		k.closeCall(now, sites)
	}
	k.divideSilentSites(now)
	if k.call == nil {
		k.openCall(now, sites)
	}
	k.repeatAssignments(now, sites)
	return k.takeOutput()
}

// resumeAfterRestart has every service looked at: what sites acknowledged is not known.
func (k *Services) resumeAfterRestart(now protocol.Time) {
	k.restored = false
	for _, s := range k.inOrder() {
		if !s.deleted {
			k.callFor(now, s, "")
		}
	}
	k.resend = resend{due: now}
}

// ClockSetBack has all that waits due soon: its times follow another clock.
func (k *Services) ClockSetBack(now protocol.Time) {
	k.call, k.ticked = nil, 0
	for _, name := range slices.Sorted(maps.Keys(k.silent)) {
		k.silent[name] = min(k.silent[name], now)
	}
	k.restored = len(k.all) > 0
	for _, s := range k.inOrder() {
		s.due = 0
	}
}

// divideSilentSites has the replicas of sites that were silent for too long divided among others.
func (k *Services) divideSilentSites(now protocol.Time) {
	for _, name := range slices.Sorted(maps.Keys(k.silent)) {
		if now >= k.silent[name].Add(k.cfg.Tolerance) {
			k.leaveSite(now, name)
		}
	}
}

// leaveSite has the services that have replicas at a site divided anew.
func (k *Services) leaveSite(now protocol.Time, site string) {
	for _, s := range k.inOrder() {
		if s.target[site] > 0 && s.cause != protocol.SiteLost {
			k.callFor(now, s, protocol.SiteLost)
		}
	}
}

// isLost reports whether a site is silent for longer than is tolerated.
func (k *Services) isLost(now protocol.Time, site string) bool {
	since, silent := k.silent[site]
	return silent && now >= since.Add(k.cfg.Tolerance)
}
