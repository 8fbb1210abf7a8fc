package runtime

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

// A heldLedger keeps what a site's agent said to the coordinator and heard of it, with receipts and
// heads of the log: what the site needs to verify the log. It is no part of the agent's state. If it
// cannot be written, the site goes on without.
type heldLedger struct {
	log *slog.Logger

	mu     sync.Mutex
	ledger *wal.Writer // nil: none, or writing has failed
}

// openHeld begins the ledger of an incarnation in a folder; "" for none.
func openHeld(folder, site string, incarnation uint32, log *slog.Logger) (*heldLedger, error) {
	h := &heldLedger{log: log}
	if folder == "" {
		return h, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("site %s: held: %w", site, err)
	}
	var err error
	h.ledger, err = wal.CreateFile(filepath.Join(folder, fmt.Sprintf("%010d.ledger", incarnation)), map[string]string{"held": string(protocol.AgentParty(site)), "protocol": fmt.Sprint(protocol.Current)})
	if err != nil {
		return nil, fmt.Errorf("site %s: held: %w", site, err)
	}
	return h, nil
}

// record records messages; it is bus.Loop.OnSent.
func (h *heldLedger) record(received, sent []protocol.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ledger == nil {
		return
	}
	wrote, err := false, error(nil)
	for _, all := range [][]protocol.Message{received, sent} {
		for _, m := range all {
			if m.From != protocol.Coordinator && m.To != protocol.Coordinator || m.IsOffRecord() || err != nil {
				continue
			}
			wrote, err = true, h.ledger.AppendMessage(m)
		}
	}
	if wrote && err == nil {
		err = h.ledger.Flush()
	}
	if err != nil {
		h.log.Error("the ledger of what the site said and was told cannot be written: what it lacks cannot be verified", "err", err)
		h.ledger = nil
	}
}

// close ends the ledger.
func (h *heldLedger) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ledger == nil {
		return nil
	}
	err := h.ledger.Close()
	h.ledger = nil
	return err
}
