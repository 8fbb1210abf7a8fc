package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/rights"
	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/certificate"
	"github.com/gridbid/gridbid/protocol"
)

// newPageCommand is `gridbid page`: it serves a web page on a recorded run.
func newPageCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	var serve pageServing
	cmd := &cobra.Command{
		Use:   "page [LEDGER]",
		Short: "serve a web page on a run: sites, decisions, charts and questions",
		Long: `Serve a page that shows a recorded run at any instant: what each site did and at
which carbon intensity, all jobs, every decision with the offers of all sites, charts,
two policies side by side, and a box for questions in plain words. It opens at the
busiest hour of the run. The page is read-only. LEDGER is a ledger file;
without it the ledger of the last run is read, and with --live the record of a running
coordinator, which is followed. Programs use the Model Context
Protocol over HTTP at /mcp.

The page listens on loopback unless --listen names another address, which needs
--credentials and --tls-cert. With --credentials every visitor signs in with a
credential of the role auditor or federation-admin (gridbid credentials), on loopback,
too, for example behind a proxy on this machine.
` + readsHelp,
		Example: `  gridbid page
  gridbid page --policy home-fifo --listen 127.0.0.1:8090
  gridbid page --listen 0.0.0.0:8443 --credentials credentials.json --tls-cert page.pem --tls-key page.key`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := f.sourceOfArgs(args)
			if err != nil {
				return fmt.Errorf("page: %w", err)
			}
			reads, err := model.openTranslator()
			if err != nil {
				return fmt.Errorf("page: %w", err)
			}
			if err := servePage(cmd.Context(), from.followed(), serve, reads, cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("page: %w", err)
			}
			return nil
		},
	}
	model.registerFlags(cmd)
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	cmd.Flags().StringVar(&serve.listen, "listen", "127.0.0.1:8080", "`ADDRESS` (HOST:PORT) to listen on")
	cmd.Flags().StringSliceVar(&serve.hosts, "host", nil, "further host `NAME` that requests may be addressed to; repeatable")
	cmd.Flags().StringVar(&serve.credentials, "credentials", "", "`FILE` of credentials (gridbid credentials) that visitors sign in with")
	cmd.Flags().StringVar(&serve.cert, "tls-cert", "", "`FILE` with the certificate of the page, in PEM")
	cmd.Flags().StringVar(&serve.key, "tls-key", "", "`FILE` with its key, in PEM")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	return cmd
}

// pageServing says where a page is served, and to whom.
type pageServing struct {
	listen    string
	hosts     []string
	cert, key string

	credentials string
}

// listenOn opens the page's listener, and returns the URL of the page.
func (s pageServing) listenOn(log *slog.Logger) (socket net.Listener, url string, err error) {
	if socket, err = net.Listen("tcp", s.listen); err != nil {
		return nil, "", usageError{fmt.Errorf("%w: choose another address with --listen", err)}
	}
	// The address that was bound decides, as a name in --listen may resolve to any.
	at, ok := socket.Addr().(*net.TCPAddr)
	if public := !ok || !at.IP.IsLoopback(); public && (s.credentials == "" || s.cert == "") {
		_ = socket.Close()
		return nil, "", usageError{fmt.Errorf("other machines reach %s, so the page needs credentials and TLS there: give --credentials (gridbid credentials add writes the file), --tls-cert and --tls-key, or listen on a loopback address", s.listen)}
	}
	if s.cert == "" {
		return socket, "http://" + socket.Addr().String(), nil
	}
	secured, err := certificate.Config(s.cert, s.key, log)
	if err != nil {
		_ = socket.Close()
		return nil, "", usageError{fmt.Errorf("--tls-cert: %w", err)}
	}
	return tls.NewListener(socket, secured), "https://" + socket.Addr().String(), nil
}

// servePage serves the page of a ledger until ctx ends.
func servePage(ctx context.Context, from recordSource, serve pageServing, reads *translate.Translator, stderr io.Writer) error {
	var readers *rights.Authenticator
	log := slog.New(slog.NewTextHandler(stderr, nil))
	if serve.credentials != "" {
		var err error
		if readers, err = rights.New(rights.Config{CredentialsFile: serve.credentials, Log: log}); err != nil {
			return usageError{err}
		}
	}
	run, about, err := openRun(ctx, from, stderr)
	if err != nil {
		return err
	}
	title := about["scenario"] + " · " + about["policy"]
	if from.isLive() {
		title = "live federation"
	}
	socket, url, err := serve.listenOn(log)
	if err != nil {
		return err
	}
	defer socket.Close()
	if readers != nil {
		go readers.Run(ctx)
	}
	fmt.Fprintf(stderr, "page: %s\n", url)
	return serveHTTP(ctx, socket, page.NewPageHandler(run, page.Options{
		Title: title, Live: from.follow, Policy: about["policy"], Hosts: serve.hosts, Readers: readers, Reads: reads,
		MCP: mcp.HTTPHandler(mcp.New(run, buildVersion(), reads)), Rivals: rivalsNextToLedger(ctx, from, about["policy"], stderr),
	}))
}

// serveHTTP serves requests until ctx ends. Open streams end with ctx, and other requests
// get three seconds to finish.
func serveHTTP(ctx context.Context, socket net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(socket) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// ctx is over, so the time to finish needs a context that is not.
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer stop()
	return errors.Join(s.Shutdown(last), ctx.Err())
}

// rivalsNextToLedger returns the policies whose ledgers are in the folder of a run's ledger, but for its own.
func rivalsNextToLedger(ctx context.Context, from recordSource, own string, stderr io.Writer) (r page.Rivals) {
	ledgers := make(map[string]string) // by policy
	if from.isLive() {
		return r // a live market has one policy
	}
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(from.path), "*.ledger"))
	for _, other := range found {
		l, err := openLedger(other, nil)
		if err != nil {
			continue // the folder may hold what is no ledger of this version
		}
		policy := l.Header()["policy"]
		_ = l.Close() // it was only read
		if policy != "" && policy != own && ledgers[policy] == "" {
			ledgers[policy], r.Policies = other, append(r.Policies, policy)
		}
	}
	r.Open = func(policy string) *tail.Run {
		return tail.StartReading(ctx, func(_ context.Context, _ uint64, each func(protocol.Message) error) error {
			return recordSource{path: ledgers[policy], at: from.at}.readMessages(nil, stderr, each)
		}, nil)
	}
	return r
}

// totalsNextToLedger returns the totals of all policies of a run from totals.json in the folder of
// its ledger. Without that file there are none; a damaged one is reported to stderr.
func totalsNextToLedger(from recordSource, stderr io.Writer) (totals []history.Totals) {
	if from.isLive() || from.at != 0 {
		return nil // a live market has one policy, and totals are of a whole run
	}
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(from.path), "totals.json"))
	if err == nil {
		err = json.Unmarshal(raw, &totals)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(stderr, "Totals of policies cannot be read, so policies cannot be compared: %s\n", strings.TrimSpace(err.Error()))
	}
	return totals
}
