package notary

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
)

// A Reader is who asks for its own entries.
type Reader struct {
	Party  protocol.Party // "": none
	Tenant string         // "": none; whose jobs a submitter may ask about
}

// OpenFor returns what a reader may see of a coordinator's record: its own entries with their
// messages, inclusion proofs in the log of the last head, and proofs that the heads of the record
// follow one another, with these heads. A site sees what it said and was told, alone or with all
// others; a tenant its jobs. The first message has the proofs. The error says what the record lacks.
func OpenFor(who Reader, record []protocol.Message) ([]protocol.Message, error) {
	r, err := readLog(record)
	if err != nil {
		return nil, err
	}
	o := protocol.Openings{From: r.first}
	if o.Size = r.lastHead(); o.Size == 0 {
		return nil, fmt.Errorf("notary: the record has no head of the log: it was kept without one")
	}
	jobs := r.jobsOf(who)
	out := []protocol.Message{{}}
	for i, e := range r.entries {
		index := r.first + uint64(i)
		m, ok := r.messages[messageID{e.From, e.Seq}]
		if index >= o.Size || !ok || !who.maySee(m, jobs) {
			continue
		}
		path, err := r.tree.ProveInclusion(index, o.Size)
		if err != nil {
			return nil, err
		}
		o.Entries = append(o.Entries, protocol.Opening{Index: index, At: e.At, From: e.From, Seq: e.Seq, Round: e.Round, Salt: e.Salt, Path: path})
		out = append(out, m)
	}
	for i := 1; i < len(r.heads); i++ {
		if path, err := r.tree.ProveConsistency(r.heads[i-1], r.heads[i]); err == nil { // not of what came before the record
			o.Links = append(o.Links, protocol.LogLink{Old: r.heads[i-1], New: r.heads[i], Path: path})
		}
	}
	out = append(out, r.sent...)
	out[0] = protocol.Message{Version: protocol.Current, At: r.at, From: protocol.LogWriter, Seq: 1, To: cmp.Or(who.Party, protocol.LogWriter), Body: o}
	return out, nil
}

// A messageID names a message.
type messageID struct {
	from protocol.Party
	seq  uint64
}

// A logRecord is the log as a record holds it.
type logRecord struct {
	at       protocol.Time
	first    uint64 // index of the first entry
	entries  []protocol.LogEntry
	heads    []uint64 // sizes, in order
	tree     proof.Tree
	messages map[messageID]protocol.Message
	submits  []protocol.Message
	parts    []protocol.Job     // of jobs that may go to several sites, as they were called
	sent     []protocol.Message // heads
}

// readLog collects the log of a record, whose parts may come in any order and twice. If it has gaps,
// as of the time when another coordinator led, what comes after the last counts.
func readLog(record []protocol.Message) (*logRecord, error) {
	r := &logRecord{messages: make(map[messageID]protocol.Message)}
	var parts []protocol.LogEntries
	for _, m := range record {
		r.at = max(r.at, m.At)
		if b, ok := m.Body.(protocol.LogEntries); ok {
			parts = append(parts, b)
			continue
		}
		r.addMessage(m)
	}
	slices.SortStableFunc(parts, func(x, y protocol.LogEntries) int { return cmp.Compare(x.First, y.First) })
	for _, b := range parts {
		if err := r.addPart(b); err != nil {
			return nil, fmt.Errorf("notary: the record's part of the log from entry %d on: %w", b.First, err)
		}
	}
	return r, nil
}

func (r *logRecord) addMessage(m protocol.Message) {
	id := messageID{m.From, m.Seq}
	if _, known := r.messages[id]; known {
		return
	}
	r.messages[id] = m
	switch b := m.Body.(type) {
	case protocol.Submit:
		r.submits = append(r.submits, m)
	case protocol.CallForBids:
		for _, j := range b.Jobs {
			if j.PartOf != "" {
				r.parts = append(r.parts, j)
			}
		}
	case protocol.LogHead:
		r.sent = append(r.sent, m)
	}
}

func (r *logRecord) addPart(b protocol.LogEntries) error {
	switch size := r.tree.Size(); {
	case b.First < size:
		past := min(size-b.First, uint64(len(b.Entries)))
		b.First, b.Entries = b.First+past, b.Entries[past:]
		if b.First < size {
			return nil
		}
	case b.First > size && len(b.Edge) > 0:
		r.tree, r.entries, r.heads, r.first = proof.Tree{}, nil, nil, b.First
	}
	size, err := ExtendTree(&r.tree, b)
	if err != nil {
		return err
	}
	r.entries = append(r.entries, b.Entries...)
	if b.Head && (len(r.heads) == 0 || r.heads[len(r.heads)-1] < size) {
		r.heads = append(r.heads, size)
	}
	return nil
}

// lastHead returns the size of the log at the last head; 0: there is none.
func (r *logRecord) lastHead() uint64 {
	if len(r.heads) == 0 {
		return 0
	}
	return r.heads[len(r.heads)-1]
}

// jobsOf returns the jobs that a reader submitted, or that are of its tenant, and their parts.
func (r *logRecord) jobsOf(who Reader) map[protocol.JobID]bool {
	jobs := make(map[protocol.JobID]bool)
	for _, m := range r.submits {
		if b, ok := m.Body.(protocol.Submit); ok && (m.From == who.Party || who.Tenant != "" && b.Job.Tenant == who.Tenant) {
			jobs[b.Job.ID] = true
		}
	}
	for _, p := range r.parts {
		if jobs[p.PartOf] {
			jobs[p.ID] = true
		}
	}
	return jobs
}

// maySee reports whether a message is a reader's own.
func (who Reader) maySee(m protocol.Message, jobs map[protocol.JobID]bool) bool {
	_, begin := m.Body.(protocol.LogBegin)
	if begin || who.Party != "" && (m.From == who.Party || m.To == who.Party) {
		return true
	}
	if who.Party.SiteName() != "" && m.To == "" && !who.Party.IsPrivate() {
		return true // it was told with all others
	}
	switch b := m.Body.(type) {
	case protocol.Submit:
		return jobs[b.Job.ID]
	case protocol.Settlement:
		return jobs[b.Job] || who.Tenant != "" && b.Payer == who.Tenant
	case protocol.ServiceSettlement:
		return who.Tenant != "" && b.Payer == who.Tenant
	case protocol.Preempt:
		return jobs[b.Job] || jobs[b.For]
	case protocol.JudgeRequest, protocol.JudgeAnswer:
		return false // they name the options of all sites
	}
	one, ok := m.OneJob()
	return ok && jobs[one]
}
