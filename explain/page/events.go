package page

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/explain/timeline"
)

// maxEventBacklog is the maximum number of decisions in one write. A client that is further
// behind gets the next part at once.
const maxEventBacklog = 200

// serveEvents serves the stream of decisions as server-sent events. The id of an event is
// the position in the run after it; a client that reconnects with the last id
// continues there. A client without an id gets decisions from now on.
func (s *pageServer) serveEvents(w http.ResponseWriter, r *http.Request) {
	flow := http.NewResponseController(w)
	position, known := uint64(0), false
	// The browser sends Last-Event-ID when it reconnects; the page sends after at first.
	for _, said := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if n, err := strconv.ParseUint(said, 10, 64); err == nil {
			position, known = n, true
			break
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	send := func(text string) bool {
		// A client that reads nothing for this long is disconnected; it will reconnect.
		_ = flow.SetWriteDeadline(time.Now().Add(20 * time.Second))
		_, err := w.Write([]byte(text))
		return err == nil && flow.Flush() == nil
	}
	if !send("retry: 1000\n\n") {
		return
	}
	beat := time.NewTicker(s.opts.HeartbeatInterval)
	defer beat.Stop()
	// A position beyond the run belongs to a run that is no longer kept, or that has
	// not been read so far yet.
	patience := time.Now().Add(s.opts.HeartbeatInterval)
	for {
		over := s.run.HasEnded() // before looking, so that the last entries are not missed
		var fresh []timeline.Entry
		beyond := false
		next, err := s.run.ViewAndWatch(r.Context(), func(d *timeline.Timeline) {
			if !known {
				position, known = d.MessageCount(), true
			}
			beyond = position > d.MessageCount()
			fresh = d.DecisionsSince(position, maxEventBacklog)
		})
		if err != nil {
			return
		}
		if len(fresh) > 0 {
			position = fresh[len(fresh)-1].N
			if !send(eventsOf(fresh)) {
				return
			}
		}
		switch {
		// The client's position is of another run: the page must be loaded anew.
		case beyond && (over || time.Now().After(patience)):
			send("event: other\ndata: {}\n\n")
			return
		// There may be more: read on without waiting.
		case len(fresh) == maxEventBacklog:
		case over && s.run.Err() != nil:
			send("event: broken\ndata: {}\n\n")
			return
		case over:
			send("event: over\ndata: {}\n\n")
			return
		case !awaitUpdate(r.Context(), next, beat.C, send):
			return
		}
	}
}

// awaitUpdate waits until there may be new entries, or sends a comment at each beat, so that
// proxies and the client see that the connection lives. It returns false when the client is gone.
func awaitUpdate(ctx context.Context, next <-chan struct{}, beat <-chan time.Time, send func(string) bool) bool {
	select {
	case <-ctx.Done():
		return false
	case <-next:
		// Collect the messages of a decision, and decisions that arrive together.
		time.Sleep(20 * time.Millisecond)
		return true
	case <-beat:
		return send(": so far\n\n")
	}
}

// eventsOf formats decisions as server-sent events; line breaks would end an event's
// data, so whitespace becomes a blank.
func eventsOf(entries []timeline.Entry) string {
	var b bytes.Buffer
	for _, e := range entries {
		var row bytes.Buffer
		if err := pageTemplates.ExecuteTemplate(&row, "entry", e); err != nil {
			continue // impossible with a tested template
		}
		fmt.Fprintf(&b, "id: %d\nevent: decision\ndata: %s\n\n", e.N, bytes.Join(bytes.Fields(row.Bytes()), []byte(" ")))
	}
	return b.String()
}
