package page

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/protocol"
)

// shownJobs is the number of jobs that the list shows at first, and adds each time.
const shownJobs = 25

// A jobsView is the list of jobs, with its filter.
type jobsView struct {
	timeline.JobList
	Filter timeline.JobFilter
	Sites  []string
	At     protocol.Time
	Until  int    // how many rows are above, with these
	More   string // address of what follows; "" at the end
}

// jobsViewOf returns the list that a request filters: jq, js, jsite and jt, from the jskip-th row on.
func jobsViewOf(d *timeline.Timeline, q url.Values, now timeline.Instant) jobsView {
	v := jobsView{At: now.At, Filter: timeline.JobFilter{Find: q.Get("jq"), State: q.Get("js"), Site: q.Get("jsite"), Tenant: q.Get("jt")}}
	skip, _ := strconv.Atoi(q.Get("jskip"))
	v.JobList = d.JobsAt(now.At, v.Filter, max(skip, 0), shownJobs)
	for _, s := range now.Sites {
		v.Sites = append(v.Sites, s.Name)
	}
	if v.Until = max(skip, 0) + len(v.Jobs); v.Until < v.Matches {
		next := url.Values{"jskip": {strconv.Itoa(v.Until)}, "t": {strconv.FormatInt(int64(now.At), 10)}}
		for _, name := range []string{"jq", "js", "jsite", "jt"} {
			if q.Get(name) != "" {
				next.Set(name, q.Get(name))
			}
		}
		v.More = next.Encode()
	}
	return v
}

// serveJobs serves the list of jobs, or from the parameter jskip on only the rows that follow.
func (s *pageServer) serveJobs(w http.ResponseWriter, r *http.Request) {
	v, err := s.buildView(r, func(v *pageView, d *timeline.Timeline) { v.Jobs = jobsViewOf(d, r.URL.Query(), v.Now) })
	if err != nil {
		return
	}
	name := "jobs"
	if r.URL.Query().Has("jskip") {
		name = "jobrows"
	}
	s.renderTemplate(w, name, v.Jobs)
}
