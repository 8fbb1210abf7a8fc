package protocol

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
)

// MaxMessage is the largest encoded size of a message in bytes. A clearing round of several
// thousand jobs stays below it.
const MaxMessage = 8 << 20

// A VersionError reports a message, or a file of messages, of a version that this code does not
// read. Buses count such a message as refused and continue.
type VersionError struct{ Version Version }

func (e *VersionError) Error() string {
	if e.Version > Current {
		return fmt.Sprintf("protocol version %d is newer than %d, the only one that this program reads: update this program", e.Version, Current)
	}
	return fmt.Sprintf("protocol version %d is older than %d, the only one that this program reads: update the program that sends it; a recorded ledger is read by the release that wrote it, or the run is replayed", e.Version, Current)
}

// CheckVersion returns a *VersionError if a header that was written as text, such as
// that of a ledger, names another version than [Current]. Empty text is no error: each
// message carries its version too.
func CheckVersion(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return fmt.Errorf("protocol version %q is not a number", text)
	case Version(n) != Current:
		return &VersionError{Version(n)}
	}
	return nil
}

// An UnknownKindError reports a message of a kind that this code does not know, because its sender
// is newer. Receivers count it and continue.
type UnknownKindError struct {
	Kind    string
	Version Version
	From    Party
}

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("protocol: %s sent kind %q in version %d; this program's version %d does not know it", e.From, e.Kind, e.Version, Current)
}

// bodyPlansByKind has the plan of each kind of message, and bodyPlansByType the same by the type of the body.
var bodyPlansByKind, bodyPlansByType = planBodies()

func planBodies() (byKind map[string]*bodyPlan, byType map[reflect.Type]*bodyPlan) {
	byKind, byType = make(map[string]*bodyPlan), make(map[reflect.Type]*bodyPlan)
	p := &planner{walks: make(map[reflect.Type]valueWalk), plans: make(map[reflect.Type]tablePlan)}
	registerRow[Component](p)
	registerRow[PodGroup](p)
	registerRow[Part](p)
	registerRow[PartSite](p)
	registerRow[Label](p)
	registerRow[NodeTopology](p)
	registerRow[SpeedPoint](p)
	registerRow[Place](p)
	registerRow[Spread](p)
	registerRow[Hole](p)
	registerRow[LargestSet](p)
	registerRow[ShadowPrice](p)
	registerRow[JobBids](p)
	registerRow[Estimate](p)
	registerRow[BidOption](p)
	registerRow[CapacityProfile](p)
	registerRow[GridForecast](p)
	registerRow[Pool](p)
	registerRow[Node](p)
	registerRow[Point](p)
	registerRow[HourlyEnergy](p)
	registerRow[Usage](p)
	registerRow[Certificate](p)
	registerRow[Reason](p)
	registerRow[Weights](p)
	registerRow[JudgeChoice](p)
	registerRow[OperatorNotice](p)
	registerRow[JudgePick](p)
	registerRow[Balance](p)
	registerRow[EndedJob](p)
	registerRow[MonthUsage](p)
	registerRow[BudgetCharge](p)
	registerRow[OrphanedRun](p)
	registerRow[Input](p)
	registerRow[LogEntry](p)
	registerRow[Opening](p)
	registerRow[LogLink](p)
	registerRow[LogLine](p)
	for _, b := range []Body{
		Submit{}, CallForBids{}, Bids{}, Award{}, Defer{}, Reject{}, Accept{}, Decline{}, Launch{}, Started{}, Finished{},
		CompletedRun{}, Interrupted{}, PartsDecided{}, Preempt{}, Preempted{}, UsageReport{}, Settlement{}, JobStatus{}, RegisterSite{}, Inventory{}, Signal{}, IdleReading{}, SiteUsage{}, JudgeRequest{}, JudgeAnswer{}, Confirm{}, Cancel{}, Drain{}, Policy{}, InputLog{}, Snapshot{}, DecommissionSite{}, QuoteRequest{}, Quote{}, LogRequest{}, JobLog{}, Heartbeat{}, SiteCondition{}, SitePrices{}, LocalStart{},
		SubmitService{}, ScaleService{}, RebalanceService{}, DeleteService{}, CallForCapacity{}, CapacityBid{}, ServiceDivision{}, ServiceStatus{}, AssignReplicas{}, ReplicaStatus{}, ServiceSettlement{}, RunReplicas{}, ReplicasRunning{},
		LogHead{}, Receipt{}, SiteClearing{}, LogBegin{}, LogEntries{}, Openings{},
	} {
		t := reflect.TypeOf(b)
		plan := newBodyPlan(t, p.planOf(t).walkTable)
		byKind[b.messageKind()], byType[t] = plan, plan
	}
	return byKind, byType
}

// KindNames returns the kinds of all messages, sorted.
func KindNames() []string { return slices.Sorted(maps.Keys(bodyPlansByKind)) }

// Buffers of encoders and decoders, which are reused.
var (
	encoderPool = sync.Pool{New: func() any { return &wire{writing: true} }}
	decoderPool = sync.Pool{New: func() any { return &wire{names: new(nameCache)} }}
)

// Encode returns the encoding of m. The same message has the same bytes on every machine, and
// Decode reads whatever Encode writes.
func Encode(m Message) ([]byte, error) { return AppendEncode(nil, m) }

// AppendEncode appends the encoding of m to dst. On an error it returns dst unchanged.
func AppendEncode(dst []byte, m Message) ([]byte, error) {
	s := encoderPool.Get().(*wire)
	defer encoderPool.Put(s)
	if err := s.encodeMessage(m); err != nil {
		return dst, err
	}
	size := len(s.data)
	if size > MaxMessage {
		s.data = nil // too large to keep in the pool
		return dst, fmt.Errorf("protocol: encode %s: %d bytes; the limit is %d: split it into several messages", m.KindName(), size, MaxMessage)
	}
	return append(slices.Grow(dst, size), s.data...), nil
}

// EncodedSize returns the encoded size of m in bytes, even if it exceeds MaxMessage. It costs as
// much as Encode.
func EncodedSize(m Message) (int, error) {
	s := encoderPool.Get().(*wire)
	defer encoderPool.Put(s)
	if err := s.encodeMessage(m); err != nil {
		return 0, err
	}
	size := len(s.data)
	if size > MaxMessage {
		s.data = nil // too large to keep in the pool
	}
	return size, nil
}

// encodeMessage writes m into w.data.
func (w *wire) encodeMessage(m Message) error {
	plan := bodyPlansByType[reflect.TypeOf(m.Body)]
	switch {
	case m.Body == nil:
		return errors.New("protocol: encode: no body")
	case plan == nil:
		return fmt.Errorf("protocol: encode: body is %T; want a struct by value", m.Body)
	}
	if err := m.validateEnvelope(); err != nil {
		return fmt.Errorf("protocol: encode: %w", err)
	}
	w.data, w.err = w.data[:0], nil
	w.writeEnvelope(m)
	plan.writeBody(w, m.Body)
	if w.err != nil {
		return fmt.Errorf("protocol: encode %s: %w", m.KindName(), w.err)
	}
	return nil
}

// writeEnvelope writes all of m except its body.
func (w *wire) writeEnvelope(m Message) {
	if m.Signature == nil {
		w.putCount(7, 0x80)
	} else {
		w.putCount(8, 0x80)
	}
	w.putSignature(m)
	w.putText("v")
	w.putInt(int64(m.Version))
	w.putText("at")
	w.putInt(int64(m.At))
	w.putText("f")
	w.putText(string(m.From))
	w.putText("s")
	w.putUint(m.Seq)
	w.putText("t")
	w.putText(string(m.To))
	w.putText("k")
	w.putText(m.KindName())
	w.putText("b")
}

// validateEnvelope returns why an envelope is invalid, or nil.
func (m Message) validateEnvelope() error {
	switch {
	case m.Version != Current:
		return &VersionError{m.Version}
	case m.From == "":
		return errors.New("no sender (from)")
	case m.Seq == 0:
		return errors.New("seq 0: sequence numbers start at 1, see Sender.NewMessage")
	case len(m.From) > maxName || len(m.To) > maxName:
		return fmt.Errorf("party name longer than %d bytes", maxName)
	}
	return nil
}

// Decode reads a message from untrusted bytes. It ignores unknown fields. The error is a
// *VersionError if the message has another version, and an *UnknownKindError if its kind is
// unknown. Decode never panics, and its memory is proportional to len(data).
func Decode(data []byte) (Message, error) {
	if len(data) > MaxMessage {
		return Message{}, fmt.Errorf("protocol: decode: %d bytes; the limit is %d", len(data), MaxMessage)
	}
	w := decoderPool.Get().(*wire)
	defer func() {
		w.data = nil // it belongs to the caller
		decoderPool.Put(w)
	}()
	*w = wire{data: data, names: w.names}
	m, kind, body := w.readEnvelope()
	end := w.at
	if w.err == nil && end < len(data) {
		w.recordError(end, fmt.Errorf("%d extra bytes at the end", len(data)-end))
	}
	if w.err == nil {
		w.err = m.validateEnvelope()
	}
	plan := bodyPlansByKind[kind]
	switch {
	case w.err != nil:
		return Message{}, fmt.Errorf("protocol: decode: %w", w.err)
	case plan == nil:
		return Message{}, &UnknownKindError{Kind: kind, Version: m.Version, From: m.From}
	case m.Body != nil:
		return m, nil
	case body == 0:
		return Message{}, fmt.Errorf("protocol: decode %s from %s: no body", kind, m.From)
	}
	w.at = body
	w.readBody(&m, kind, plan)
	if w.err != nil {
		return Message{}, fmt.Errorf("protocol: decode: %w", w.err)
	}
	return m, nil
}

// readBody reads the body of m.
func (w *wire) readBody(m *Message, kind string, plan *bodyPlan) {
	if m.Body = plan.readBody(w); w.err != nil {
		w.err = fmt.Errorf("%s from %s: %w", kind, m.From, w.err)
	}
}

// readEnvelope reads m, and its body if version and kind come before it, as this program writes them; otherwise it
// returns the body's position, or 0. If w.err is nil all values, the body's too, are well formed.
func (w *wire) readEnvelope() (m Message, kind string, body int) {
	if f, _ := w.peekHead(); f != formTable {
		w.recordError(0, errors.New("not a message: want a map"))
	}
	_, n := w.readHead()
	first, seen := w.at, 0
	var signature [2]int // where it lies
	for i := 0; i < n && w.err == nil; i++ {
		at, bit := w.at, 0
		key := w.readBytes(w.expectForm(formText, "a key"))
		switch string(key) {
		case "v":
			m.Version, bit = Version(w.readInt()), 1
		case "at":
			m.At, bit = Time(w.readInt()), 2
		case "f":
			m.From, bit = Party(w.readText()), 4
		case "s":
			m.Seq, bit = uint64(w.readInt()), 8
		case "t":
			m.To, bit = Party(w.readText()), 16
		case "k":
			kind, bit = w.readText(), 32
		case "b":
			body, bit = w.at, 64
			if f, _ := w.peekHead(); f != formTable {
				w.recordError(w.at, errors.New("body is not a map"))
			}
			if plan := bodyPlansByKind[kind]; plan != nil && m.Version == Current && m.Body == nil {
				w.readBody(&m, kind, plan)
			} else {
				w.skipValue(1)
			}
		case "sg":
			m.Signature, bit = w.readSignature(), 128
			signature = [2]int{at, w.at}
		default:
			w.skipValue(1)
		}
		if seen&bit != 0 {
			w.recordError(at, fmt.Errorf("%q comes twice", key))
		}
		seen |= bit
	}
	if len(kind) > maxName {
		w.recordError(0, fmt.Errorf("kind of over %d bytes", maxName))
	}
	if m.Signature != nil && w.err == nil {
		m.Signature.Digest = digestWithout(w.data[:w.at], first, signature[0], signature[1])
	}
	return m, kind, body
}
