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

// A Wish is a change of policy that somebody confirmed: see docs/policy.md.
type Wish struct {
	Change policy.Change `json:"change"`
	Said   string        `json:"said"`
	By     string        `json:"by"`               // who; may be left out where a token tells
	Second string        `json:"second,omitempty"` // believed where nobody is known by a token
}

// inForce answers with the policy in force; version 0 is none.
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

// govern puts a change of policy in force, if it was made against the one that
// is. Where people are known by their tokens, one that loosens a hard rule waits
// for the token of another.
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
		err = errors.New("a name is longer than 128 bytes, or the sentence than 1000")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("desk: policy: %w", err))
		return
	}
	if d.people == nil {
		d.confirm(w, r, wish, false)
		return
	}
	if wish.By != "" && wish.By != who || wish.Second != "" {
		fail(w, http.StatusForbidden, fmt.Errorf("desk: policy: the token is that of %s, who can confirm for nobody else; a second person does so himself", who))
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

// A Waiting is a change that one person confirmed, and that waits for a second.
type Waiting struct {
	ID   string   `json:"waiting"`
	By   string   `json:"by"`
	Said string   `json:"said"`
	Told []string `json:"told"` // by code, an op each

	wish Wish
}

// mostWaiting bounds the changes that wait; the oldest goes.
const mostWaiting = 16

// wait keeps a change for a second person, under an id that nobody can choose: who
// agrees by it agrees to what he was shown, and to no other change in its place.
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

// second puts a change in force that waited for another person.
func (d *Desk) second(w http.ResponseWriter, r *http.Request) {
	if d.away(w) {
		return
	}
	who, err := d.who(r)
	if err == nil && who == "" {
		err = errors.New("desk: this coordinator knows no people, so nothing waits for a second: see people_file in docs/policy.md")
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
		fail(w, http.StatusNotFound, fmt.Errorf("desk: nothing waits under %q: say it again", r.PathValue("id")))
	case wish.By == who:
		fail(w, http.StatusForbidden, fmt.Errorf("desk: %s asked for it himself; it takes another person's token", who))
	default:
		wish.Second = who
		d.confirm(w, r, wish, true)
	}
}

// confirm says a change to the market. Proved tells that its names were shown by
// tokens.
func (d *Desk) confirm(w http.ResponseWriter, r *http.Request, wish Wish, proved bool) {
	p, err := policy.Apply(d.policy(), wish.Change, wish.By, wish.Second, wish.Said)
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	p.Proved = proved
	if err := readable(p); err != nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("desk: policy: %w", err))
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
