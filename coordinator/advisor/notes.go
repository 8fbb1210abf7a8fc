package advisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/protocol"
)

// ReadNotes reads operators' notes: a JSON list of objects with site and text,
// and perhaps id, from and to (RFC 3339). Sites are those that there are; nil if
// that is not known.
func ReadNotes(r io.Reader, sites []string) ([]market.Notice, error) {
	var rows []struct {
		ID   string    `json:"id"`
		Site string    `json:"site"`
		Text string    `json:"text"`
		From time.Time `json:"from"`
		To   time.Time `json:"to"`
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&rows); err != nil {
		return nil, fmt.Errorf("advise: notes: %w; want [{\"site\": NAME, \"text\": TEXT, \"from\": TIME, \"to\": TIME}, ...]", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("advise: notes: something follows the list; want one list of all notes")
	}
	var notes []market.Notice
	for i, n := range rows {
		if n.ID == "" {
			n.ID = fmt.Sprint("N", i+1)
		}
		switch {
		case sites != nil && !slices.Contains(sites, n.Site) || n.Site == "":
			return nil, fmt.Errorf("advise: notes: %s: there is no site %q; there are %q", n.ID, n.Site, sites)
		case n.Text == "" || utf8.RuneCountInString(n.Text) > mostNote:
			return nil, fmt.Errorf("advise: notes: %s: text: want 1 to %d characters", n.ID, mostNote)
		case len(n.ID) > 32:
			return nil, fmt.Errorf("advise: notes: id %q: want at most 32 bytes", n.ID)
		case !n.To.IsZero() && !n.To.After(n.From):
			return nil, fmt.Errorf("advise: notes: %s: to is not after from", n.ID)
		}
		notice := market.Notice{Note: protocol.Note{ID: n.ID, Site: n.Site, Text: n.Text}}
		if !n.From.IsZero() {
			notice.From = protocol.At(n.From)
		}
		if !n.To.IsZero() {
			notice.To = protocol.At(n.To)
		}
		notes = append(notes, notice)
	}
	return notes, nil
}

// mostNotes is how many bytes the notes of a live market have together. It writes them
// down with its other settings: one text, that has room for little more.
const mostNotes = protocol.MaxText - 4<<10

// CheckLive says what keeps a live market from having notes, or nil.
func CheckLive(notes []market.Notice) error {
	text, err := json.Marshal(notes)
	if err == nil && len(text) > mostNotes {
		err = fmt.Errorf("advise: notes: they are %d bytes long together: want at most %d; leave out those whose time is over", len(text), mostNotes)
	}
	return err
}
