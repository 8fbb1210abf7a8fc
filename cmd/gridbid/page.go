package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// newPageCommand is `gridbid page`: it serves a web page on a recorded run.
func newPageCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	var listen string
	var hosts []string
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

The page listens on loopback unless --listen names another address. On any other
address every visitor must give the token: $GRIDBID_PAGE_TOKEN or, if that is unset,
a random one, which is printed. If $GRIDBID_PAGE_TOKEN is set, the token is required
on every address, for example behind a proxy on this machine.
` + readsHelp,
		Example: `  gridbid page
  gridbid page --policy home-fifo --listen 127.0.0.1:8090
  GRIDBID_PAGE_TOKEN=$(openssl rand -hex 16) gridbid page --listen 0.0.0.0:8080 --host gridbid.example`,
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
			if err := servePage(cmd.Context(), from.followed(), listen, hosts, reads, cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("page: %w", err)
			}
			return nil
		},
	}
	model.registerFlags(cmd)
	f.registerFlags(cmd, "`FOLDER` of the run, written by gridbid replay")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "`ADDRESS` (HOST:PORT) to listen on")
	cmd.Flags().StringSliceVar(&hosts, "host", nil, "further host `NAME` that requests may be addressed to; repeatable")
	return cmd
}

// servePage serves the page of a ledger until ctx ends. On an address that other machines reach it
// requires a token, and makes one if there is none.
func servePage(ctx context.Context, from recordSource, listen string, hosts []string, reads *translate.Translator, stderr io.Writer) error {
	run, about, err := openRun(ctx, from, stderr)
	if err != nil {
		return err
	}
	title := about["scenario"] + " · " + about["policy"]
	if from.isLive() {
		title = "live federation"
	}
	opts := page.Options{
		Title: title, Live: from.follow, Policy: about["policy"], Hosts: hosts, Reads: reads,
		MCP: mcp.HTTPHandler(mcp.New(run, buildVersion(), reads)), Rivals: rivalsNextToLedger(ctx, from, about["policy"], stderr),
	}
	socket, err := net.Listen("tcp", listen)
	if err != nil {
		return usageError{fmt.Errorf("%w: choose another address with --listen", err)}
	}
	defer socket.Close()
	opts.Token = os.Getenv("GRIDBID_PAGE_TOKEN")
	at, ok := socket.Addr().(*net.TCPAddr)
	// The address that was bound decides, as a name in --listen may resolve to any.
	switch public := !ok || !at.IP.IsLoopback(); {
	case opts.Token == "" && public:
		opts.Token = rand.Text()
		fmt.Fprintf(stderr, "token: %s\n", opts.Token)
	case opts.Token != "" && len(opts.Token) < 16:
		return usageError{errors.New("GRIDBID_PAGE_TOKEN is too short: want at least 16 characters")}
	}
	fmt.Fprintf(stderr, "page: http://%s\n", socket.Addr())
	return serveHTTP(ctx, socket, page.NewPageHandler(run, opts))
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
