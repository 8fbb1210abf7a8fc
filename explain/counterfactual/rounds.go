package counterfactual

import (
	"cmp"

	"github.com/gridbid/gridbid/coordinator/auction"
)

// A DecidedRound is a round of the ledger: what its rule knew, and what it decided, lot by lot.
type DecidedRound struct {
	In        auction.Round
	Decisions []auction.Decision
}

// TakeRounds returns the rounds that came up since it was called last, in order. Each was compared with
// the ledger first: a round whose decisions the ledger does not show yet comes with a later call, and
// one that is not as on the ledger never. Their slices are those of the run.
func (r *RoundReplay) TakeRounds() (out []DecidedRound) {
	if len(r.queue) > 0 || r.live != nil && len(r.live.expectedMessages) > 0 {
		return nil
	}
	for ; r.taken < len(r.rounds); r.taken++ {
		c := &r.rounds[r.taken]
		if i, ok := r.index[c.in.Number]; ok && i == r.taken {
			out = append(out, DecidedRound{c.in, c.out.Decisions})
		}
	}
	return out
}

// Missing returns why rounds of the messages so far are not reproduced, or "" if all are.
func (r *RoundReplay) Missing() string {
	if r.live != nil {
		return cmp.Or(r.fault, r.live.missingInput())
	}
	return r.fault
}
