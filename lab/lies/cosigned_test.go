package lies_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
	"github.com/gridbid/gridbid/verify"
)

// cosigned returns the newest head that a site was shown, as the site cosigns it and another reads it.
func (w *world) cosigned(site string) proof.Head {
	for _, m := range slices.Backward(w.held[protocol.AgentParty(site)]) {
		b, ok := m.Body.(protocol.LogHead)
		if !ok {
			continue
		}
		text, err := proof.CosignHead(logVerifier, b.Note, site, partyKeys[protocol.AgentParty(site)], time.Unix(1_800_000_000, 0))
		if err != nil {
			w.t.Fatal(err)
		}
		h, err := proof.OpenCosigned(logVerifier, text, site, []string{partyKeys[protocol.AgentParty(site)].Public})
		if err != nil {
			w.t.Fatal(err)
		}
		return h
	}
	w.t.Fatal("it was shown no head")
	return proof.Head{}
}

// witnesses returns the heads that all sites but one cosigned, with the wish for a majority of all.
func (w *world) witnesses(but string) verify.Witnesses {
	out := verify.Witnesses{Cosigned: make(map[string]proof.Head)}
	from := w
	if w.elsewhere != nil {
		from = w.elsewhere
	}
	for _, site := range sortedKeys(w.sites) {
		if out.Majority = append(out.Majority, site); site != but {
			out.Cosigned[site] = from.cosigned(site)
		}
	}
	return out
}

// Two histories (lie 20) are found by one cosigned head of another site, without its ledger; where there is one
// history nothing is found, and all sites agree on the newest head.
func TestTwoHistoriesAreFoundByACosignedHead(t *testing.T) {
	lie20 := slices.IndexFunc(lies, func(l lie) bool { return l.number == 20 })
	for seed := range uint64(4) {
		for _, l := range []*lie{nil, &lies[lie20]} {
			w := newWorld(t, 100+seed, l)
			w.play(40)
			who := protocol.AgentParty("oslo")
			shown, err := notary.OpenFor(notary.Reader{Party: who}, w.written(w.record))
			if err != nil {
				t.Fatal(err)
			}
			r := verify.CheckParty(verify.PartyInput{Party: who, Log: logVerifier, Keys: []string{partyKeys[who].Public}, Held: w.held[who], Shown: w.written(shown), Witnesses: w.witnesses("oslo")})
			found, lied := r.Has(verify.SplitView), l != nil && w.lied > 0
			if found != lied || !lied && (said(t, 100+seed, "oslo", r) > 0 || len(r.Agreed.Missing) > 0 || r.Agreed.Size < r.Size) {
				t.Errorf("world %d, lie %t: found %t: %v, %+v of %d", seed, lied, found, r.Findings, r.Agreed, r.Size)
			}
			if lied && (!slices.Equal(r.Agreed.Missing, []string{"lyon"}) || r.Agreed.Size == 0) { // the others are a majority
				t.Errorf("world %d: the sites agree on %+v", seed, r.Agreed)
			}
		}
	}
}

// Sites that cosigned heads of several sizes agree on what the smallest of a majority has; half of them is none.
func TestAMajorityAgreesOnTheOlderHead(t *testing.T) {
	w := newWorld(t, 7, nil)
	w.play(12)
	var heads []proof.Head
	for _, m := range w.held["agent/oslo"] {
		if b, ok := m.Body.(protocol.LogHead); ok {
			h, err := proof.OpenHead(logVerifier, b.Note)
			if err != nil {
				t.Fatal(err)
			}
			heads = append(heads, h)
		}
	}
	newest := heads[len(heads)-1]
	for _, tc := range []struct {
		cosigned map[string]proof.Head
		agreed   uint64
		missing  []string
	}{
		{map[string]proof.Head{"bern": heads[2], "lyon": newest}, newest.Size, nil},
		{map[string]proof.Head{"bern": heads[2], "lyon": heads[3]}, heads[3].Size, nil},
		{map[string]proof.Head{"bern": heads[2]}, heads[2].Size, []string{"lyon"}},
		{nil, 0, []string{"bern", "lyon"}},
		{map[string]proof.Head{"bern": {Size: newest.Size + 1, Root: newest.Root}}, 0, []string{"bern", "lyon"}},
	} {
		in := verify.PartyInput{Party: "agent/oslo", Log: logVerifier, Held: w.held["agent/oslo"], Witnesses: verify.Witnesses{Cosigned: tc.cosigned, Majority: []string{"bern", "lyon", "oslo"}}}
		r := verify.CheckParty(in)
		if r.Agreed.Size != tc.agreed || !slices.Equal(r.Agreed.Missing, tc.missing) || r.Has(verify.Majority) != (tc.agreed == 0) {
			t.Errorf("%v: %+v, %v; want %d without %v", tc.cosigned, r.Agreed, r.Findings, tc.agreed, tc.missing)
		}
	}
}
