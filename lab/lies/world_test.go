package lies_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
	"github.com/gridbid/gridbid/verify"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

func sortedKeys[K cmp.Ordered, V any](of map[K]V) []K { return slices.Sorted(maps.Keys(of)) }

// newKey returns the key of a party.
func newKey() proof.PartyKey {
	seed, _, err := natsbus.NewUserKey()
	if err != nil {
		panic(err)
	}
	k, err := proof.ReadPartyKey(seed)
	if err != nil {
		panic(err)
	}
	return k
}

type fixed byte

func (f fixed) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(f)
	}
	return len(p), nil
}

// logKey is the key of the log.
var logKey, logVerifier = func() (note.Signer, *rememberingVerifier) {
	secret, public, err := note.GenerateKey(fixed(9), "hub.example/log")
	if err != nil {
		panic(err)
	}
	s, err := note.NewSigner(secret)
	if err != nil {
		panic(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		panic(err)
	}
	return s, &rememberingVerifier{Verifier: v, good: make(map[[2]string]bool)}
}()

// A rememberingVerifier checks a signature once, however many readers hold the head that it is on.
type rememberingVerifier struct {
	note.Verifier
	good map[[2]string]bool // by what is signed and the signature, of one world
}

// Verify implements note.Verifier.
func (v *rememberingVerifier) Verify(msg, sig []byte) bool {
	key := [2]string{string(msg), string(sig)}
	good, known := v.good[key]
	if !known {
		good = v.Verifier.Verify(msg, sig)
		v.good[key] = good
	}
	return good
}

var partyKeys = map[protocol.Party]proof.PartyKey{"agent/bern": newKey(), "agent/lyon": newKey(), "agent/oslo": newKey(), protocol.Submitter: newKey()}

var tenants = []string{"chem", "vision"}

// A world is a federation: its parties, the hub, and all that any of them has seen.
type world struct {
	t        testing.TB
	seed     uint64
	rand     *rand.Rand
	now      protocol.Time
	settings market.Config
	lie      *lie // nil: the hub is honest
	lied     int

	hub      *notary.Notary
	life     uint32
	events   []protocol.Message
	record   []protocol.Message
	sites    map[string]*site
	senders  map[protocol.Party]*protocol.Sender
	held     map[protocol.Party][]protocol.Message
	queue    []protocol.Message // on the way to the hub
	kept     *protocol.Message  // that a lying hub holds back
	accepted protocol.Accept    // the last one
	started  protocol.Started   // that came last, if a lie is to tell otherwise
	round    uint64
	jobs     int
	restarts bool

	elsewhere *world // what a lying hub shows others; nil: the same
}

func newWorld(t testing.TB, seed uint64, lied *lie) *world {
	clear(logVerifier.good)
	w := &world{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 29)), now: noon, lie: lied,
		settings: market.Config{Terms: protocol.Weights{Carbon: 100_000, WaitNow: 1_000_000, Late: 10_000_000}, Pay: accounts.PaymentRule{Margin: 100}},
		sites:    make(map[string]*site), senders: make(map[protocol.Party]*protocol.Sender), held: make(map[protocol.Party][]protocol.Message)}
	w.startHub()
	for i, name := range []string{"bern", "lyon", "oslo"} {
		w.sites[name] = &site{name: name, rand: rand.New(rand.NewPCG(seed, uint64(i))), jobs: make(map[protocol.JobID]protocol.Job), runs: make(map[protocol.JobID]run)}
		w.send(protocol.AgentParty(name), protocol.RegisterSite{Site: name, Pools: []protocol.Pool{{Model: "V100", Nodes: 1, GPUs: siteGPUs}}})
	}
	quotas := []protocol.Quota{{Name: "all", Min: 4000}, {Name: "chem", Parent: "all", Min: 2000, Max: 6000, Weight: 1000}, {Name: "vision", Parent: "all", Min: 2000, Weight: 1000}}
	if none := w.rand.IntN(2) == 0; none && (lied == nil || !lied.quotas) {
		quotas = nil
	}
	w.send(protocol.OperatorAPI, protocol.Policy{Version: 1, By: "ada", Quotas: quotas, Sentence: "classes",
		Classes: []protocol.PriorityClass{{Name: "batch", Default: true}, {Name: "production", Value: 100}}})
	w.deliver()
	return w
}

// startHub starts a coordinator: with the events of those before.
func (w *world) startHub() {
	rules, err := json.Marshal(w.settings)
	if err != nil {
		w.t.Fatal(err)
	}
	w.hub = notary.New(notary.Config{Key: logKey, Salts: proof.SaltKey("secret")}, string(rules))
	var rule auction.ClearingRule = auction.New(auction.Config{})
	settings := w.settings
	if w.lie != nil && w.lie.decide != nil {
		rule = lyingRule{rule, func(r auction.Round, clear func(auction.Round) auction.Outcome) auction.Outcome {
			return w.lie.decide(w, r, clear)
		}}
	}
	rule = w.hub.ObserveRule(rule)
	if w.lie != nil && w.lie.read != nil {
		rule = lyingRule{rule, func(r auction.Round, clear func(auction.Round) auction.Outcome) auction.Outcome {
			w.lie.read(w, &r)
			return clear(r)
		}}
	}
	if w.lie != nil && w.lie.settings != nil {
		w.lie.settings(w, &settings)
	}
	w.hub.Surround(&lyingMarket{market.New(settings, rule), w})
	for _, m := range w.events {
		if err := w.hub.Restore(m); err != nil {
			w.t.Fatal(err)
		}
	}
	w.life++
	w.hub.BeginIncarnation(w.life)
}

// send puts a message on its way to the hub, signed as a party's connection signs it.
func (w *world) send(who protocol.Party, b protocol.Body) {
	if w.senders[who] == nil {
		w.senders[who] = &protocol.Sender{Party: who}
	}
	m := w.senders[who].NewMessage(w.now, protocol.Coordinator, b)
	w.held[who] = append(w.held[who], m)
	w.queue = append(w.queue, signed(w.t, m))
}

// signed returns a message as it arrives.
func signed(t testing.TB, m protocol.Message) protocol.Message {
	var sign func([]byte) ([]byte, error)
	if k, ok := partyKeys[m.From]; ok && m.IsBinding() {
		sign = k.Sign
	}
	data, err := protocol.AppendSigned(nil, m, sign)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, data)
}

func decoded(t testing.TB, data []byte) protocol.Message {
	m, err := protocol.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// deliver has the hub take what is on its way, and the parties what it says.
func (w *world) deliver() {
	for len(w.queue) > 0 {
		m := w.queue[0]
		w.queue = w.queue[1:]
		all := []protocol.Message{m}
		if w.lie != nil && w.lie.input != nil {
			all = w.lie.input(w, m)
		}
		for _, m := range all {
			w.hubStep(m)
		}
	}
}

func (w *world) hubStep(m protocol.Message) {
	w.record = append(w.record, m)
	w.publish(w.hub.Step(w.now, m))
}

// publish stores what a step led to, and has the parties take what was sent.
func (w *world) publish(out []protocol.Message) {
	for _, m := range w.hub.Events() {
		w.events = append(w.events, m)
		if m.From == protocol.LogWriter {
			w.record = append(w.record, m)
		}
	}
	w.record = append(w.record, out...)
	for _, m := range out {
		if c, ok := m.Body.(protocol.CallForBids); ok {
			w.round = c.Round
		}
		for _, who := range sortedKeys(partyKeys) {
			if who.ShouldReceive(m) {
				w.tell(who, m)
			}
		}
	}
}

func (w *world) tell(who protocol.Party, m protocol.Message) {
	if w.lie != nil && w.lie.told != nil {
		m = w.lie.told(w, who, m)
	}
	w.held[who] = append(w.held[who], m)
	if s := w.sites[who.SiteName()]; s != nil {
		for _, b := range s.hear(w.now, m) {
			w.send(who, b)
		}
	}
}

// play lets the world go on until so many rounds were opened.
func (w *world) play(rounds uint64) {
	submit := w.now
	for steps := 0; w.round < rounds && steps < 4000; steps++ {
		next := w.hub.Due()
		for _, name := range sortedKeys(w.sites) {
			if at := w.sites[name].due(); at != 0 && (next == 0 || at < next) {
				next = at
			}
		}
		if next == 0 || submit < next {
			next = submit
		}
		w.now = max(w.now, next)
		if submit <= w.now {
			w.submit()
			submit = w.now.Add(time.Duration(1+w.rand.IntN(1500)) * time.Second)
		}
		for _, name := range sortedKeys(w.sites) {
			if b := w.sites[name].happened(w.now); b != nil {
				w.send(protocol.AgentParty(name), b)
			}
		}
		w.deliver()
		if due := w.hub.Due(); due != 0 && due <= w.now {
			w.publish(w.hub.Tick(w.now))
			w.deliver()
		}
		if w.restarts && w.rand.IntN(60) == 0 {
			w.startHub()
		}
	}
}

// siteOf returns the agent whose Accept of a part came last.
func (w *world) siteOf(a protocol.Accept) protocol.Party {
	for _, name := range sortedKeys(w.sites) {
		if r, ok := w.sites[name].runs[a.Job]; ok && r.award.Epoch == a.Epoch {
			return protocol.AgentParty(name)
		}
	}
	return ""
}

func (w *world) submit() {
	for range 1 + w.rand.IntN(3) {
		w.jobs++
		j := protocol.Job{ID: protocol.JobID(fmt.Sprint("job-", w.jobs)), Tenant: tenants[w.rand.IntN(2)], GPUs: 1 + w.rand.IntN(4), Share: 1000, CPU: 1000, Arrival: w.now,
			Run: time.Duration(20+w.rand.IntN(200)) * time.Minute, Deadline: w.now.Add(time.Duration(5+w.rand.IntN(20)) * time.Hour), Urgency: protocol.UrgencyNow}
		if w.rand.IntN(4) == 0 {
			j.PriorityClass = "production"
		}
		if w.rand.IntN(5) == 0 {
			j.GPUs, j.Share, j.CPU, j.PriorityClass = 0, 0, 0, ""
			j, _ = j.WithPods([]protocol.Component{{Role: "worker", Pods: 2, GPUs: 1 + w.rand.IntN(2), Share: 1000, CPU: 1000}}).WithEqualParts(2)
			j.MaxSites = 2
		}
		w.send(protocol.Submitter, protocol.Submit{Job: j, Task: protocol.Task(`{"kind":"Job"}`)})
	}
}

// written returns messages as a ledger has them.
func (w *world) written(all []protocol.Message) (out []protocol.Message) {
	for _, m := range all {
		data, err := protocol.Encode(m)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, decoded(w.t, data))
	}
	return out
}

// readSite verifies as a site.
func (w *world) readSite(name string) verify.Report {
	who := protocol.AgentParty(name)
	shown, err := notary.OpenFor(notary.Reader{Party: who}, w.written(w.record))
	if err != nil {
		w.t.Fatal(err)
	}
	return verify.CheckParty(verify.PartyInput{Party: who, Log: logVerifier, Keys: []string{partyKeys[who].Public}, Held: w.held[who], Shown: w.written(shown), Others: w.heldBut(name), Witnesses: w.witnesses(name)})
}

// heldBut returns what the sites hold, but for one.
func (w *world) heldBut(name string) map[string][]protocol.Message {
	others := make(map[string][]protocol.Message)
	if w.elsewhere != nil {
		return others // nobody gives his ledger away
	}
	for other := range w.sites {
		if other != name {
			others[other] = w.held[protocol.AgentParty(other)]
		}
	}
	return others
}

// readTenant verifies as the submitter of all tenants.
func (w *world) readTenant() verify.Report {
	shown, err := notary.OpenFor(notary.Reader{Party: protocol.Submitter}, w.written(w.record))
	if err != nil {
		w.t.Fatal(err)
	}
	return verify.CheckParty(verify.PartyInput{Party: protocol.Submitter, Log: logVerifier, Keys: []string{partyKeys[protocol.Submitter].Public}, Held: w.held[protocol.Submitter], Shown: w.written(shown), Others: w.heldBut(""), Witnesses: w.witnesses("")})
}

// readAuditor verifies as an auditor.
func (w *world) readAuditor() verify.Report {
	keys := make(map[protocol.Party][]string)
	for who, k := range partyKeys {
		keys[who] = []string{k.Public}
	}
	return verify.CheckRecord(verify.RecordInput{Log: logVerifier, Record: w.written(w.record), Keys: keys, Witnesses: w.witnesses("")})
}
