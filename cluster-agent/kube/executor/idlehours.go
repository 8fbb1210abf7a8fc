package executor

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// idleReportDelay is how long after the end of an hour its energy is reported: the
// daemons of the nodes write what they measured once a minute, so after two minutes
// the hour's last sample is there.
const idleReportDelay = 2 * time.Minute

// reportIdleHours sends an IdleReading for each hour that this process saw from
// beginning to end, idleReportDelay after that hour, until ctx ends. The hour in which
// it started is left out: it was not seen as a whole.
func (h *KubeExecutor) reportIdleHours(ctx context.Context) {
	hour := h.cfg.Now().Add(time.Hour - 1).Floor(time.Hour)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(0, hour.Add(time.Hour+idleReportDelay).Sub(h.cfg.Now()))):
		}
		h.sendToAgent(h.idleReadingForHour(ctx, hour))
		hour = hour.Add(time.Hour)
	}
}

// idleReadingForHour returns the site's energy in one hour, by the site's own meter or
// by the power model, and the part of it that no job drew. Invariant: what a run drew
// in an hour that was reported is never changed afterwards. Corrections are added to a
// later hour, so the hours of all reports add up to the runs' final energies.
func (h *KubeExecutor) idleReadingForHour(ctx context.Context, hour protocol.Time) protocol.IdleReading {
	end := hour.Add(time.Hour)
	// Runs that drew energy by the end of the hour.
	h.mu.Lock()
	var running, replicas []*run
	for _, r := range h.runs {
		switch {
		case r.startedAt == 0 || r.startedAt >= end:
		case r.isReplica():
			replicas = append(replicas, r)
		default:
			running = append(running, r)
		}
	}
	h.mu.Unlock()
	x := protocol.IdleReading{Hour: hour}
	for _, r := range running {
		draw, estimated := h.energyOfRun(r, r.startedAt, end)
		x.Estimated = x.Estimated || estimated
		h.fixReportedEnergy(r, hour, draw)
	}
	// What jobs drew in this hour: those that ended, and those that still run.
	h.mu.Lock()
	jobs := h.endedEnergy[hour]
	for _, r := range running {
		if !r.energyReported { // otherwise its energy is in h.endedEnergy already
			jobs += r.reportedEnergy[hour]
		}
	}
	if h.lastReportedHour == 0 {
		h.firstReportedHour = hour
	}
	h.lastReportedHour = hour
	// Hours up to this one are reported: nothing is added to them any more.
	for at := range h.endedEnergy {
		if at <= hour {
			delete(h.endedEnergy, at)
		}
	}
	h.mu.Unlock()
	total, err := h.meteredSiteEnergy(ctx, hour)
	if err != nil {
		if h.cfg.Hour != nil {
			h.cfg.Log.Warn("the site's meter could not be read; using the power model for this hour", "hour", hour, "error", err)
		}
		total, x.Estimated = jobs+h.modelledIdleEnergy(), true
		for _, r := range replicas { // which have no bill: their draw is the site's
			draw, _ := h.energyOfRun(r, max(r.startedAt, hour), end)
			for _, s := range draw {
				if s.Hour == hour {
					total += s.Energy
				}
			}
		}
	}
	if total < jobs { // the meters disagree; jobs are settled by their own meters, so those win
		h.cfg.Log.Warn("the site's meter shows less energy than its jobs drew; using the jobs' sum", "hour", hour, "site_mj", total, "jobs_mj", jobs)
		total, x.Estimated = jobs, true
	}
	x.Total, x.Idle = total, total-jobs
	return x
}

// meteredSiteEnergy reads the site's own meter for one hour, within 20 seconds. It fails
// if the configuration names none.
func (h *KubeExecutor) meteredSiteEnergy(ctx context.Context, hour protocol.Time) (protocol.Millijoules, error) {
	if h.cfg.Hour == nil {
		return 0, context.Canceled
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return h.cfg.Hour(ctx, hour)
}

// modelledIdleEnergy returns what all nodes of the site would draw in an hour without
// load, by the power model.
func (h *KubeExecutor) modelledIdleEnergy() (sum protocol.Millijoules) {
	for _, o := range h.inv.NodeCache.List() {
		n := o.(*corev1.Node)
		if !h.inv.SiteUsesNode(n) {
			continue
		}
		m := h.inv.DescribeNode(n)
		g, _ := h.cfg.Power.LookupModel(m.Model)
		sum += protocol.Millijoules(power.DefaultHost(m.GPUs).IdlePower(g, m.GPUs)) * 3600 // mW times seconds
	}
	return sum
}

// fixReportedEnergy records what a run drew in an hour that is about to be reported.
// The first record of an hour stays.
func (h *KubeExecutor) fixReportedEnergy(r *run, hour protocol.Time, draw []protocol.HourlyEnergy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, reported := r.reportedEnergy[hour]; reported {
		return
	}
	if r.reportedEnergy == nil {
		r.reportedEnergy = make(map[protocol.Time]protocol.Millijoules)
	}
	r.reportedEnergy[hour] = 0
	for _, s := range draw {
		if s.Hour == hour {
			r.reportedEnergy[hour] += s.Energy
		}
	}
}

// finalEnergy returns the energy of a run that has ended, by hour, for its final
// report. Hours that were reported keep their reported value. The difference to what
// is known by now goes into the run's last hour that is not reported yet, or into the
// current one. Hours before firstReportedHour were reported by an earlier process, if
// at all, so they are left unchanged.
func (h *KubeExecutor) finalEnergy(r *run, draw []protocol.HourlyEnergy) (out []protocol.HourlyEnergy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.energyReported = true
	var correction protocol.Millijoules // learned after its hour was reported; may be negative
	// Reported hours keep their value; the difference is carried over.
	for _, s := range draw {
		if reported, ok := r.reportedEnergy[s.Hour]; ok {
			correction += s.Energy - reported
			s.Energy = reported
		} else if s.Hour >= h.firstReportedHour && s.Hour <= h.lastReportedHour { // the hour was reported without this run
			correction += s.Energy
			continue
		}
		out = append(out, s)
	}
	if correction != 0 {
		n := len(out)
		if n == 0 || out[n-1].Hour <= h.lastReportedHour {
			out = append(out, protocol.HourlyEnergy{Hour: max(h.cfg.Now().Floor(time.Hour), h.lastReportedHour.Add(time.Hour))})
			n++
		}
		out[n-1].Energy = max(0, out[n-1].Energy+correction)
	}
	if h.endedEnergy == nil {
		h.endedEnergy = make(map[protocol.Time]protocol.Millijoules)
	}
	// Hours to come count this run's energy when they are reported.
	for _, s := range out {
		if s.Hour > h.lastReportedHour {
			h.endedEnergy[s.Hour] += s.Energy
		}
	}
	return out
}
