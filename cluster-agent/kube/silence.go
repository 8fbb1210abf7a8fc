package kube

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/gridbid/gridbid/protocol"
)

// pause is how long an API server may be silent before the site takes nothing new.
const pause = 5 * time.Second

// listen asks the API server every second whether it is there. While it is
// silent, all nodes are told as closed. When it has been silent for as long as the
// configuration has patience, what runs there is given up.
func (h *Hands) listen(ctx context.Context) {
	silent, last := time.Duration(0), h.cfg.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		now := h.cfg.Now()
		silent = longer(silent, now.Sub(last))
		if last = now; h.answers(ctx) {
			silent = 0
		}
		h.mu.Lock()
		was := h.silent
		h.silent = silent >= pause
		changed := was != h.silent
		h.mu.Unlock()
		if changed {
			h.cfg.Log.Warn("the API server went silent, or answers again", "silent", silent >= pause)
			h.changed()
		}
		if h.cfg.Abandon > 0 && silent >= h.cfg.Abandon {
			h.abandon(silent)
		}
	}
}

// longer is for how long nobody has answered, who did not for a time and does not after
// another. Time in which we did not listen, since our machine was stopped or its clock
// was set, is nobody's silence.
func longer(silent, more time.Duration) time.Duration { return silent + min(max(more, 0), pause) }

func (h *Hands) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	d, ok := h.cfg.Client.Discovery().(*discovery.DiscoveryClient)
	return !ok || d.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
}

// abandon gives up all runs of a cluster that does not answer. They are taken
// down when it answers again.
func (h *Hands) abandon(silent time.Duration) {
	h.mu.Lock()
	var given []*run
	for _, r := range h.runs {
		if !r.given.Swap(true) {
			given = append(given, r)
		}
	}
	h.mu.Unlock()
	why := protocol.Reason{Code: protocol.NodeGone, Note: fmt.Sprintf("the cluster's API server has been silent for %v", silent.Round(time.Second))}
	for _, r := range given {
		h.leave(r, why.Code, why.Note)
		h.sayLast(r.launch.Job.ID, r.launch.Epoch, protocol.Lost{Job: r.launch.Job.ID, Epoch: r.launch.Epoch, Why: why})
		h.queue.Add(r.name)
	}
}
