package api

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// A Wish is a change of policy that an operator confirmed: see docs/policy.md.
type Wish struct {
	Change policy.Change `json:"change"`
	Said   string        `json:"said"`
	By     string        `json:"by"`               // the operator; may be left out when a token identifies him
	Second string        `json:"second,omitempty"` // accepted only if names are not verified by tokens
}

// inForce answers with the policy in force; version 0 means none.
func (d *Desk) inForce(w http.ResponseWriter, _ *http.Request) {
	if d.away(w) {
		return
	}
	answer(w, http.StatusOK, d.policy())
}

func (d *Desk) policy() (p protocol.Policy) {
	d.look(func(b *jobstatus.Board) { p = b.Policy() })
	return p
}

// govern puts a change of policy into force, if it was made against the policy in
// force. If operators have tokens, a change that loosens a hard rule waits until a
// second operator confirms it.
func (d *Desk) govern(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	who, err := d.who(r)
	if err != nil {
		fail(w, http.StatusUnauthorized, err)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var wish Wish
	if err == nil {
		err = json.Unmarshal(text, &wish)
	}
	if err == nil && (len(wish.By) > 128 || len(wish.Second) > 128 || len(wish.Said) > 1000) {
		err = errors.New("want names of at most 128 bytes and a sentence of at most 1000")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("api: policy: %w", err))
		return
	}
	if d.people == nil {
		d.confirm(w, r, wish, false)
		return
	}
	if wish.By != "" && wish.By != who || wish.Second != "" {
		fail(w, http.StatusForbidden, fmt.Errorf("api: policy: the token belongs to %s and confirms in that name only; the second person must use a token of their own", who))
		return
	}
	wish.By = who
	was := d.policy()
	if !slices.ContainsFunc(wish.Change.Ops, func(o policy.Op) bool { return policy.Class(was, o) == "loosens" }) {
		d.confirm(w, r, wish, true)
		return
	}
	if _, err := policy.Apply(was, wish.Change, who, who+" and another", wish.Said); err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	answer(w, http.StatusAccepted, d.wait(wish, was))
}

// A Waiting is a change that one operator confirmed and that waits for a second.
type Waiting struct {
	ID   string   `json:"waiting"`
	By   string   `json:"by"`
	Said string   `json:"said"`
	Told []string `json:"told"` // a sentence for each op, written by code

	wish Wish
}

// mostWaiting bounds the changes that wait; a further one replaces the oldest.
const mostWaiting = 16

// wait stores a change for a second person under a random id. So the first person
// cannot replace the change that the second one was shown and confirms by its id.
func (d *Desk) wait(wish Wish, was protocol.Policy) Waiting {
	x := Waiting{ID: "w-" + strings.ToLower(rand.Text()[:12]), By: wish.By, Said: wish.Said, wish: wish}
	for _, o := range wish.Change.Ops {
		x.Told = append(x.Told, policy.Tell(was, o))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = slices.DeleteFunc(d.waiting, func(y Waiting) bool {
		same := reflect.DeepEqual(x.wish, y.wish)
		if same {
			x.ID = y.ID
		}
		return same
	})
	d.waiting = append(d.waiting, x)
	d.waiting = d.waiting[max(0, len(d.waiting)-mostWaiting):]
	return x
}

// waits answers with the changes that wait for a second person.
func (d *Desk) waits(w http.ResponseWriter, _ *http.Request) {
	if d.away(w) {
		return
	}
	d.mu.Lock()
	all := slices.Clone(d.waiting)
	d.mu.Unlock()
	answer(w, http.StatusOK, append([]Waiting{}, all...))
}

// second puts a waiting change into force, if another person than the first confirms it.
func (d *Desk) second(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	who, err := d.who(r)
	if err == nil && who == "" {
		err = errors.New("api: no change waits for a second person, since no people_file is configured: see docs/policy.md")
	}
	if err != nil {
		fail(w, http.StatusUnauthorized, err)
		return
	}
	d.mu.Lock()
	i := slices.IndexFunc(d.waiting, func(x Waiting) bool { return x.ID == r.PathValue("id") })
	var wish Wish
	if i >= 0 {
		wish = d.waiting[i].wish
	}
	if i >= 0 && wish.By != who {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	d.mu.Unlock()
	switch {
	case i < 0:
		fail(w, http.StatusNotFound, fmt.Errorf("api: no change waits under %q: make it once more", r.PathValue("id")))
	case wish.By == who:
		fail(w, http.StatusForbidden, fmt.Errorf("api: %s made this change; another person must confirm it", who))
	default:
		wish.Second = who
		d.confirm(w, r, wish, true)
	}
}

// confirm sends a new policy to the market. proved: its names were verified by tokens.
func (d *Desk) confirm(w http.ResponseWriter, r *http.Request, wish Wish, proved bool) {
	p, err := policy.Apply(d.policy(), wish.Change, wish.By, wish.Second, wish.Said)
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	p.Proved = proved
	if err := readable(p); err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("api: policy: %w", err))
		return
	}
	if err := d.say(r.Context(), func(protocol.Time) protocol.Body { return p }); err != nil {
		fail(w, http.StatusServiceUnavailable, fmt.Errorf("api: the policy may not have been stored; read the policy in force: %w", err))
		return
	}
	now := d.policy()
	if now.Version != p.Version || now.Said != p.Said {
		fail(w, http.StatusConflict, fmt.Errorf("api: version %d came into force meanwhile: make the change once more", now.Version))
		return
	}
	answer(w, http.StatusOK, now)
}
