package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// A standing is what a face shows of a site.
type standing struct {
	State protocol.SiteState
	Since protocol.Time // 0: this face does not say
}

// A face is one way to look at the sites of a federation.
type face struct {
	name string
	look func(*writtenFederation) (map[string]standing, error)
}

// faces are all ways to look at sites but the log, which tells changes only: see logged.
var faces = []face{
	{"/v1/sites", (*writtenFederation).ofAPI},
	{"gridbid sites", (*writtenFederation).ofSites},
	{"gridbid top", (*writtenFederation).ofTop},
	{"gridbid events", (*writtenFederation).ofEvents},
	{"gridbid ask", (*writtenFederation).ofAnswer},
	{"page", (*writtenFederation).ofPage},
	{"metrics", (*writtenFederation).ofMetrics},
}

// standingsOf returns what a list of sites shows.
func standingsOf(all []jobstatus.Site) map[string]standing {
	out := make(map[string]standing)
	for _, s := range all {
		out[s.Name] = standing{s.State, s.Since}
	}
	return out
}

// printed runs a command that prints JSON, and decodes it.
func (f *writtenFederation) printed(out any, args ...string) error {
	text, err := f.gridbid(args...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), out)
}

func (f *writtenFederation) ofAPI() (map[string]standing, error) {
	var all []jobstatus.Site
	if code, err := ask(f.api, http.MethodGet, "/v1/sites", nil, &all); err != nil || code != http.StatusOK {
		return nil, fmt.Errorf("status %d: %v", code, err)
	}
	return standingsOf(all), nil
}

func (f *writtenFederation) ofSites() (map[string]standing, error) {
	var all []jobstatus.Site
	err := f.printed(&all, "sites", "-o", "json")
	return standingsOf(all), err
}

func (f *writtenFederation) ofTop() (map[string]standing, error) {
	var top struct {
		Sites []jobstatus.Site `json:"sites"`
	}
	err := f.printed(&top, "top", "-o", "json")
	return standingsOf(top.Sites), err
}

// leavesIn are the states in which acts of operators leave a site that is well. EventState says so itself.
var leavesIn = map[history.EventKind]protocol.SiteState{
	history.EventRegistered: protocol.SiteOK, history.EventDrain: protocol.SiteDraining, history.EventUndrain: protocol.SiteOK, history.EventRevoke: protocol.SiteRevoked,
}

// ofEvents returns what the last event of each site leaves it in.
func (f *writtenFederation) ofEvents() (map[string]standing, error) {
	var all []jobstatus.SiteEvent
	if err := f.printed(&all, "events", "-o", "json"); err != nil {
		return nil, err
	}
	out := make(map[string]standing)
	for _, e := range all {
		if state, known := leavesIn[e.Kind]; known {
			out[e.Site] = standing{State: state}
		} else if e.Kind == history.EventState {
			out[e.Site] = standing{State: e.State}
		}
	}
	return out, nil
}

// ofAnswer returns what the question of docs/live.md is answered.
func (f *writtenFederation) ofAnswer() (map[string]standing, error) {
	var a query.Answer
	if err := f.printed(&a, "ask", "--live", "which sites are silent", "-o", "json"); err != nil || a.Table == nil {
		return nil, fmt.Errorf("%v: %v", err, a.Text)
	}
	at := make(map[string]protocol.Time)
	for _, x := range a.Figures {
		if x.Name == "state-since" {
			at[strings.TrimPrefix(x.Subject, "site/")] = protocol.Time(x.Value)
		}
	}
	column := slices.Index(a.Table.Head, "state")
	if column < 0 {
		return nil, fmt.Errorf("no state in %v", a.Table.Head)
	}
	out := make(map[string]standing)
	for _, row := range a.Table.Rows {
		out[row[0]] = standing{protocol.SiteState(row[column]), at[row[0]]}
	}
	return out, nil
}

// body returns what the coordinator serves at a path.
func (f *writtenFederation) body(path string) (string, error) {
	r, err := http.Get("http://" + f.api + path)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, r.Status)
	}
	return string(text), err
}

// A row of the page's table of sites: the name, the state, and for one that is not ok since when.
var siteRow = regexp.MustCompile(`(?s)data-site="([^"]+)".*?class="sitestate[^>]*>([a-z ]+?)(?: since <time datetime="([^"]+)">.*?)?</span>`)

func (f *writtenFederation) ofPage() (map[string]standing, error) {
	text, err := f.body("/")
	if err != nil {
		return nil, err
	}
	_, text, _ = strings.Cut(text, `id="sites"`)
	text, _, _ = strings.Cut(text, "</section>")
	out := make(map[string]standing)
	for _, m := range siteRow.FindAllStringSubmatch(text, -1) {
		x := standing{State: protocol.SiteState(m[2])}
		if m[3] != "" {
			at, err := time.Parse(time.RFC3339, m[3])
			if err != nil {
				return nil, err
			}
			x.Since = protocol.FromStdTime(at)
		}
		out[m[1]] = x
	}
	return out, nil
}

var stateGauge = regexp.MustCompile(`(?m)^gridbid_site_state\{site="([^"]+)",state="([^"]+)"\} 1$`)

func (f *writtenFederation) ofMetrics() (map[string]standing, error) {
	text, err := f.body("/metrics")
	if err != nil {
		return nil, err
	}
	out := make(map[string]standing)
	for _, m := range stateGauge.FindAllStringSubmatch(text, -1) {
		out[m[1]] = standing{State: protocol.SiteState(m[2])}
	}
	return out, nil
}

// promised is what docs/live.md says: so long after something happened every face shows it. On a
// machine with other work processes get their turn later, so the test fails only after patience,
// and its log has the times.
const (
	promised = 10 * time.Second
	patience = 6 * promised
)

// mark returns how long the coordinator's log is now: logged reads what follows.
func (f *writtenFederation) mark() int64 {
	info, err := os.Stat(f.coordinators[0].log.Name())
	f.must(err)
	return info.Size()
}

// logged reports whether the coordinator has logged, since a mark, that a site came into a state.
func (f *writtenFederation) logged(since int64, site string, state protocol.SiteState) bool {
	text, err := os.ReadFile(f.coordinators[0].log.Name())
	f.must(err)
	message := fmt.Sprintf(`msg="site is %s" site=%s `, state, site)
	if state == protocol.SiteOK {
		message = `msg="site is ok again" site=` + site + " "
	}
	return strings.Contains(string(text[since:]), message)
}

// awaitStandings waits until all faces show the sites in these states, with the same beginnings, and
// the log tells of those that are not as before. It returns what they show.
func (f *writtenFederation) awaitStandings(what string, before map[string]protocol.SiteState, since int64, want map[string]protocol.SiteState) map[string]standing {
	f.Helper()
	began := time.Now()
	took := make(map[string]time.Duration)
	for time.Since(began) < patience && len(took) <= len(faces) {
		for _, x := range faces {
			if took[x.name] != 0 {
				continue
			}
			if shown, err := x.look(f); err == nil && maps.Equal(statesOf(shown), want) {
				took[x.name] = time.Since(began)
			}
		}
		told := true
		for site, state := range want {
			told = told && (before[site] == state || f.logged(since, site, state))
		}
		if told && took["log"] == 0 {
			took["log"] = time.Since(began)
		}
		time.Sleep(100 * time.Millisecond)
	}
	// All together once more: no face shows another number, or is no longer right.
	var all map[string]standing
	for _, x := range faces {
		var shown map[string]standing
		var err error
		// What is ok by its registration is soon so by its first heartbeat, and since then: each face
		// is held against what the API says before and after, if both are the same.
		for range 10 {
			first, failed := f.ofAPI()
			f.must(failed)
			shown, err = x.look(f)
			all, failed = f.ofAPI()
			f.must(failed)
			if maps.Equal(first, all) {
				break
			}
		}
		if err != nil || !maps.Equal(statesOf(shown), want) {
			f.Errorf("%s: by %s: %v, %v; want %v", what, x.name, shown, err, want)
		}
		for site, s := range shown {
			if s.Since != 0 && s.Since != all[site].Since {
				f.Errorf("%s: %s is %s since %v by %s, and since %v by the API", what, site, s.State, s.Since, x.name, all[site].Since)
			}
		}
	}
	if took["log"] == 0 {
		f.Errorf("%s: the coordinator's log does not tell of it", what)
	}
	if f.Failed() {
		f.FailNow()
	}
	last := slices.MaxFunc(slices.Collect(maps.Keys(took)), func(x, y string) int { return cmp.Compare(took[x], took[y]) })
	f.Logf("%s: all show it after %.1f s, last %s (%v are promised)", what, took[last].Seconds(), last, promised)
	return all
}

func statesOf(all map[string]standing) map[string]protocol.SiteState {
	out := make(map[string]protocol.SiteState)
	for site, s := range all {
		out[site] = s.State
	}
	return out
}
