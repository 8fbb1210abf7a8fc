package api

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
)

// A guarded window asks with credentials.
type guarded struct {
	*window
	tokens map[string]string // by name
	logged bytes.Buffer
}

// newGuarded returns a desk with a credential for each name: "a", "b" of tenants, "org" of the
// admin of a tenant above b, "oslo" of a site, "auditor", "admin".
func newGuarded(t *testing.T) *guarded {
	g := &guarded{window: newWindow(t), tokens: make(map[string]string)}
	var f rights.File
	for _, c := range []rights.Credential{
		{Name: "a", Role: rights.Tenant, Tenant: "team-a"}, {Name: "b", Role: rights.Tenant, Tenant: "team-b"},
		{Name: "org", Role: rights.TenantAdmin, Tenant: "org"}, {Name: "oslo", Role: rights.SiteOperator, Site: "oslo"},
		{Name: "auditor", Role: rights.Auditor}, {Name: "admin", Role: rights.FederationAdmin},
	} {
		c.Expires = time.Now().Add(time.Hour)
		token, c, err := rights.NewCredential(c, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		g.tokens[c.Name], f.Credentials = token, append(f.Credentials, c)
	}
	text, _ := json.Marshal(f)
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&g.logged, nil))
	a, err := rights.New(rights.Config{CredentialsFile: file, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	g.desk.GuardBy(rights.NewGuard(a, log))
	g.desk.ListQuotasBy(func(protocol.Time) (all []QuotaReply) { // as the leader does
		gpus := func(v protocol.Milli) float64 { return float64(v) / 1000 }
		for _, q := range g.desk.currentPolicy().Quotas {
			all = append(all, QuotaReply{Name: q.Name, Parent: q.Parent, Min: gpus(q.Min), Max: gpus(q.Max), Weight: gpus(q.Weight), Lend: gpus(q.Min - q.Kept)})
		}
		return all
	})
	// team-b is below org.
	p := protocol.Policy{Version: 1, Quotas: []protocol.Quota{{Name: "org"}, {Name: "team-b", Parent: "org"}}}
	g.desk.ObserveMessages([]protocol.Message{(&protocol.Sender{Party: protocol.OperatorAPI}).NewMessage(noon, protocol.Coordinator, p)}, []protocol.Message{g.market.NewMessage(noon, "", p)})
	for _, site := range []string{"oslo", "lyon"} {
		r := protocol.RegisterSite{Site: site, Pools: []protocol.Pool{{Model: "H100", Nodes: 1, GPUs: 8}}}
		g.desk.ObserveMessages([]protocol.Message{(&protocol.Sender{Party: protocol.AgentParty(site)}).NewMessage(noon, protocol.Coordinator, r)}, nil)
	}
	return g
}

// as asks in the name of a credential from another machine, and has the market take what it hears.
func (g *guarded) as(name, method, path, body string) (code int, answer string) {
	g.Helper()
	r := httptest.NewRequest(method, "https://hub.example:7480"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/yaml")
	if name != "" {
		r.Header.Set("Authorization", "Bearer "+g.tokens[name])
	}
	out, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		g.desk.HTTPHandler().ServeHTTP(out, r)
	}()
	for {
		select {
		case e := <-g.desk.LocalRequests():
			if e.Inspect != nil {
				e.Inspect(g.now)
				e.Done(nil)
				continue
			}
			m := e.Deliver(g.now)
			var said protocol.Body
			switch b := m.Body.(type) {
			case protocol.Submit:
				said = protocol.Confirm{Job: b.Job.ID, Code: protocol.Acknowledged}
			case protocol.Cancel:
				said = protocol.Reject{Job: b.Job, Why: protocol.Reason{Code: protocol.Cancelled}}
			}
			var sent []protocol.Message
			if said != nil {
				sent = append(sent, g.market.NewMessage(g.now, m.From, said))
			}
			if p, ok := m.Body.(protocol.Policy); ok { // announced to all
				sent = append(sent, g.market.NewMessage(g.now, "", p))
			}
			g.desk.ObserveMessages([]protocol.Message{m}, sent)
			e.Done(nil)
		case <-done:
			checkAgainstDocument(g.T, r, out)
			return out.Code, out.Body.String()
		}
	}
}

// The handlers are those of the table, but for what others serve.
func TestTheTableOfEndpointsIsWhatIsServed(t *testing.T) {
	var table, served []string
	for _, e := range rights.Endpoints() {
		if e.Pattern != "GET /v1/record" && e.Pattern != "GET /v1/proof" && e.Pattern != "GET /metrics" {
			table = append(table, e.Pattern)
		}
	}
	for pattern := range New().handlers() {
		served = append(served, pattern)
	}
	slices.Sort(table)
	slices.Sort(served)
	if !slices.Equal(table, served) {
		t.Errorf("the table has\n%s\nand served is\n%s", table, served)
	}
}

// A tenant sees, submits and cancels its own jobs only: those of others are not there.
func TestATenantHasItsOwnJobsOnly(t *testing.T) {
	g := newGuarded(t)
	job := func(id, tenant string) string {
		text := "id: " + id + "\ncpu: 1\nrun: 1h\n"
		if tenant != "" {
			text += "tenant: " + tenant + "\n"
		}
		return text
	}
	for _, c := range []struct {
		who, text string
		want      int
		part      string
	}{
		{"a", job("of-a", ""), 200, `"tenant":"team-a"`},
		{"a", job("of-a", "team-a"), 200, `"tenant":"team-a"`}, // the same job once more
		{"b", job("of-b", ""), 200, `"tenant":"team-b"`},
		{"a", job("stolen", "team-b"), 403, `the file names \"team-b\", and the credential is of tenant \"team-a\"`},
		{"org", job("of-org", ""), 200, `"tenant":"org"`},
		{"org", job("of-b-2", "team-b"), 200, `"tenant":"team-b"`},
		{"org", job("of-a-2", "team-a"), 403, "leave tenant out"},
		{"b", job("of-a", ""), 409, "an id of its own"},
		{"admin", job("x", ""), 403, "no role"}, {"auditor", job("x", ""), 403, "no role"}, {"oslo", job("x", ""), 403, "no role"},
		{"", job("x", ""), 401, "no credential"},
	} {
		if code, answer := g.as(c.who, http.MethodPost, "/v1/jobs", c.text); code != c.want || !strings.Contains(answer, c.part) {
			t.Errorf("%s submits %q: %d %s; want %d with %s", c.who, c.text, code, answer, c.want, c.part)
		}
	}
	if !strings.Contains(g.logged.String(), `principal=a`) || !strings.Contains(g.logged.String(), "team-b") {
		t.Errorf("who named another's tenant is not logged: %s", &g.logged)
	}
	sees := map[string][]string{"a": {"of-a"}, "b": {"of-b", "of-b-2"}, "org": {"of-b", "of-org", "of-b-2"}, "auditor": {"of-a", "of-b", "of-org", "of-b-2"}, "admin": {"of-a", "of-b", "of-org", "of-b-2"}}
	for who, own := range sees {
		_, list := g.as(who, http.MethodGet, "/v1/jobs", "")
		for _, id := range sees["auditor"] {
			isOwn := slices.Contains(own, id)
			if strings.Contains(list, `"id":"`+id+`"`) != isOwn {
				t.Errorf("%s lists %s; want %s in it: %v", who, list, id, isOwn)
			}
			code, one := g.as(who, http.MethodGet, "/v1/jobs/"+id, "")
			if (code == http.StatusOK) != isOwn || code != http.StatusOK && (code != http.StatusNotFound || !strings.Contains(one, "unknown job")) {
				t.Errorf("%s asks for %s: %d %s", who, id, code, one)
			}
			if !isOwn { // in the same words as of one that is not there
				_, none := g.as(who, http.MethodGet, "/v1/jobs/"+id[:2]+"-zzzzzzz", "")
				if strings.Contains(none, id) || strings.Contains(one, `did you mean \"`+id) {
					t.Errorf("%s learns of %s: %s, %s", who, id, none, one)
				}
			}
			if who == "a" && !isOwn {
				if code, text := g.as(who, http.MethodPost, "/v1/jobs/"+id+"/cancel", ""); code != http.StatusNotFound {
					t.Errorf("%s cancels %s: %d %s", who, id, code, text)
				}
			}
		}
	}
	if code, text := g.as("auditor", http.MethodPost, "/v1/jobs/of-a/cancel", ""); code != http.StatusForbidden {
		t.Errorf("the auditor cancels: %d %s", code, text)
	}
	for _, who := range []string{"a", "admin"} {
		if code, text := g.as(who, http.MethodPost, "/v1/jobs/of-a/cancel", ""); code != http.StatusOK {
			t.Errorf("%s cancels of-a: %d %s", who, code, text)
		}
	}
}

// The jobs before one's own in a site's queue are not named if they are another's.
func TestTheQueueNamesNoJobsOfOthers(t *testing.T) {
	g := newGuarded(t)
	oslo := protocol.AgentParty("oslo")
	for i, c := range []struct{ who, id string }{{"b", "of-b"}, {"a", "of-a"}, {"a", "of-a-2"}} {
		if code, text := g.as(c.who, http.MethodPost, "/v1/jobs", "id: "+c.id+"\ncpu: 1\nrun: 1h\n"); code != http.StatusOK {
			t.Fatal(text)
		}
		start := protocol.FromStdTime(time.Now()).Add(time.Duration(i+1) * time.Hour)
		g.desk.ObserveMessages(nil, []protocol.Message{g.market.NewMessage(g.now, oslo, protocol.Award{Job: protocol.JobID(c.id), Epoch: uint64(i + 1), Option: protocol.BidOption{Start: start, Finish: start.Add(time.Hour)}})})
	}
	for who, want := range map[string]string{"a": `"before":["of-a"]`, "admin": `"before":["of-a","of-b"]`} {
		for _, path := range []string{"/v1/jobs/of-a-2", "/v1/jobs"} {
			if code, text := g.as(who, http.MethodGet, path, ""); code != http.StatusOK || !strings.Contains(text, want) || !strings.Contains(text, `"place":3`) {
				t.Errorf("%s asks %s: %s; want %s", who, path, text, want)
			}
		}
	}
}

// The operator of a site sees and drains that one.
func TestASiteOperatorHasItsOwnSiteOnly(t *testing.T) {
	g := newGuarded(t)
	if _, text := g.as("oslo", http.MethodGet, "/v1/sites", ""); !strings.Contains(text, `"oslo"`) || strings.Contains(text, "lyon") {
		t.Errorf("sites: %s", text)
	}
	for path, want := range map[string]int{"/v1/sites/oslo/drain?by=somebody": 200, "/v1/sites/lyon/drain": 403, "/v1/sites/oslo/gone?by=x": 403} {
		if code, text := g.as("oslo", http.MethodPost, path, ""); code != want {
			t.Errorf("%s: %d %s; want %d", path, code, text, want)
		}
	}
	if code, text := g.as("admin", http.MethodPost, "/v1/sites/lyon/drain", ""); code != 200 {
		t.Errorf("the admin drains lyon: %d %s", code, text)
	}
	if code, text := g.as("oslo", http.MethodGet, "/v1/events", ""); code != 200 || strings.Contains(text, "lyon") || !strings.Contains(text, `"by":"oslo"`) {
		t.Errorf("events: %d %s; want those of oslo, by the name of the credential", code, text)
	}
	if code, _ := g.as("oslo", http.MethodGet, "/v1/events?site=lyon", ""); code != 403 {
		t.Errorf("events of lyon: %d", code)
	}
}

func TestWhoamiSaysWhomTheCredentialStandsFor(t *testing.T) {
	g := newGuarded(t)
	code, text := g.as("a", http.MethodGet, "/v1/whoami", "")
	if code != 200 || !strings.Contains(text, `"tenant":"team-a"`) || !strings.Contains(text, `"source":"token"`) || strings.Contains(text, g.tokens["a"]) {
		t.Errorf("%d %s", code, text)
	}
}
