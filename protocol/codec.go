package protocol

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
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

// bodyTypesByKind maps kinds to bodies. Its initialization registers our row encoders with msgpack
// before any message is encoded.
var bodyTypesByKind = func() map[string]reflect.Type {
	registerRow[Job]()
	registerRow[Component]()
	registerRow[PodGroup]()
	registerRow[Part]()
	registerRow[PartSite]()
	registerRow[Label]()
	registerRow[NodeTopology]()
	registerRow[SpeedPoint]()
	registerRow[Place]()
	registerRow[Spread]()
	registerRow[Hole]()
	registerRow[LargestSet]()
	registerRow[ShadowPrice]()
	registerRow[JobBids]()
	registerRow[Estimate]()
	registerRow[BidOption]()
	registerRow[CapacityProfile]()
	registerRow[GridForecast]()
	registerRow[Pool]()
	registerRow[Node]()
	registerRow[Point]()
	registerRow[HourlyEnergy]()
	registerRow[Usage]()
	registerRow[Certificate]()
	registerRow[Reason]()
	registerRow[Weights]()
	registerRow[JudgeChoice]()
	registerRow[OperatorNotice]()
	registerRow[JudgePick]()
	registerRow[Balance]()
	registerRow[EndedJob]()
	registerRow[MonthUsage]()
	registerRow[BudgetCharge]()
	registerRow[OrphanedRun]()
	registerRow[Input]()
	registerRow[LogEntry]()
	registerRow[Opening]()
	registerRow[LogLink]()
	registerRow[LogLine]()
	registerBoundedList[Hash]()
	registerBoundedList[FoundRunning]()
	registerBoundedList[Rule]()
	registerBoundedList[Quota]()
	registerBoundedList[ModelQuota]()
	registerBoundedList[Service]()
	registerBoundedList[SiteTier]()
	registerBoundedList[SiteWeight]()
	registerBoundedList[ReplicaBid]()
	registerBoundedList[CostStep]()
	registerBoundedList[SiteCount]()
	registerBoundedList[SiteOfReplicas]()
	registerBoundedList[Replica]()
	byName := make(map[string]reflect.Type)
	for _, b := range []Body{
		Submit{}, CallForBids{}, Bids{}, Award{}, Defer{}, Reject{}, Accept{}, Decline{}, Launch{}, Started{}, Finished{},
		CompletedRun{}, Interrupted{}, PartsDecided{}, Preempt{}, Preempted{}, UsageReport{}, Settlement{}, JobStatus{}, RegisterSite{}, Inventory{}, Signal{}, IdleReading{}, SiteUsage{}, JudgeRequest{}, JudgeAnswer{}, Confirm{}, Cancel{}, Drain{}, Policy{}, InputLog{}, Snapshot{}, DecommissionSite{}, QuoteRequest{}, Quote{}, LogRequest{}, JobLog{}, Heartbeat{}, SiteCondition{}, SitePrices{}, LocalStart{},
		SubmitService{}, ScaleService{}, RebalanceService{}, DeleteService{}, CallForCapacity{}, CapacityBid{}, ServiceDivision{}, ServiceStatus{}, AssignReplicas{}, ReplicaStatus{}, ServiceSettlement{}, RunReplicas{}, ReplicasRunning{},
		LogHead{}, Receipt{}, SiteClearing{}, LogBegin{}, LogEntries{}, Openings{},
	} {
		byName[b.messageKind()] = reflect.TypeOf(b)
	}
	return byName
}()

// KindNames returns the kinds of all messages, sorted.
func KindNames() []string { return slices.Sorted(maps.Keys(bodyTypesByKind)) }

// A messageCodec is the buffer, encoder and decoder of one message; both pools reuse them.
type messageCodec struct {
	wire
	enc *msgpack.Encoder
	dec *msgpack.Decoder
}

var (
	encoderPool = sync.Pool{New: func() any {
		s := &messageCodec{wire: wire{writing: true}}
		s.enc = msgpack.NewEncoder(&s.wire)
		s.enc.UseCompactInts(true)
		return s
	}}
	decoderPool = sync.Pool{New: func() any {
		s := new(messageCodec)
		s.dec = msgpack.NewDecoder(&s.wire)
		return s
	}}
)

// Encode returns the encoding of m. The same message has the same bytes on every machine, and
// Decode reads whatever Encode writes.
func Encode(m Message) ([]byte, error) { return AppendEncode(nil, m) }

// AppendEncode appends the encoding of m to dst. On an error it returns dst unchanged.
func AppendEncode(dst []byte, m Message) ([]byte, error) {
	s := encoderPool.Get().(*messageCodec)
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
	s := encoderPool.Get().(*messageCodec)
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

// encodeMessage writes m into s.data.
func (s *messageCodec) encodeMessage(m Message) error {
	body := reflect.ValueOf(m.Body)
	switch {
	case m.Body == nil:
		return errors.New("protocol: encode: no body")
	case body.Kind() != reflect.Struct:
		return fmt.Errorf("protocol: encode: body is %T; want a struct by value", m.Body)
	}
	if err := m.validateEnvelope(); err != nil {
		return fmt.Errorf("protocol: encode: %w", err)
	}
	s.data, s.err = s.data[:0], nil
	s.writeEnvelope(m)
	// Row encoders need addressable values: see registerWalk.
	addressable := reflect.New(body.Type()).Elem()
	addressable.Set(body)
	err := s.enc.EncodeValue(addressable)
	if err == nil {
		err = s.err
	}
	if err != nil {
		return fmt.Errorf("protocol: encode %s: %w", m.KindName(), err)
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
	s := decoderPool.Get().(*messageCodec)
	defer func() {
		s.data = nil // it belongs to the caller
		decoderPool.Put(s)
	}()
	s.wire = wire{data: data, names: s.names}
	m, kind, body := s.readEnvelope()
	end := s.at
	if s.err == nil && end < len(data) {
		s.recordError(end, fmt.Errorf("%d extra bytes at the end", len(data)-end))
	}
	if s.err == nil {
		s.err = m.validateEnvelope()
	}
	typ, known := bodyTypesByKind[kind]
	switch {
	case s.err != nil:
		return Message{}, fmt.Errorf("protocol: decode: %w", s.err)
	case !known:
		return Message{}, &UnknownKindError{Kind: kind, Version: m.Version, From: m.From}
	case body == 0:
		return Message{}, fmt.Errorf("protocol: decode %s from %s: no body", kind, m.From)
	}
	s.at = body
	value := reflect.New(typ).Elem()
	if err := s.dec.DecodeValue(value); err != nil {
		return Message{}, fmt.Errorf("protocol: decode %s from %s: %w", kind, m.From, err)
	}
	m.Body = value.Interface().(Body)
	return m, nil
}

// readEnvelope reads all of m except its body, and returns the position of the body, or 0. If
// s.err is nil all values, the body's too, are well formed.
func (s *messageCodec) readEnvelope() (m Message, kind string, body int) {
	if f, _ := s.peekHead(); f != formTable {
		s.recordError(0, errors.New("not a message: want a map"))
	}
	_, n := s.readHead()
	first, seen := s.at, 0
	var signature [2]int // where it lies
	for i := 0; i < n && s.err == nil; i++ {
		at, bit := s.at, 0
		key := s.readBytes(s.expectForm(formText, "a key"))
		switch string(key) {
		case "v":
			m.Version, bit = Version(s.readInt()), 1
		case "at":
			m.At, bit = Time(s.readInt()), 2
		case "f":
			m.From, bit = Party(s.readText()), 4
		case "s":
			m.Seq, bit = uint64(s.readInt()), 8
		case "t":
			m.To, bit = Party(s.readText()), 16
		case "k":
			kind, bit = s.readText(), 32
		case "b":
			body, bit = s.at, 64
			if f, _ := s.peekHead(); f != formTable {
				s.recordError(s.at, errors.New("body is not a map"))
			}
			s.skipValue(1)
		case "sg":
			m.Signature, bit = s.readSignature(), 128
			signature = [2]int{at, s.at}
		default:
			s.skipValue(1)
		}
		if seen&bit != 0 {
			s.recordError(at, fmt.Errorf("%q comes twice", key))
		}
		seen |= bit
	}
	if len(kind) > maxName {
		s.recordError(0, fmt.Errorf("kind of over %d bytes", maxName))
	}
	if m.Signature != nil && s.err == nil {
		m.Signature.Digest = digestWithout(s.data[:s.at], first, signature[0], signature[1])
	}
	return m, kind, body
}
