package executor

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"

	"github.com/gridbid/gridbid/protocol"
)

// silenceThreshold is for how long the API server may fail to answer before the site
// closes its nodes to new jobs. It also bounds what one interval may add to the time
// of silence: see addSilence.
const silenceThreshold = 5 * time.Second

// watchAPIHealth probes the API server every second until ctx ends. After
// silenceThreshold without an answer all nodes are reported as closed, so that the
// market awards nothing that could not be started. After AbandonAfter (if set) all
// runs are given up as lost.
//
// An API server that rejects our credentials (401, 403) closes the nodes, too, but is
// never given up: it is alive, and so are the pods.
func (h *KubeExecutor) watchAPIHealth(ctx context.Context) {
	unusable, unreachable, last := time.Duration(0), time.Duration(0), h.cfg.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		now := h.cfg.Now()
		unusable, unreachable = addSilence(unusable, now.Sub(last)), addSilence(unreachable, now.Sub(last))
		last = now
		err := h.probeAPIServer(ctx)
		if err == nil {
			unusable = 0
		}
		if apiServerResponded(err) {
			unreachable = 0
		}
		h.mu.Lock()
		was := h.apiSilent
		h.apiSilent = unusable >= silenceThreshold
		changed := was != h.apiSilent
		h.mu.Unlock()
		if changed {
			h.cfg.Log.Warn("the API server stopped answering, or answers again", "silent", unusable >= silenceThreshold, "error", err)
			h.signalInventoryChange()
		}
		if h.cfg.AbandonAfter > 0 && unreachable >= h.cfg.AbandonAfter {
			h.abandonAllRuns(unreachable)
		}
	}
}

// addSilence returns the time of silence after one more probe interval without an
// answer. An interval counts for at most silenceThreshold: if this process was
// suspended or the clock was set, we did not probe during that time, and it must not
// lead to runs being given up.
func addSilence(silent, more time.Duration) time.Duration {
	return silent + min(max(more, 0), silenceThreshold)
}

// probeAPIServer asks the API server's /readyz within two seconds. With a fake client,
// which has no REST client, it always succeeds.
func (h *KubeExecutor) probeAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	d, ok := h.cfg.Client.Discovery().(*discovery.DiscoveryClient)
	if !ok {
		return nil
	}
	return d.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// apiServerResponded reports whether a probe reached a live API server, even one that
// refused our credentials.
func apiServerResponded(err error) bool {
	return err == nil || apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)
}

// abandonAllRuns reports all runs as interrupted after the API server has been
// unreachable for a time. Their objects are deleted once it answers again. The energy
// until now is taken from the tallies read so far: a meter behind the same API server
// or network would not answer either.
func (h *KubeExecutor) abandonAllRuns(silent time.Duration) {
	h.mu.Lock()
	var abandoned []*run
	for _, r := range h.runs {
		if !r.interruptedReported.Swap(true) {
			abandoned = append(abandoned, r)
		}
	}
	h.mu.Unlock()
	why := protocol.Reason{Code: protocol.NodeLost, Note: fmt.Sprintf("the cluster's API server has been silent for %v", silent.Round(time.Second))}
	for _, r := range abandoned {
		h.terminateRun(r, why.Code, why.Note)
		if r.isReplica() {
			h.reportReplicaEnd(r, why)
			h.queue.Add(r.name)
			continue
		}
		x := protocol.Interrupted{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Why: why}
		h.mu.Lock()
		since := r.startedAt
		h.mu.Unlock()
		if since != 0 {
			x.Draw, x.Estimated = h.talliedEnergyOfRun(r, since, h.cfg.Now())
			x.Draw = h.finalEnergy(r, x.Draw)
		}
		h.reportOutcome(x.Job, x.Epoch, x)
		h.queue.Add(r.name)
	}
}
