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

// maxEventBacklog is how many decisions are sent in one go.
const maxEventBacklog = 200

// serveEvents is the feed of decisions, as server-sent events. The id of each is the
// position in the run after it, so a reader that says what it had last goes on
// from there. A reader that says nothing is told what is decided from now on.
func (s *pageServer) serveEvents(w http.ResponseWriter, r *http.Request) {
	flow := http.NewResponseController(w)
	position, known := uint64(0), false
	for _, said := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		if n, err := strconv.ParseUint(said, 10, 64); err == nil {
			position, known = n, true
			break
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	send := func(text string) bool {
		// A reader that takes nothing for so long is let go; it comes back.
		_ = flow.SetWriteDeadline(time.Now().Add(20 * time.Second))
		_, err := w.Write([]byte(text))
		return err == nil && flow.Flush() == nil
	}
	if !send("retry: 1000\n\n") {
		return
	}
	beat := time.NewTicker(s.opts.HeartbeatInterval)
	defer beat.Stop()
	// A position beyond the run is of a run that is not kept, or not read yet.
	patience := time.Now().Add(s.opts.HeartbeatInterval)
	for {
		over := s.runEnded() // before looking, so that nothing said until the end is missed
		var fresh []timeline.Entry
		beyond := false
		next, err := s.run.Changed(r.Context(), func(d *timeline.Diary) {
			if !known {
				position, known = d.Read(), true
			}
			beyond = position > d.Read()
			fresh = d.Since(position, maxEventBacklog)
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
		case beyond && (over || time.Now().After(patience)):
			send("event: other\ndata: {}\n\n")
			return
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

func (s *pageServer) runEnded() bool {
	select {
	case <-s.run.Over():
		return true
	default:
		return false
	}
}

// awaitUpdate returns true when there may be more, and false when nobody reads.
func awaitUpdate(ctx context.Context, next <-chan struct{}, beat <-chan time.Time, send func(string) bool) bool {
	select {
	case <-ctx.Done():
		return false
	case <-next:
		// Many messages make one decision, and many decisions come at once.
		time.Sleep(20 * time.Millisecond)
		return true
	case <-beat:
		return send(": so far\n\n")
	}
}

func eventsOf(entries []timeline.Entry) string {
	var b bytes.Buffer
	for _, e := range entries {
		var row bytes.Buffer
		if err := pageTemplates.ExecuteTemplate(&row, "entry", e); err != nil {
			continue // only a template that no test has run
		}
		fmt.Fprintf(&b, "id: %d\nevent: decision\ndata: %s\n\n", e.N, bytes.Join(bytes.Fields(row.Bytes()), []byte(" ")))
	}
	return b.String()
}
