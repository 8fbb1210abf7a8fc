package executor

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/protocol"
)

// idleReportDelay is how long after an hour it is told: machines write what they measured
// once a minute.
const idleReportDelay = 2 * time.Minute

// reportIdleHours tells what the site drew in each hour that these hands saw as a
// whole, some time after it.
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

// idleReadingForHour is what the site drew in one: by its own meter, or by the power model. What
// jobs did not draw is idle. What a run drew in an hour that was told stays so:
// what is learned later is counted in a later hour, and sums agree.
func (h *KubeExecutor) idleReadingForHour(ctx context.Context, hour protocol.Time) protocol.IdleReading {
	end := hour.Add(time.Hour)
	h.mu.Lock()
	var running []*run
	for _, r := range h.runs {
		if r.since != 0 && r.since < end {
			running = append(running, r)
		}
	}
	h.mu.Unlock()
	x := protocol.IdleReading{Hour: hour}
	for _, r := range running {
		draw, estimated := h.energyOfRun(r, r.since, end)
		x.Estimated = x.Estimated || estimated
		h.fixReportedEnergy(r, hour, draw)
	}
	h.mu.Lock()
	jobs := h.spent[hour]
	for _, r := range running {
		if !r.spent { // or it is in h.spent
			jobs += r.fixed[hour]
		}
	}
	if h.reportedHour == 0 {
		h.firstHour = hour
	}
	h.reportedHour = hour
	for at := range h.spent {
		if at <= hour {
			delete(h.spent, at)
		}
	}
	h.mu.Unlock()
	total, err := h.meteredSiteEnergy(ctx, hour)
	if err != nil {
		if h.cfg.Hour != nil {
			h.cfg.Log.Warn("the site's meter was not read; the power model counts", "hour", hour, "error", err)
		}
		total, x.Estimated = jobs+h.modelledIdleEnergy(), true
	}
	if total < jobs { // meters disagree; the jobs' are what is settled
		h.cfg.Log.Warn("the site's meter tells less than its jobs drew", "hour", hour, "site_mj", total, "jobs_mj", jobs)
		total, x.Estimated = jobs, true
	}
	x.Total, x.Idle = total, total-jobs
	return x
}

func (h *KubeExecutor) meteredSiteEnergy(ctx context.Context, hour protocol.Time) (protocol.Millijoules, error) {
	if h.cfg.Hour == nil {
		return 0, context.Canceled
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return h.cfg.Hour(ctx, hour)
}

// modelledIdleEnergy is what all nodes of the site draw in an hour without work, by the
// power model.
func (h *KubeExecutor) modelledIdleEnergy() (sum protocol.Millijoules) {
	for _, o := range h.inv.NodeCache.List() {
		n := o.(*corev1.Node)
		if !h.inv.UsesNode(n) {
			continue
		}
		m := h.inv.DescribeNode(n)
		g, _ := h.cfg.Power.LookupModel(m.Model)
		sum += protocol.Millijoules(power.DefaultHost(m.GPUs).IdlePower(g, m.GPUs)) * 3600
	}
	return sum
}

// fixReportedEnergy notes what a run drew in an hour that is told now.
func (h *KubeExecutor) fixReportedEnergy(r *run, hour protocol.Time, draw []protocol.HourlyEnergy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, told := r.fixed[hour]; told {
		return
	}
	if r.fixed == nil {
		r.fixed = make(map[protocol.Time]protocol.Millijoules)
	}
	r.fixed[hour] = 0
	for _, s := range draw {
		if s.Hour == hour {
			r.fixed[hour] += s.Energy
		}
	}
}

// finalEnergy is the last word on what a run drew: as told in hours that were, and the
// rest in the others, or in this one. Hours before the first that these hands told
// were told by those before them, if at all: they stay as they are.
func (h *KubeExecutor) finalEnergy(r *run, draw []protocol.HourlyEnergy) (out []protocol.HourlyEnergy) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.spent = true
	var late protocol.Millijoules // learned after its hour was told; may be below zero
	for _, s := range draw {
		if told, ok := r.fixed[s.Hour]; ok {
			late += s.Energy - told
			s.Energy = told
		} else if s.Hour >= h.firstHour && s.Hour <= h.reportedHour { // it was not known to run then
			late += s.Energy
			continue
		}
		out = append(out, s)
	}
	if late != 0 {
		n := len(out)
		if n == 0 || out[n-1].Hour <= h.reportedHour {
			out = append(out, protocol.HourlyEnergy{Hour: max(h.cfg.Now().Floor(time.Hour), h.reportedHour.Add(time.Hour))})
			n++
		}
		out[n-1].Energy = max(0, out[n-1].Energy+late)
	}
	if h.spent == nil {
		h.spent = make(map[protocol.Time]protocol.Millijoules)
	}
	for _, s := range out {
		if s.Hour > h.reportedHour {
			h.spent[s.Hour] += s.Energy
		}
	}
	return out
}
