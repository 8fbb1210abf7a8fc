package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// An admin of a tenant sees and divides what is below it; its own amounts, and those of others, are not
// its to change.
func TestATenantAdminDividesItsOwnQuota(t *testing.T) {
	g := newGuarded(t)
	p := protocol.Policy{Version: 2, By: "ada", Quotas: []protocol.Quota{
		{Name: "org", Min: 8000, Max: 12000, Weight: 1000, Parent: "all"}, {Name: "team-b", Parent: "org", Min: 2000, Weight: 1000}, {Name: "team-c", Parent: "org", Min: 2000, Kept: 1000, Weight: 1000},
		{Name: "team-a", Parent: "all", Min: 1000, Weight: 1000}, {Name: "all", Min: 9000, Weight: 1000},
	}}
	g.desk.ObserveMessages(nil, []protocol.Message{g.market.NewMessage(noon, "", p)})
	names := func(who string) string {
		t.Helper()
		code, text := g.as(who, "GET", "/v1/quotas", "")
		var all []QuotaReply
		if err := json.Unmarshal([]byte(text), &all); code != 200 || err != nil {
			t.Fatalf("%s: %d %s", who, code, text)
		}
		out := ""
		for _, q := range all {
			out += q.Name + "<" + q.Parent + " "
		}
		return out
	}
	for who, want := range map[string]string{
		"a": "team-a< ", "b": "team-b< ", "org": "org< team-b<org team-c<org ", "auditor": "org<all team-b<org team-c<org team-a<all all< ",
	} {
		if got := names(who); got != want {
			t.Errorf("%s sees quotas %s; want %s", who, got, want)
		}
	}
	for _, c := range []struct {
		who, at string
		code    int
		part    string
	}{
		{"org", "team-b?min=4&why=the+deadline", 200, `"name":"team-b","parent":"org","min":4,"weight":1,"lend":4`},
		{"org", "team-c?max=3&weight=2.5", 200, `"min":2,"max":3,"weight":2.5,"lend":1`},
		{"org", "team-c?lend=2", 200, `"lend":2`},
		{"org", "team-b?min=6.5", 409, "raise its min or lower theirs"},
		{"org", "team-b?max=13", 409, "above the 12 of org"},
		{"org", "team-b?max=1", 409, "less than the min"},
		{"org", "org?min=9", 404, "no quota"},
		{"org", "org?max=0", 404, "no quota"},
		{"org", "team-a?min=0", 404, "no quota"},
		{"org", "all?min=20", 404, "no quota"},
		{"org", "none?min=0", 404, "no quota"},
		{"org", "team-b", 400, "nothing to change"},
		{"org", "team-b?min=-1", 400, "from 0 to"},
		{"org", "team-b?min=NaN", 400, "from 0 to"},
		{"org", "team-b?min=1e300", 400, "from 0 to"},
		{"b", "team-b?min=4", 403, "no role"},
		{"admin", "team-b?min=4", 403, "no role"},
	} {
		code, text := g.as(c.who, "POST", "/v1/quotas/"+c.at, "")
		if code != c.code || !strings.Contains(text, c.part) {
			t.Errorf("%s changes %s: %d %s; want %d with %q", c.who, c.at, code, text, c.code, c.part)
		}
	}
	now := g.desk.currentPolicy()
	if now.Version != 5 || now.By != "org" || now.Within != "org" || !now.Proved || !now.Quotas[0].Equal(p.Quotas[0]) || !now.Quotas[3].Equal(p.Quotas[3]) {
		t.Errorf("in force: %+v", now)
	}
	if !strings.Contains(g.logged.String(), "/v1/quotas/org") {
		t.Errorf("the log has no refusal: %s", g.logged.String())
	}
}
