package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// An admin of a group divides its own among those below it, alone; whatever reaches beyond is refused,
// also of a coordinator's API that was taken over.
func TestAGroupDividesItsOwn(t *testing.T) {
	was := protocol.Policy{Version: 3, By: "ada", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Forbid, Tenant: "guest"}}, Quotas: []protocol.Quota{
		{Name: "org", Min: 8000, Max: 12000, Weight: 1000}, {Name: "a", Parent: "org", Min: 4000, Weight: 1000}, {Name: "b", Parent: "org", Min: 2000, Weight: 1000},
		{Name: "a1", Parent: "a", Min: 1000, Weight: 1000}, {Name: "other", Min: 1000, Weight: 1000},
	}}
	for what, tc := range map[string]struct {
		change func(*protocol.Policy)
		want   string // in the error; "": none
	}{
		"a min within the parent's":        {func(p *protocol.Policy) { p.Quotas[2].Min = 4000 }, ""},
		"amounts of a grandchild":          {func(p *protocol.Policy) { p.Quotas[3].Min, p.Quotas[3].Max, p.Quotas[3].Weight = 2000, 3000, 5 }, ""},
		"mins above the parent's":          {func(p *protocol.Policy) { p.Quotas[2].Min = 5000 }, "raise its min or lower theirs"},
		"a max above the group's":          {func(p *protocol.Policy) { p.Quotas[1].Max = 16000 }, "above the 12 of org"},
		"a grandchild's above the group's": {func(p *protocol.Policy) { p.Quotas[3].Max = 13000 }, "above the 12 of org"},
		"its own min":                      {func(p *protocol.Policy) { p.Quotas[0].Min = 9000 }, "only amounts of quotas below org"},
		"its own max":                      {func(p *protocol.Policy) { p.Quotas[0].Max = 0 }, "only amounts of quotas below org"},
		"its own weight":                   {func(p *protocol.Policy) { p.Quotas[0].Weight = 9000 }, "only amounts of quotas below org"},
		"another's":                        {func(p *protocol.Policy) { p.Quotas[4].Min = 0 }, "only amounts of quotas below org"},
		"a band":                           {func(p *protocol.Policy) { p.Quotas[1].Band = 9 }, "only amounts"},
		"another parent":                   {func(p *protocol.Policy) { p.Quotas[4].Parent = "org" }, "only amounts"},
		"another name":                     {func(p *protocol.Policy) { p.Quotas[3].Name = "guest" }, "only amounts"},
		"one more":                         {func(p *protocol.Policy) { p.Quotas = append(p.Quotas, protocol.Quota{Name: "guest", Parent: "org"}) }, "which quotas there are"},
		"one less":                         {func(p *protocol.Policy) { p.Quotas = p.Quotas[:4] }, "which quotas there are"},
		"a rule":                           {func(p *protocol.Policy) { p.Rules = nil; p.Quotas[2].Min = 1000 }, "more than quotas"},
		"a class":                          {func(p *protocol.Policy) { p.Classes = []protocol.PriorityClass{{Name: "x"}}; p.Quotas[2].Min = 1000 }, "more than quotas"},
		"nothing":                          {func(*protocol.Policy) {}, "no quota changes"},
		"within no group":                  {func(p *protocol.Policy) { p.Within = "none"; p.Quotas[2].Min = 1000 }, "no quota in force"},
		"within nothing":                   {func(p *protocol.Policy) { p.Within = ""; p.Quotas[2].Min = 1000 }, "a second person"},
	} {
		now := was
		now.Version, now.By, now.Within = 4, "eve", "org"
		now.Rules, now.Quotas = slices.Clone(was.Rules), slices.Clone(was.Quotas)
		tc.change(&now)
		if err := CheckSuccessor(was, now); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", what, err, tc.want)
		}
	}
}
