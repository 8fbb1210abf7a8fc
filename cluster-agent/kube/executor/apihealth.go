package executor

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"

	"github.com/gridbid/gridbid/protocol"
)

// silenceThreshold is how long an API server may be silent before the site takes nothing new.
const silenceThreshold = 5 * time.Second

// watchAPIHealth asks the API server every second whether it is there. While it is
// silent, all nodes are told as closed. When it has been silent for as long as the
// configuration has patience, what runs there is given up. One that does not let us
// in, since our credentials have expired, is there, and so is what runs there.
func (h *KubeExecutor) watchAPIHealth(ctx context.Context) {
	silent, gone, last := time.Duration(0), time.Duration(0), h.cfg.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		now := h.cfg.Now()
		silent, gone = addSilence(silent, now.Sub(last)), addSilence(gone, now.Sub(last))
		last = now
		err := h.probeAPIServer(ctx)
		if err == nil {
			silent = 0
		}
		if apiServerResponded(err) {
			gone = 0
		}
		h.mu.Lock()
		was := h.silent
		h.silent = silent >= silenceThreshold
		changed := was != h.silent
		h.mu.Unlock()
		if changed {
			h.cfg.Log.Warn("the API server went silent, or answers again", "silent", silent >= silenceThreshold, "error", err)
			h.signalInventoryChange()
		}
		if h.cfg.AbandonAfter > 0 && gone >= h.cfg.AbandonAfter {
			h.abandonAllRuns(gone)
		}
	}
}

// addSilence is for how long nobody has answered, who did not for a time and does not after
// another. Time in which we did not listen, since our machine was stopped or its clock
// was set, is nobody's silence.
func addSilence(silent, more time.Duration) time.Duration {
	return silent + min(max(more, 0), silenceThreshold)
}

// probeAPIServer asks the API server whether it is there, and can be used.
func (h *KubeExecutor) probeAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	d, ok := h.cfg.Client.Discovery().(*discovery.DiscoveryClient)
	if !ok {
		return nil
	}
	return d.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// apiServerResponded reports whether an API server is there that was asked, ready for us or not.
func apiServerResponded(err error) bool {
	return err == nil || apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)
}

// abandonAllRuns gives up all runs of a cluster that does not answer. They are taken
// down when it answers again. What they drew until now is said; no meter is asked for
// that, which would be silent, too.
func (h *KubeExecutor) abandonAllRuns(silent time.Duration) {
	h.mu.Lock()
	var given []*run
	for _, r := range h.runs {
		if !r.interruptedReported.Swap(true) {
			given = append(given, r)
		}
	}
	h.mu.Unlock()
	why := protocol.Reason{Code: protocol.NodeLost, Note: fmt.Sprintf("the cluster's API server has been silent for %v", silent.Round(time.Second))}
	for _, r := range given {
		h.terminateRun(r, why.Code, why.Note)
		x := protocol.Interrupted{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Why: why}
		h.mu.Lock()
		since := r.since
		h.mu.Unlock()
		if since != 0 {
			x.Draw, x.Estimated = h.talliedEnergyOfRun(r, since, h.cfg.Now())
			x.Draw = h.finalEnergy(r, x.Draw)
		}
		h.reportOutcome(x.Job, x.Epoch, x)
		h.queue.Add(r.name)
	}
}
