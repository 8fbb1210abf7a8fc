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

// Reload reads the configuration file again. Who is no longer in it is
// disconnected before Reload returns. A file that makes no sense changes
// nothing.
func (h *Hosted) Reload() error {
	h.reload.Lock()
	defer h.reload.Unlock()
	var keys map[string]string
	// What a new account says to others reaches nobody until the server, which
	// knows the account by then, reads of it once more (nats-server 2.15.2).
	for range 2 {
		opts, err := configuration(h.file)
		if err != nil {
			return err
		}
		keys = keysOf(opts)
		if err := h.nats.ReloadOptions(opts); err != nil {
			return fmt.Errorf("natsbus: %s: %w", h.file, err)
		}
	}
	changed := func(account string) bool { return keys[account] != h.keys[account] }
	if err := h.dropLeaves(changed); err != nil {
		return err
	}
	h.keys = keys
	return nil
}

// dropLeaves disconnects the servers of accounts. nats-server 2.15.2 does not do
// so itself when their keys are gone; those whose keys are still good return
// within a second.
func (h *Hosted) dropLeaves(of func(account string) bool) error {
	z, err := h.nats.Leafz(nil)
	if err != nil {
		return fmt.Errorf("natsbus: list leaves: %w", err)
	}
	for _, l := range z.Leafs {
		if of(l.Account) {
			_ = h.nats.DisconnectClientByID(l.ID) // it may have left by itself
		}
	}
	return nil
}

// keysOf returns by account who may join and what for.
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

// Watch reloads the configuration whenever one of files changes, until ctx
// ends, and again and again while that fails. It looks once each period, and says
// what it did to log; of a failure once. It says each day, too, which certificate
// ends soon, and hands on what the server says of its store.
func (h *Hosted) Watch(ctx context.Context, period time.Duration, log *slog.Logger, files ...string) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	seen, told := stamps(files), ""
	if changed(files, h.read) {
		seen = "" // while the server was started
	}
	h.says.to(log)
	h.ending(log)
	day := time.NewTicker(24 * time.Hour)
	defer day.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-day.C:
			h.ending(log)
		case <-tick.C:
		}
		now := stamps(files)
		if now == seen {
			continue
		}
		if err := h.Reload(); err == nil {
			log.Info("nats configuration read again")
			seen, told = now, ""
		} else if what := now + err.Error(); what != told {
			log.Error("nats configuration changed and was not read; mend it", "err", err)
			told = what
		}
	}
}

// soon is how long before its end it is said of a certificate.
const soon = 30 * 24 * time.Hour

// ending says which certificate of the server ends soon. Who is joined then stays;
// who comes from another machine, or comes again, is not let in.
func (h *Hosted) ending(log *slog.Logger) {
	opts, err := configuration(h.file)
	if err != nil || opts.TLSConfig == nil { // it is told when the file is read
		return
	}
	for _, c := range opts.TLSConfig.Certificates {
		if c.Leaf != nil && time.Until(c.Leaf.NotAfter) < soon {
			log.Warn("the certificate of the nats-server ends soon; renew it: gridbid federation rotate --server", "ends", c.Leaf.NotAfter)
		}
	}
}

// changed reports whether one of files is newer than a time.
func changed(files []string, than time.Time) bool {
	return slices.ContainsFunc(files, func(f string) bool {
		info, err := os.Stat(f)
		return err == nil && info.ModTime().After(than)
	})
}

// stamps tells versions of files apart.
func stamps(files []string) (all string) {
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			all += fmt.Sprintf("%s %d %d;", f, info.ModTime().UnixNano(), info.Size())
		}
	}
	return all
}
