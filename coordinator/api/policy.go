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
	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

// A PolicyRequest is a change of policy that an operator confirmed: see docs/policy.md.
type PolicyRequest struct {
	Change   policy.Change `json:"change"`
	Sentence string        `json:"said"`
	By       string        `json:"by,omitempty"`     // the operator; may be left out when a credential identifies him
	Second   string        `json:"second,omitempty"` // accepted only if names are not verified by credentials
}

// handleGetPolicy answers with the policy in force; version 0 means none.
func (d *Server) handleGetPolicy(w http.ResponseWriter, _ *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	writeJSON(w, http.StatusOK, d.currentPolicy())
}

// currentPolicy returns the policy in force; version 0 means none.
func (d *Server) currentPolicy() (p protocol.Policy) {
	d.readStatus(func(b *jobstatus.View) { p = b.PolicyInForce() })
	return p
}

// handleChangePolicy puts a change of policy into force, if it was made against the policy in
// force. If operators have credentials, a change that loosens a hard rule waits until a
// second operator confirms it.
func (d *Server) handleChangePolicy(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	p := rights.Of(r.Context())
	// 1 MiB bounds the memory of a request.
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var wish PolicyRequest
	if err == nil {
		err = json.Unmarshal(text, &wish)
	}
	if err == nil && (len(wish.By) > 128 || len(wish.Second) > 128 || len(wish.Sentence) > 1000) {
		err = errors.New("want names of at most 128 bytes and a sentence of at most 1000")
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("api: policy: %w", err))
		return
	}
	// Without credentials names are claims only: the change is put into force, marked unproved.
	if !p.IsAuthenticated() {
		d.submitPolicy(w, r, wish, false)
		return
	}
	who := p.Name
	// A credential speaks for its owner only, never for a second person.
	if wish.By != "" && wish.By != who || wish.Second != "" {
		writeError(w, http.StatusForbidden, fmt.Errorf("api: policy: the credential belongs to %s and confirms in that name only; the second person must use one of their own", who))
		return
	}
	wish.By = who
	// Only a change that loosens a hard rule needs two people (decision 0306).
	was := d.currentPolicy()
	if !slices.ContainsFunc(wish.Change.Ops, func(o policy.Op) bool { return policy.OpEffect(was, o) == "loosens" }) {
		d.submitPolicy(w, r, wish, true)
		return
	}
	// Check now, as if a second person had confirmed, so that faults do not wait for them.
	if _, err := policy.ApplyChange(was, wish.Change, who, who+" and another", wish.Sentence); err != nil {
		writeError(w, http.StatusConflict, err)
		return
	}
	writeJSON(w, http.StatusAccepted, d.addPendingChange(wish, was))
}

// A PendingChange is a change that one operator confirmed and that waits for a second.
type PendingChange struct {
	ID           string   `json:"waiting"`
	By           string   `json:"by"`
	Sentence     string   `json:"said"`
	Descriptions []string `json:"told"` // a sentence for each op, written by code

	request PolicyRequest
}

// maxPendingChanges bounds the changes that wait; a further one replaces the oldest.
const maxPendingChanges = 16

// addPendingChange stores a change for a second person under a random id. So the first person
// cannot replace the change that the second one was shown and confirms by its id.
func (d *Server) addPendingChange(wish PolicyRequest, was protocol.Policy) PendingChange {
	x := PendingChange{ID: "w-" + strings.ToLower(rand.Text()[:12]), By: wish.By, Sentence: wish.Sentence, request: wish}
	for _, o := range wish.Change.Ops {
		x.Descriptions = append(x.Descriptions, policy.DescribeOp(was, o))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// The same request once more keeps its id and does not fill the list.
	d.pending = slices.DeleteFunc(d.pending, func(y PendingChange) bool {
		same := reflect.DeepEqual(x.request, y.request)
		if same {
			x.ID = y.ID
		}
		return same
	})
	d.pending = append(d.pending, x)
	d.pending = d.pending[max(0, len(d.pending)-maxPendingChanges):]
	return x
}

// handleListPending answers with the changes that wait for a second person.
func (d *Server) handleListPending(w http.ResponseWriter, _ *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	d.mu.Lock()
	all := slices.Clone(d.pending)
	d.mu.Unlock()
	writeJSON(w, http.StatusOK, append([]PendingChange{}, all...))
}

// handleSecondApproval puts a waiting change into force, if another person than the first confirms it.
func (d *Server) handleSecondApproval(w http.ResponseWriter, r *http.Request) {
	if d.rejectIfStandby(w) {
		return
	}
	p := rights.Of(r.Context())
	if !p.IsAuthenticated() {
		writeError(w, http.StatusConflict, errors.New("api: no change waits for a second person, since no credentials are configured: see docs/policy.md"))
		return
	}
	who := p.Name
	d.mu.Lock()
	i := slices.IndexFunc(d.pending, func(x PendingChange) bool { return x.ID == r.PathValue("id") })
	var wish PolicyRequest
	if i >= 0 {
		wish = d.pending[i].request
	}
	// The change leaves the list before it is submitted, so that two confirmations at the
	// same time submit it once; the first person's own attempt leaves it there.
	if i >= 0 && wish.By != who {
		d.pending = slices.Delete(d.pending, i, i+1)
	}
	d.mu.Unlock()
	switch {
	case i < 0:
		writeError(w, http.StatusNotFound, fmt.Errorf("api: no change waits under %q: make it once more", r.PathValue("id")))
	case wish.By == who:
		writeError(w, http.StatusForbidden, fmt.Errorf("api: %s made this change; another person must confirm it", who))
	default:
		wish.Second = who
		d.submitPolicy(w, r, wish, true)
	}
}

// checkGuarantees returns an error if quotas guarantee more GPUs than the registered sites have.
func (d *Server) checkGuarantees(p protocol.Policy) error {
	tree, err := quota.NewTree(p.Quotas)
	if err != nil || tree.Guaranteed() == 0 {
		return err
	}
	var gpus protocol.Milli
	of := make(map[string]protocol.Milli) // by model
	d.readStatus(func(b *jobstatus.View) {
		for _, s := range b.AllSites(0) {
			for _, p := range s.Pools {
				n := protocol.Milli(p.GPUs) * 1000
				gpus, of[p.Model] = gpus+n, of[p.Model]+n
			}
		}
	})
	if problem := tree.LacksCapacity(gpus, of); problem != "" {
		return fmt.Errorf("api: the quotas guarantee %s at the registered sites: lower the min of some, or wait for the other sites", problem)
	}
	return nil
}

// submitPolicy sends a new policy to the market. proved: its names were verified by credentials.
func (d *Server) submitPolicy(w http.ResponseWriter, r *http.Request, wish PolicyRequest, proved bool) {
	p, err := policy.ApplyChange(d.currentPolicy(), wish.Change, wish.By, wish.Second, wish.Sentence)
	if err != nil {
		writeError(w, http.StatusConflict, err)
		return
	}
	p.Proved = proved
	if d.putPolicyIntoForce(w, r, d.currentPolicy(), p) {
		writeJSON(w, http.StatusOK, d.currentPolicy())
	}
}

// putPolicyIntoForce sends a policy to the market, and reports whether it is in force; otherwise it
// has answered.
func (d *Server) putPolicyIntoForce(w http.ResponseWriter, r *http.Request, was, p protocol.Policy) bool {
	if err := policy.CheckSuccessor(was, p); err != nil {
		writeError(w, http.StatusConflict, err)
		return false
	}
	if err := d.checkGuarantees(p); err != nil {
		writeError(w, http.StatusConflict, err)
		return false
	}
	if err := checkEncodable(p); err != nil {
		writeError(w, http.StatusBadRequest, fmt.Errorf("api: policy: %w", err))
		return false
	}
	if err := d.submitMessage(r.Context(), func(protocol.Time) protocol.Body { return p }); err != nil {
		writeError(w, http.StatusServiceUnavailable, fmt.Errorf("api: the policy may not have been stored; read the policy in force: %w", err))
		return false
	}
	// Another change may have come into force since the policy was read: the market keeps that one.
	now := d.currentPolicy()
	if now.Version != p.Version || now.Sentence != p.Sentence || now.By != p.By {
		writeError(w, http.StatusConflict, fmt.Errorf("api: version %d came into force meanwhile: make the change once more", now.Version))
		return false
	}
	return true
}
