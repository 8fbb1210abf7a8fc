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

// Two histories (lie 20) are found by one cosigned head of another site, without its ledger; where there is one
// history nothing is found.
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
			r := verify.CheckParty(verify.PartyInput{Party: who, Log: logVerifier, Keys: []string{partyKeys[who].Public}, Held: w.held[who], Shown: w.written(shown),
				Cosigned: map[string]proof.Head{"lyon": w.cosigned("lyon"), "bern": w.cosigned("bern")}})
			found := slices.ContainsFunc(r.Findings, func(f verify.Finding) bool { return f.Check == verify.SplitView })
			if lied := l != nil && w.lied > 0; found != lied || !lied && said(t, 100+seed, "oslo", r) > 0 {
				t.Errorf("world %d, lie %t: found %t: %v", seed, lied, found, r.Findings)
			}
		}
	}
}
