package lies_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

const victim = protocol.Party("agent/oslo") // A in the table of docs/proof.md

// once tells a lie once, when it is possible for the first time after some rounds.
func (w *world) once(possible bool) bool {
	if w.lied > 0 || !possible || w.round < 6 {
		return false
	}
	w.lied++
	return true
}

// always tells a lie whenever it is possible, after some rounds.
func (w *world) always(possible bool) bool {
	if !possible || w.round < 6 {
		return false
	}
	w.lied++
	return true
}

// resealed is a message whose body was changed, as a ledger has it: with the signature of the former.
func resealed(w *world, m protocol.Message, b protocol.Body) protocol.Message {
	m.Body = b
	if m.Signature != nil {
		s := *m.Signature
		m.Signature = &s
	}
	data, err := protocol.Encode(m)
	if err != nil {
		w.t.Fatal(err)
	}
	return decoded(w.t, data)
}

// alterBodies changes messages of one kind that the market says.
func alterBodies[B protocol.Body](change func(w *world, m *protocol.Message, b B) bool) func(*world, *market.Market, []protocol.Message) []protocol.Message {
	return func(w *world, _ *market.Market, out []protocol.Message) []protocol.Message {
		for i := range out {
			if b, ok := out[i].Body.(B); ok && change(w, &out[i], b) {
				continue
			}
		}
		return out
	}
}

func forgedBids(b protocol.Bids) protocol.Bids {
	b.Jobs = slices.Clone(b.Jobs)
	for i := range b.Jobs {
		b.Jobs[i].Options = slices.Clone(b.Jobs[i].Options)
		for k := range b.Jobs[i].Options {
			b.Jobs[i].Options[k].Money *= 3
		}
	}
	return b
}

// lies are those of the table of docs/proof.md, which says who finds each by which check.
var lies = []lie{
	{number: 1, name: "a bid forged in A's name",
		input: func(w *world, m protocol.Message) []protocol.Message {
			if b, ok := m.Body.(protocol.Bids); ok && m.From == victim && w.once(len(b.Jobs) > 0) {
				m.Body = forgedBids(b)
				value, err := partyKeys["agent/lyon"].Sign([]byte("another key, and another text"))
				if err != nil {
					w.t.Fatal(err)
				}
				return []protocol.Message{resealed(w, protocol.Message{Version: m.Version, At: m.At, From: m.From, Seq: m.Seq, To: m.To, Signature: &protocol.Signature{Value: [64]byte(value)}}, m.Body)}
			}
			return []protocol.Message{m}
		}},
	{number: 2, name: "a bid altered",
		input: func(w *world, m protocol.Message) []protocol.Message {
			if b, ok := m.Body.(protocol.Bids); ok && m.From == victim && w.once(len(b.Jobs) > 0) {
				return []protocol.Message{resealed(w, m, forgedBids(b))}
			}
			return []protocol.Message{m}
		}},
	{number: 3, name: "a bid dropped after its receipt",
		input: func(w *world, m protocol.Message) []protocol.Message {
			if _, ok := m.Body.(protocol.Bids); !ok || m.From != victim || !w.once(true) {
				return []protocol.Message{m}
			}
			digest, err := proof.DigestOf(m)
			if err != nil {
				w.t.Fatal(err)
			}
			text, err := proof.SignReceipt(logKey, proof.Receipted{From: m.From, Seq: m.Seq, Index: w.logSize(), Digest: digest})
			if err != nil {
				w.t.Fatal(err)
			}
			w.held[victim] = append(w.held[victim], protocol.Message{Version: protocol.Current, At: w.now, From: protocol.Coordinator, Seq: 1, To: victim, Body: protocol.Receipt{Of: m.Seq, Note: text}})
			return nil
		}},
	{number: 4, name: "the trust factor altered",
		read: func(w *world, r *auction.Round) {
			for i := range r.Sites {
				if protocol.AgentParty(r.Sites[i].Name) == victim && w.always(true) {
					r.Sites = slices.Clone(r.Sites)
					r.Sites[i].Trust += 700
				}
			}
		}},
	{number: 5, name: "an award to a worse bid",
		decide: func(w *world, r auction.Round, clear func(auction.Round) auction.Outcome) auction.Outcome {
			out := clear(r)
			for i, d := range out.Decisions {
				for _, b := range r.Lots[i].Bids {
					if d.Verdict == auction.Award && b.Site != d.Site && w.once(b.Options[0].Start <= r.Now.Add(time.Minute)) {
						out.Decisions[i].Site, out.Decisions[i].Option = b.Site, b.Options[0]
					}
				}
			}
			return out
		}},
	{number: 6, name: "a called job skipped",
		output: func(w *world, _ *market.Market, out []protocol.Message) []protocol.Message {
			return slices.DeleteFunc(out, func(m protocol.Message) bool {
				_, ok := m.Body.(protocol.Defer)
				return ok && w.once(true)
			})
		}},
	{number: 7, name: "a ghost job that raises shadow prices",
		input: func(w *world, m protocol.Message) []protocol.Message {
			s, ok := m.Body.(protocol.Submit)
			if !ok || !w.once(true) {
				return []protocol.Message{m}
			}
			s.Job.ID, s.Job.GPUs = "ghost", siteGPUs
			ghost := protocol.Message{Version: m.Version, At: m.At, From: m.From, Seq: m.Seq + 1<<30, To: m.To, Body: s}
			w.senders[m.From].Incarnation = 1 // what its submitter says later has higher numbers still
			return []protocol.Message{m, ghost}
		}},
	{number: 8, name: "other shadow prices called than the clearing left",
		output: alterBodies(func(w *world, m *protocol.Message, b protocol.CallForBids) bool {
			if !w.always(true) {
				return false
			}
			b.ShadowPrices = append(slices.DeleteFunc(slices.Clone(b.ShadowPrices), func(p protocol.ShadowPrice) bool { return p.Site == "oslo" }),
				protocol.ShadowPrice{Site: "oslo", Model: "V100", From: w.now.Floor(time.Hour), Slot: time.Hour, Values: []protocol.Microdollars{123_456}})
			m.Body = b
			return true
		})},
	{number: 9, name: "the bound of a round overstated",
		output: alterBodies(func(w *world, m *protocol.Message, b protocol.Award) bool {
			if !w.always(true) {
				return false
			}
			b.Proof.Bound = b.Proof.Primal + 1
			m.Body = b
			return true
		})},
	{number: 10, name: "A's capacity misread",
		read: func(w *world, r *auction.Round) {
			for i := range r.Sites {
				if protocol.AgentParty(r.Sites[i].Name) == victim && w.always(len(r.Sites[i].Capacity) > 0) {
					r.Sites = slices.Clone(r.Sites)
					c := slices.Clone(r.Sites[i].Capacity)
					c[0].Free = make([]protocol.Milli, len(c[0].Free))
					r.Sites[i].Capacity = c
				}
			}
		}},
	{number: 11, name: "an award's price that is not the bid's",
		output: alterBodies(func(w *world, m *protocol.Message, b protocol.Award) bool {
			if m.To != victim || !w.once(true) {
				return false
			}
			b.Option.Money -= 1000
			m.Body = b
			return true
		})},
	{number: 12, name: "measured energy altered",
		market: func(w *world, m protocol.Message) protocol.Message {
			if b, ok := m.Body.(protocol.UsageReport); ok && m.From == victim && w.once(b.Energy > 0) {
				b.Energy += b.Energy / 2
				m.Body = b
			}
			return m
		}},
	{number: 13, name: "another payment rule than the one in force",
		settings: func(_ *world, c *market.Config) { c.Pay.Margin = 20 },
		output: alterBodies(func(w *world, m *protocol.Message, b protocol.Settlement) bool {
			w.lied++
			return false
		})},
	{number: 14, name: "a policy backdated",
		output: alterBodies(func(w *world, m *protocol.Message, b protocol.Policy) bool {
			w.lied++
			m.At = m.At.Add(-time.Hour)
			return true
		})},
	{number: 15, name: "a quota read wrongly", quotas: true,
		market: func(w *world, m protocol.Message) protocol.Message {
			if b, ok := m.Body.(protocol.Policy); ok {
				w.lied++
				b.Quotas = slices.Clone(b.Quotas)
				b.Quotas[1].Max = 2000 // and not 6000
				m.Body = b
			}
			return m
		},
		output: alterBodies(func(w *world, m *protocol.Message, b protocol.Policy) bool {
			b.Quotas = slices.Clone(b.Quotas)
			b.Quotas[1].Max = 6000 // as announced
			m.Body = b
			return true
		})},
	{number: 16, name: "a needless victim",
		output: func(w *world, k *market.Market, out []protocol.Message) []protocol.Message {
			for _, name := range sortedKeys(w.sites) {
				for _, id := range sortedKeys(w.sites[name].runs) {
					if r := w.sites[name].runs[id]; w.once(true) {
						out = append(out, k.NewMessage(w.now, protocol.AgentParty(name), protocol.Preempt{Job: id, Epoch: r.award.Epoch, For: "job-1", Why: protocol.Reason{Code: protocol.StrongerClaim}, Until: w.now.Add(time.Minute)}))
					}
				}
			}
			return out
		}},
	{number: 17, name: "lost work charged to another tenant",
		output: alterBodies(func(w *world, m *protocol.Message, b protocol.Settlement) bool {
			if !w.once(b.Part && b.Paid > 0 && b.Site == victim.SiteName()) {
				return false
			}
			b.Payer = "a-third"
			m.Body = b
			return true
		})},
	{number: 18, name: "A's messages reordered", reorders: true,
		input: func(w *world, m protocol.Message) []protocol.Message {
			if w.kept != nil && m.From == victim {
				late := *w.kept
				w.kept = nil
				return []protocol.Message{m, late}
			}
			if m.From == victim && w.once(m.IsBinding()) {
				w.kept = &m
				return nil
			}
			return []protocol.Message{m}
		}},
	{number: 19, name: "an entry dropped, and the log rewritten",
		rewrite: func(w *world) { w.lied++; w.showAll(w.rewriteLog(3)) }},
	{number: 20, name: "two histories",
		told: func(w *world, who protocol.Party, m protocol.Message) protocol.Message {
			b, ok := m.Body.(protocol.LogHead)
			if !ok || who != "agent/lyon" || !w.always(true) {
				return m
			}
			h, err := proof.OpenHead(logVerifier, b.Note)
			if err != nil {
				w.t.Fatal(err)
			}
			h.Root = proof.Commit("another", [32]byte{byte(h.Size)})
			if b.Note, err = proof.SignHead(logKey, h); err != nil {
				w.t.Fatal(err)
			}
			m.Body = b
			return m
		}},
	{number: 21, name: "parts of a job committed before all sites accepted",
		market: func(w *world, m protocol.Message) protocol.Message {
			if a, ok := m.Body.(protocol.Accept); ok {
				w.accepted = a
			}
			return m
		},
		output: func(w *world, k *market.Market, out []protocol.Message) []protocol.Message {
			whole, _, part := strings.Cut(string(w.accepted.Job), ".")
			if decided := slices.ContainsFunc(out, func(m protocol.Message) bool { _, ok := m.Body.(protocol.PartsDecided); return ok }); !w.once(part && !decided && len(out) == 0) {
				return out
			}
			who := w.siteOf(w.accepted)
			d := protocol.PartsDecided{Job: protocol.JobID(whole), Epoch: w.accepted.Epoch, Parts: []protocol.PartSite{{Part: w.accepted.Job, Site: who.SiteName()}}, Committed: true, StartBy: w.now.Add(time.Hour)}
			return append(out, k.NewMessage(w.now, protocol.Submitter, d), k.NewMessage(w.now, who, protocol.Confirm{Job: w.accepted.Job, Epoch: w.accepted.Epoch, Code: protocol.AcceptConfirmed}))
		}},
	{number: 22, name: "a start that A reported counted as missed",
		market: func(w *world, m protocol.Message) protocol.Message {
			w.started = protocol.Started{}
			if b, ok := m.Body.(protocol.Started); ok && m.From == victim {
				w.started = b
			}
			return m
		},
		output: func(w *world, k *market.Market, out []protocol.Message) []protocol.Message {
			if !w.once(w.started.Job != "") {
				return out
			}
			return append(out, k.NewMessage(w.now, victim, protocol.Preempt{Job: w.started.Job, Epoch: w.started.Epoch, Why: protocol.Reason{Code: protocol.NotStarted}}))
		}},
	{number: 23, name: "two histories whose heads have no size in common",
		rewrite: func(w *world) {
			w.lied++
			w.elsewhere = newWorld(w.t, w.seed+1000, nil)
			w.elsewhere.play(43)
		}},
}

// logSize returns the size of the log.
func (w *world) logSize() (size uint64) {
	for _, m := range w.record {
		if b, ok := m.Body.(protocol.LogEntries); ok {
			size = b.First + uint64(len(b.Entries))
		}
	}
	return size
}

// rewriteLog writes the log anew without the nth binding entry of A, and signs its head.
func (w *world) rewriteLog(nth int) protocol.Message {
	var entries []protocol.LogEntry
	var rest []protocol.Message
	said := make(map[string]protocol.Message)
	for _, m := range w.record {
		if b, ok := m.Body.(protocol.LogEntries); ok {
			entries = append(entries, b.Entries...)
			continue
		}
		rest = append(rest, m)
		said[fmt.Sprint(m.From, m.Seq)] = m
	}
	var tree proof.Tree
	var kept []protocol.LogEntry
	for _, e := range entries {
		if e.From == victim {
			if nth--; nth == 0 {
				continue
			}
		}
		var of *protocol.Message
		if m, ok := said[fmt.Sprint(e.From, e.Seq)]; ok && e.From != "" {
			of = &m
		}
		x, err := proof.NewEntry(tree.Size(), e.At, e.Round, e.Salt, of)
		if err != nil {
			w.t.Fatal(err)
		}
		e.Leaf = x.Leaf()
		if err := tree.Append(e.Leaf); err != nil {
			w.t.Fatal(err)
		}
		kept = append(kept, e)
	}
	root, err := tree.Root(tree.Size())
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := proof.SignHead(logKey, proof.Head{Size: tree.Size(), Root: root})
	if err != nil {
		w.t.Fatal(err)
	}
	w.record = append(rest, protocol.Message{Version: protocol.Current, From: protocol.LogWriter, Seq: 1, Body: protocol.LogEntries{Entries: kept, Head: true}})
	return protocol.Message{Version: protocol.Current, At: w.now, From: protocol.Coordinator, Seq: 1 << 50, Body: protocol.LogHead{Round: w.round, Note: text}}
}

// showAll gives all parties one more message.
func (w *world) showAll(m protocol.Message) {
	for _, who := range sortedKeys(partyKeys) {
		w.held[who] = append(w.held[who], m)
	}
}
