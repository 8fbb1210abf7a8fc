package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/telemetry"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/protocol"
)

// usualHeartbeat is how often agents send heartbeats; each says so itself. checkInterval is how
// often the sites are looked at.
const (
	usualHeartbeat = 2 * time.Second
	checkInterval  = time.Second
)

// ReceiveFromSite takes in a message that the coordinator received, and reports whether it is a heartbeat
// or what a job wrote, which are not for the market. It is bus.Loop.Intercept.
func (d *Server) ReceiveFromSite(now protocol.Time, m protocol.Message) (taken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b, ok := m.Body.(protocol.JobLog); ok {
		d.collectLog(m.From, b)
	}
	return d.monitor.Receive(now, m) || m.IsOffRecord()
}

// WatchSites has the market store when a site becomes silent and when it is back, ends drains
// whose time is over, and logs every change of a site's state, until ctx ends. It is called once in
// each term. A change that could not be stored is found once more by the next leader. suspects
// returns the sites that the market does not wait for, and since when; it is called between two
// steps of the market, which is told when one of them is heard.
func (d *Server) WatchSites(ctx context.Context, incarnation uint32, suspects func() map[string]protocol.Time, log *slog.Logger) {
	monitor := protocol.Sender{Party: protocol.SiteMonitor, Incarnation: incarnation}
	logged := make(map[string]jobstatus.Condition)
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// On the goroutine of the loop, where heartbeats are taken in: a loop that was busy is
		// taken for a coordinator that did not run.
		var changes []protocol.SiteCondition
		err := d.runOnLoop(ctx, bus.LocalRequest{Inspect: func(now protocol.Time) {
			d.mu.Lock()
			defer d.mu.Unlock()
			changes = d.monitor.Changes(now, suspects())
		}})
		for _, c := range changes {
			if err == nil {
				err = d.runOnLoop(ctx, bus.LocalRequest{Deliver: func(now protocol.Time) protocol.Message {
					return monitor.NewMessage(now, protocol.Coordinator, c)
				}})
			}
		}
		sites := d.siteStates()
		if err == nil {
			err = d.endDrains(ctx, sites)
		}
		if err != nil {
			return // the term is over
		}
		logConditions(sites, logged, log)
	}
}

// siteStates returns all sites without what jobs take of them.
func (d *Server) siteStates() []jobstatus.Site {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.status.SiteStates(d.clock.Now())
}

// endDrains ends the drains whose time is over.
func (d *Server) endDrains(ctx context.Context, sites []jobstatus.Site) error {
	for _, s := range sites {
		if s.Drained && s.DrainedUntil != 0 && s.DrainedUntil <= d.now() {
			b := protocol.Drain{Site: s.Name, Over: true, Why: "its time is over"}
			if err := d.submitMessage(ctx, func(protocol.Time) protocol.Body { return b }); err != nil {
				return err
			}
		}
	}
	return nil
}

// logConditions logs each site whose state is another than in logged.
func logConditions(sites []jobstatus.Site, logged map[string]jobstatus.Condition, log *slog.Logger) {
	for _, s := range sites {
		was, known := logged[s.Name]
		if logged[s.Name] = s.Condition; was.State == s.State {
			continue
		}
		args := []any{"site", s.Name, "since", s.Since.String(), "reason", string(s.Why), "note", s.Note}
		if s.By != "" {
			args = append(args, "by", s.By)
		}
		switch {
		case s.State == protocol.SiteOK && known:
			log.Info("site is ok again", "site", s.Name, "since", s.Since.String(), "was", string(was.State))
		case s.State == protocol.SiteOK: // as it should be
		case s.State == protocol.SiteSilent || s.State == protocol.SignalsStale:
			log.Warn("site is "+string(s.State), args...)
		default:
			log.Info("site is "+string(s.State), args...)
		}
	}
}

// now returns the time by the coordinator's clock.
func (d *Server) now() protocol.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clock.Now()
}

// listSites returns all sites as they stand now, and when each was heard last: heartbeats count.
// What this coordinator has not heard itself is not known: the events from which a term begins have
// the registration of a site, and not its last sign of life.
func (d *Server) listSites() (all []jobstatus.Site) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all = d.status.AllSites(d.clock.Now())
	for i := range all {
		all[i].LastMessage = d.monitor.LastSeen(all[i].Name)
	}
	return all
}

// SiteStatuses returns whether this coordinator leads, and its sites for the metrics.
func (d *Server) SiteStatuses() (leads bool, out []telemetry.SiteStatus) {
	if !d.IsLeading() {
		return false, nil
	}
	now := d.now()
	for _, s := range d.listSites() {
		x := telemetry.SiteStatus{
			Site: s.Name, State: string(s.State), Up: s.State != protocol.SiteSilent && s.State != protocol.SiteRevoked && s.State != protocol.SiteRemoved, LastSeenAge: -1,
			GPUs: float64(s.GPUs), Held: s.Held, Free: s.Free, Running: s.Running, Planned: s.Planned,
			Price: s.Price, Carbon: s.Carbon, GridKnown: s.PUE > 0,
			Power: s.Draw, JobsPower: s.DrawOfJobs, PowerKnown: s.Metered != 0, Cap: s.PowerCap,
		}
		if s.LastMessage != 0 {
			x.LastSeenAge = max(0, now.Sub(s.LastMessage).Seconds())
		}
		out = append(out, x)
	}
	return true, out
}

// SiteStateNames returns the states of a site, for the metrics.
func SiteStateNames() (all []string) {
	for _, s := range protocol.AllSiteStates() {
		all = append(all, string(s))
	}
	return all
}
