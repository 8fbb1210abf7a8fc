package natsbus

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ReloadConfig reads the configuration file anew. Clients whose keys are no longer in it
// are disconnected before ReloadConfig returns. An invalid file changes nothing and is
// an error.
func (h *ConfiguredServer) ReloadConfig() error {
	h.reload.Lock()
	defer h.reload.Unlock()
	var keys map[string]string
	// Load twice: after the first load, exports of a new account do not reach other
	// accounts yet; the second, when the server knows the account, connects them
	// (nats-server 2.15.2).
	for range 2 {
		opts, err := readServerConfig(h.file)
		if err != nil {
			return err
		}
		keys = keysOf(opts)
		if err := h.nats.ReloadOptions(opts); err != nil {
			return fmt.Errorf("natsbus: %s: %w", h.file, err)
		}
	}
	// Only leaves whose keys or permissions have changed are disconnected.
	changed := func(account string) bool { return keys[account] != h.keys[account] }
	if err := h.disconnectLeaves(changed); err != nil {
		return err
	}
	h.keys = keys
	return nil
}

// disconnectLeaves disconnects the leaf servers of some accounts. nats-server 2.15.2 does
// not disconnect them itself when their keys are removed; those whose keys are
// still valid reconnect within a second.
func (h *ConfiguredServer) disconnectLeaves(of func(account string) bool) error {
	z, err := h.nats.Leafz(nil)
	if err != nil {
		return fmt.Errorf("natsbus: list leaves: %w", err)
	}
	for _, l := range z.Leafs {
		if of(l.Account) {
			_ = h.nats.DisconnectClientByID(l.ID) // fails if it has disconnected already
		}
	}
	return nil
}

// keysOf returns the keys and permissions of each account, as comparable text.
func keysOf(o *server.Options) map[string]string {
	all := make(map[string][]string)
	for _, u := range o.Nkeys {
		if u.Account != nil {
			may, _ := json.Marshal(u.Permissions) // plain lists
			all[u.Account.Name] = append(all[u.Account.Name], u.Nkey+string(may))
		}
	}
	keys := make(map[string]string, len(all))
	for account, list := range all {
		slices.Sort(list)
		keys[account] = strings.Join(list, ",")
	}
	return keys
}

// ReloadOnChange reloads the configuration whenever one of files changes, until ctx ends,
// and retries while that fails. It checks the files once each period. It logs
// each reload, and each failure once. Once a day it also warns of certificates
// that expire soon, and it logs the server's errors about its store.
func (h *ConfiguredServer) ReloadOnChange(ctx context.Context, period time.Duration, log *slog.Logger, files ...string) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	// A text of the versions and the error tells a new failure from a repeated one.
	seen, logged := fileVersions(files), ""
	if modifiedSince(files, h.read) {
		seen = "" // a file changed while the server was starting
	}
	h.log.forwardTo(log)
	h.warnExpiringCerts(log)
	day := time.NewTicker(24 * time.Hour)
	defer day.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-day.C:
			h.warnExpiringCerts(log)
		case <-tick.C:
		}
		now := fileVersions(files)
		if now == seen {
			continue
		}
		if err := h.ReloadConfig(); err == nil {
			log.Info("natsbus: nats configuration reloaded")
			seen, logged = now, ""
		} else if what := now + err.Error(); what != logged {
			log.Error("natsbus: the nats configuration has changed and is invalid; the old one stays in force until it is corrected", "err", err)
			logged = what
		}
	}
}

// certWarningPeriod is how long before its end ReloadOnChange warns of a certificate.
const certWarningPeriod = 30 * 24 * time.Hour

// warnExpiringCerts logs which of the server's certificates expires soon. After that, connected
// clients stay, but new connections from other machines fail.
func (h *ConfiguredServer) warnExpiringCerts(log *slog.Logger) {
	opts, err := readServerConfig(h.file)
	if err != nil || opts.TLSConfig == nil { // ReloadOnChange reports an invalid file
		return
	}
	for _, c := range opts.TLSConfig.Certificates {
		if c.Leaf != nil && time.Until(c.Leaf.NotAfter) < certWarningPeriod {
			log.Warn("natsbus: the certificate of the nats-server expires soon; renew it: gridbid federation rotate --server", "ends", c.Leaf.NotAfter)
		}
	}
}

// modifiedSince reports whether one of files was modified after a time.
func modifiedSince(files []string, than time.Time) bool {
	return slices.ContainsFunc(files, func(f string) bool {
		info, err := os.Stat(f)
		return err == nil && info.ModTime().After(than)
	})
}

// fileVersions returns a text that changes when one of files changes.
func fileVersions(files []string) (all string) {
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			all += fmt.Sprintf("%s %d %d;", f, info.ModTime().UnixNano(), info.Size())
		}
	}
	return all
}
