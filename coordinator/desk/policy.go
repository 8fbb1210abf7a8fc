package desk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/gridbid/gridbid/coordinator/board"
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// A Wish is a change of policy that somebody confirmed: see docs/policy.md.
type Wish struct {
	Change policy.Change `json:"change"`
	Said   string        `json:"said"`
	By     string        `json:"by"`
	Second string        `json:"second,omitempty"`
}

// inForce answers with the policy in force; version 0 is none.
func (d *Desk) inForce(w http.ResponseWriter, _ *http.Request) {
	if d.away(w) {
		return
	}
	answer(w, http.StatusOK, d.policy())
}

func (d *Desk) policy() (p protocol.Policy) {
	d.look(func(b *board.Board) { p = b.Policy() })
	return p
}

// govern puts a change of policy in force, if it was made against the one that
// is.
func (d *Desk) govern(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var wish Wish
	if err == nil {
		err = json.Unmarshal(text, &wish)
	}
	if err == nil && (len(wish.By) > 128 || len(wish.Second) > 128 || len(wish.Said) > 1000) {
		err = errors.New("a name is longer than 128 bytes, or the sentence than 1000")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("desk: policy: %w", err))
		return
	}
	p, err := policy.Apply(d.policy(), wish.Change, wish.By, wish.Second, wish.Said)
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	if err := d.say(r.Context(), func(protocol.Time) protocol.Body { return p }); err != nil {
		fail(w, http.StatusServiceUnavailable, fmt.Errorf("desk: not known to be in force; ask for the policy: %w", err))
		return
	}
	now := d.policy()
	if now.Version != p.Version || now.Said != p.Said {
		fail(w, http.StatusConflict, fmt.Errorf("desk: version %d is in force instead: make the change again", now.Version))
		return
	}
	answer(w, http.StatusOK, now)
}
