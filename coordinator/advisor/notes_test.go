package advisor

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

func TestNotesAreReadStrictly(t *testing.T) {
	sites := []string{"lyon", "oslo"}
	got, err := ReadNotes(strings.NewReader(`[{"site":"oslo","text":"serviced","from":"2022-04-13T12:00:00Z","to":"2022-04-13T14:00:00+01:00"},{"id":"x","site":"lyon","text":"ok"}]`), sites)
	if err != nil || len(got) != 2 || got[0].ID != "N1" || got[0].From != noon || got[0].To != noon+3_600_000 || got[1].OperatorNotice != (protocol.OperatorNotice{ID: "x", Site: "lyon", Text: "ok"}) || got[1].To != 0 {
		t.Errorf("ReadNotes = %+v, %v", got, err)
	}
	for _, tc := range []struct{ text, want string }{
		{`{`, "want"}, {`{"site":"oslo"}`, "want"}, {`[{"site":"oslo","text":"a","weight":1}]`, "weight"},
		{`[{"site":"paris","text":"a"}]`, "paris"}, {`[{"site":"oslo"}]`, "characters"},
		{`[{"site":"oslo","text":"` + strings.Repeat("ä", 301) + `"}]`, "characters"},
		{`[{"site":"oslo","text":"a","from":"2022-04-13T12:00:00Z","to":"2022-04-13T12:00:00Z"}]`, "after"},
		{`[{"site":"oslo","text":"a"}] [{"site":"lyon","text":"b"}]`, "one list"}, {`[{"site":"oslo","text":"a"}]]`, "one list"},
		{`[{"id":"` + strings.Repeat("n", 33) + `","site":"oslo","text":"a"}]`, "32"},
	} {
		if _, err := ReadNotes(strings.NewReader(tc.text), sites); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ReadNotes(%.60s) = %v; want %q in it", tc.text, err, tc.want)
		}
	}
}

// A live market writes all notes down as one text.
func TestCheckLiveRefusesNotesThatAreTooLong(t *testing.T) {
	for n, want := range map[int]string{100: "", 200: "bytes together"} {
		list := "[" + strings.Repeat(`{"site":"oslo","text":"`+strings.Repeat("x", maxNoteChars)+`"},`, n) + `{"site":"oslo","text":"x"}]`
		notes, err := ReadNotes(strings.NewReader(list), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckNotesSize(notes); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d notes: %v; want %q", n, err, want)
		}
	}
}
