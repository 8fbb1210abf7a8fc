package archive

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

// errNoRecord is the answer of a coordinator that has recorded nothing: it has not led since its
// start, and keeps no archive.
var errNoRecord = errors.New("this coordinator has no record: it has not led since its start and its configuration names no archive; ask the one that leads")

// RecordHandler serves the messages of a coordinator that read returns as a complete ledger, which
// a reader folds as it folds one on disk. The entity tag counts the messages, so a reader learns
// with HEAD whether there are more. Leads goes into the header, as what a standby recorded ends
// where its last term did.
func RecordHandler(read func(context.Context) ([]protocol.Message, error), leads func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := read(r.Context())
		if err == nil && len(all) == 0 {
			err = errNoRecord
		}
		if err != nil {
			answerError(w, http.StatusServiceUnavailable, err)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("ETag", strconv.Quote(strconv.Itoa(len(all))))
		if r.Method == http.MethodHead {
			return
		}
		writeLedger(w, r, all, map[string]string{"policy": "auction", "live": "coordinator", LeadsKey: strconv.FormatBool(leads())})
	})
}

// writeLedger answers with a ledger of messages. If the client goes, its copy has no end and counts as torn.
func writeLedger(w http.ResponseWriter, r *http.Request, all []protocol.Message, header map[string]string) {
	header["protocol"] = fmt.Sprint(protocol.Current)
	ledger, err := wal.NewWriter(w, r.RemoteAddr, header)
	for _, m := range all {
		if err != nil {
			return
		}
		err = ledger.AppendMessage(m)
	}
	if err == nil {
		_ = ledger.Close()
	}
}

// LeadsKey is the key of a served ledger's header that says whether the coordinator leads.
const LeadsKey = "leads"
