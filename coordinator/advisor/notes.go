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

// ReadNotes reads operators' notes: a JSON list of objects with site and text, and
// optionally id, from and to (RFC 3339). Each note must name one of sites; nil
// accepts any site.
func ReadNotes(r io.Reader, sites []string) ([]market.TimedNote, error) {
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
		return nil, fmt.Errorf("advisor: notes: %w; want [{\"site\": NAME, \"text\": TEXT, \"from\": TIME, \"to\": TIME}, ...]", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("advisor: notes: data after the list; want one list of all notes")
	}
	var notes []market.TimedNote
	for i, n := range rows {
		if n.ID == "" {
			n.ID = fmt.Sprint("N", i+1)
		}
		switch {
		case sites != nil && !slices.Contains(sites, n.Site) || n.Site == "":
			return nil, fmt.Errorf("advisor: notes: %s: unknown site %q; the sites are %q", n.ID, n.Site, sites)
		case n.Text == "" || utf8.RuneCountInString(n.Text) > maxNoteChars:
			return nil, fmt.Errorf("advisor: notes: %s: text: want 1 to %d characters", n.ID, maxNoteChars)
		case len(n.ID) > 32:
			return nil, fmt.Errorf("advisor: notes: id %q: want at most 32 bytes", n.ID)
		case !n.To.IsZero() && !n.To.After(n.From):
			return nil, fmt.Errorf("advisor: notes: %s: to is not after from", n.ID)
		}
		notice := market.TimedNote{OperatorNotice: protocol.OperatorNotice{ID: n.ID, Site: n.Site, Text: n.Text}}
		if !n.From.IsZero() {
			notice.From = protocol.FromStdTime(n.From)
		}
		if !n.To.IsZero() {
			notice.To = protocol.FromStdTime(n.To)
		}
		notes = append(notes, notice)
	}
	return notes, nil
}

// maxNotesBytes bounds the bytes of all notes of a live market. The market records its
// whole configuration in one text of a message; the rest of it needs the 4 KiB.
const maxNotesBytes = protocol.MaxText - 4<<10

// CheckNotesSize returns an error if a live market cannot take notes: they are too long.
func CheckNotesSize(notes []market.TimedNote) error {
	text, err := json.Marshal(notes)
	if err == nil && len(text) > maxNotesBytes {
		err = fmt.Errorf("advisor: notes: they have %d bytes together: want at most %d; remove notes whose time is over", len(text), maxNotesBytes)
	}
	return err
}
