package notary_test

import (
	"crypto/rand"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/coordinator/notary"
	"github.com/gridbid/gridbid/coordinator/snapshot"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

func logKey(t testing.TB) (note.Signer, note.Verifier) {
	t.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, "test/log")
	if err != nil {
		t.Fatal(err)
	}
	s, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

func start(key note.Signer) *notary.Notary {
	n := notary.New(notary.Config{Key: key, Salts: proof.SaltKey("secret"), HeadEvery: time.Second}, "{}")
	n.Surround(market.New(market.Config{}, n.ObserveRule(auction.New(auction.Config{}))))
	return n
}

// However often a coordinator ends and another goes on, from all events or from a snapshot of them,
// each head is proved to go on from the one before, at the size and root of all entries.
func TestTheLogGoesOnThroughRestartsAndSnapshots(t *testing.T) {
	key, public := logKey(t)
	rapid.Check(t, func(t *rapid.T) {
		n, now, seq := start(key), noon, uint64(0)
		n.BeginIncarnation(1)
		var events []protocol.Message
		var all proof.Tree
		var last proof.Head
		observe := func(out []protocol.Message) {
			for _, m := range n.Events() {
				events = append(events, m)
				if b, ok := m.Body.(protocol.LogEntries); ok {
					if _, err := notary.ExtendTree(&all, b); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, m := range out {
				b, ok := m.Body.(protocol.LogHead)
				if !ok {
					continue
				}
				is, err := proof.OpenHead(public, b.Note)
				if err != nil {
					t.Fatal(err)
				}
				if root, err := all.Root(all.Size()); err != nil || is != (proof.Head{Size: all.Size(), Root: root}) {
					t.Fatalf("head %v of a log of %d, %v", is, all.Size(), err)
				}
				if b.Since != last.Size || b.Since > 0 && proof.CheckConsistency(b.Path, last, is) != nil {
					t.Fatalf("head %v does not follow %v: it names %d", is, last, b.Since)
				}
				last = is
			}
		}
		life := uint32(1)
		for range rapid.IntRange(10, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0: // another coordinator goes on
				n, life = start(key), life+1
				for _, m := range events {
					if err := n.Restore(m); err != nil {
						t.Fatal(err)
					}
				}
				n.BeginIncarnation(life)
			case 1: // what is left of the events after a snapshot
				s := snapshot.New(time.Hour)
				for _, m := range events {
					s.AddEvent(m)
				}
				events = s.SnapshotMessages(uint64(len(events)))
			case 2, 3:
				seq++
				m := protocol.Message{Version: protocol.Current, At: now, From: protocol.Submitter, Seq: seq, To: protocol.Coordinator,
					Body: protocol.Submit{Job: protocol.Job{ID: protocol.JobID(rapid.StringMatching("[a-z]{8}").Draw(t, "job")), CPU: 1000, Arrival: now, Run: time.Hour, Deadline: now.Add(9 * time.Hour)}}}
				out := n.Step(now, m)
				observe(out)
				checkReceipt(t, public, out, m)
				if again := n.Step(now, m); len(again) > 0 || len(n.Events()) > 0 {
					t.Fatalf("a message that came twice leads to %v", again)
				}
			default:
				if due := n.Due(); due != 0 {
					now = max(now, due)
					observe(n.Tick(now))
					if due := n.Due(); due != 0 && due <= now {
						t.Fatalf("after a tick at %v it is due at %v", now, due)
					}
				}
			}
		}
	})
}

func checkReceipt(t *rapid.T, public note.Verifier, out []protocol.Message, m protocol.Message) {
	t.Helper()
	for _, x := range out {
		b, ok := x.Body.(protocol.Receipt)
		if !ok {
			continue
		}
		r, err := proof.OpenReceipt(public, b.Note)
		digest, _ := proof.DigestOf(m)
		if err != nil || b.Of != m.Seq || x.To != m.From || r.From != m.From || r.Seq != m.Seq || r.Digest != digest {
			t.Fatalf("receipt %+v, %v", r, err)
		}
		return
	}
	t.Fatal("there is no receipt")
}

// A log whose events have a gap does not go on: its heads would not be consistent.
func TestALogWithAGapDoesNotGoOn(t *testing.T) {
	key, _ := logKey(t)
	n := start(key)
	n.BeginIncarnation(1)
	var events []protocol.Message
	for i := range 3 {
		n.Step(noon, protocol.Message{Version: protocol.Current, At: noon, From: "agent/oslo", Seq: uint64(i + 1), To: protocol.Coordinator, Body: protocol.RegisterSite{Site: "oslo"}})
		for _, m := range n.Events() {
			if _, ok := m.Body.(protocol.LogEntries); ok {
				events = append(events, m)
			}
		}
	}
	next := start(key)
	if err := next.Restore(events[0]); err != nil {
		t.Fatal(err)
	}
	if err := next.Restore(events[2]); err == nil {
		t.Error("a log with a gap goes on")
	}
}

// BenchmarkRound is a round of 64 bids of 20 kB and as many jobs, without the market's own work.
func BenchmarkRound(b *testing.B) {
	key, _ := logKey(b)
	n := notary.New(notary.Config{Key: key, Salts: proof.SaltKey("secret")}, "{}")
	n.Surround(silent{})
	o := protocol.Bids{Round: 1}
	for i := range 64 {
		jb := protocol.JobBids{Job: protocol.JobID([]byte{'j', byte('a' + i%26), byte('a' + i/26)})}
		for range 4 {
			jb.Options = append(jb.Options, protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Cap: 200_000, Energy: 720_000_000, Carbon: 12_345_678, Money: 17_000})
		}
		o.Jobs = append(o.Jobs, jb)
	}
	seq := uint64(0)
	for b.Loop() {
		for range 64 {
			seq++
			n.Step(noon, protocol.Message{Version: protocol.Current, At: noon, From: "agent/oslo", Seq: seq, To: protocol.Coordinator, Body: o, Signature: &protocol.Signature{}})
		}
	}
}

// silent is a market that says nothing.
type silent struct{}

func (silent) Step(protocol.Time, protocol.Message) []protocol.Message { return nil }
func (silent) RefuseDuplicate(protocol.Message) bool                   { return false }
func (silent) Tick(protocol.Time) []protocol.Message                   { return nil }
func (silent) Due() protocol.Time                                      { return 0 }
func (silent) Events() []protocol.Message                              { return nil }
func (silent) Restore(protocol.Message)                                {}
func (silent) BeginIncarnation(uint32)                                 {}
func (silent) NewMessage(now protocol.Time, to protocol.Party, b protocol.Body) protocol.Message {
	return protocol.Message{Version: protocol.Current, At: now, From: protocol.Coordinator, Seq: 1, To: to, Body: b}
}
