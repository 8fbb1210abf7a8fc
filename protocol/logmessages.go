package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

// LogWriter is the sender of what only a coordinator's log holds: LogBegin, LogEntries and
// Openings. It is never on a bus.
const LogWriter Party = "notary"

// Messages about the coordinator's log, a Merkle tree over all that the market heard and said:
// see docs/proof.md.
type (
	// LogHead gives all parties the size and the root of the log, signed. Path proves that the log
	// of the head before it is the beginning of this one.
	LogHead struct {
		Round uint64 `msgpack:"n"`
		Note  string `msgpack:"nt"`          // the signed text: see protocol/proof
		Since uint64 `msgpack:"s"`           // size of the log at the head before it; 0: this is the first
		Path  []Hash `msgpack:"p,omitempty"` // consistency proof from Since
	}

	// Receipt tells the sender of a Submit or of Bids which place in the log they have, signed.
	Receipt struct {
		Of   uint64 `msgpack:"s"`  // sequence number of the message
		Note string `msgpack:"nt"` // the signed text: see protocol/proof
	}

	// SiteClearing tells a site what the clearing of a round read of it: its trust factor and its
	// capacity; and the shadow prices of its own capacity that the clearing left, which the next call
	// carries.
	SiteClearing struct {
		Round        uint64            `msgpack:"n"`
		Trust        Milli             `msgpack:"t"`
		Capacity     []CapacityProfile `msgpack:"rm,omitempty" name:"room"`
		ShadowPrices []ShadowPrice     `msgpack:"sp,omitempty" name:"shadow"`
	}

	// LogBegin is the first entry of an incarnation of the coordinator: the settings under which its
	// market decides, as JSON.
	LogBegin struct {
		Incarnation uint64 `msgpack:"l" name:"life"`
		Rules       string `msgpack:"r"`
	}

	// LogEntries are entries of the log, in order, as the coordinator stores them. Edge stands for all
	// entries before First: it has the roots of the largest full subtrees that cover them.
	LogEntries struct {
		First   uint64     `msgpack:"n"`
		Edge    []Hash     `msgpack:"ed,omitempty"`
		Entries []LogEntry `msgpack:"e,omitempty"`
		Head    bool       `msgpack:"h,omitempty"` // a head was signed after the last of them
	}

	// A LogEntry is one entry: the message From and Seq name, heard or said At by the coordinator's
	// clock. Without a sender it is a tick of the clock.
	LogEntry struct {
		_msgpack struct{} `msgpack:",as_array"`
		At       Time
		From     Party
		Seq      uint64
		Round    uint64 // opened last
		Salt     Hash   // of the commitment
		Leaf     Hash
	}

	// Openings show a party its own entries of the log of a size, each with its inclusion proof, and
	// that the logs of the heads in Links are beginnings of one another. Those before From are not in
	// the record of this coordinator.
	Openings struct {
		Size    uint64    `msgpack:"n"`
		From    uint64    `msgpack:"fr,omitempty"`
		Entries []Opening `msgpack:"e,omitempty"`
		Links   []LogLink `msgpack:"k,omitempty"`
	}

	// An Opening is an entry with its place and its inclusion proof.
	Opening struct {
		_msgpack struct{} `msgpack:",as_array"`
		Index    uint64
		At       Time
		From     Party
		Seq      uint64
		Round    uint64
		Salt     Hash
		Path     []Hash
	}

	// A LogLink is a consistency proof between the logs of two sizes.
	LogLink struct {
		_msgpack struct{} `msgpack:",as_array"`
		Old, New uint64
		Path     []Hash
	}
)

// A Hash is a SHA-256 in base64.
type Hash string

func (LogHead) messageKind() string      { return "head" }
func (Receipt) messageKind() string      { return "receipt" }
func (SiteClearing) messageKind() string { return "cleared" }
func (LogBegin) messageKind() string     { return "begun" }
func (LogEntries) messageKind() string   { return "logged" }
func (Openings) messageKind() string     { return "opened" }

// IsLogEntry reports whether a message is an entry of the log when the coordinator hears or says it.
// What tells of the log itself is none.
func (m Message) IsLogEntry() bool {
	switch m.Body.(type) {
	case LogHead, Receipt:
		return false
	}
	return true
}

func (r *LogEntry) walkWire(w *wire) {
	c := w.beginRow(6)
	walkInt(&c, &r.At)
	walkName(&c, &r.From)
	walkCount(&c, &r.Seq)
	walkCount(&c, &r.Round)
	walkName(&c, &r.Salt)
	walkName(&c, &r.Leaf)
	c.skipNewerColumns()
}

func (r *Opening) walkWire(w *wire) {
	c := w.beginRow(7)
	walkCount(&c, &r.Index)
	walkInt(&c, &r.At)
	walkName(&c, &r.From)
	walkCount(&c, &r.Seq)
	walkCount(&c, &r.Round)
	walkName(&c, &r.Salt)
	walkNames(&c, &r.Path)
	c.skipNewerColumns()
}

func (r *LogLink) walkWire(w *wire) {
	c := w.beginRow(3)
	walkCount(&c, &r.Old)
	walkCount(&c, &r.New)
	walkNames(&c, &r.Path)
	c.skipNewerColumns()
}
