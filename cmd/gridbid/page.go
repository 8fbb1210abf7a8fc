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

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/explain/ask/translate"
	"github.com/gridbid/gridbid/explain/mcp"
	"github.com/gridbid/gridbid/explain/page"
	"github.com/gridbid/gridbid/explain/timeline"
	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// newPageCommand is `gridbid page`: a run to look at and to ask.
func newPageCommand() *cobra.Command {
	var f ledgerSelector
	var model modelFlags
	var listen string
	var hosts []string
	cmd := &cobra.Command{
		Use:   "page [LEDGER]",
		Short: "show a run as a page: sites, decisions, charts, and a box to ask",
		Long: `Serve a page that shows a recorded run at any instant: what each site did and at
which carbon intensity, every decision with what all sites had offered, charts,
and a box for questions in plain words. It only reads. LEDGER is a ledger; without
it the ledger of the last run is read. Programs ask at /mcp, by the Model Context
Protocol over HTTP.

The page is for this machine alone unless --listen names another address; then
everybody is asked for the token, which is $GRIDBID_PAGE_TOKEN or, without that,
a new one that is printed. Where $GRIDBID_PAGE_TOKEN is set, everybody is asked for
it at any address: behind a proxy on this machine, say.
` + readsHelp,
		Example: `  gridbid page
  gridbid page --policy home-fifo --listen 127.0.0.1:8090
  GRIDBID_PAGE_TOKEN=$(openssl rand -hex 16) gridbid page --listen 0.0.0.0:8080 --host gridbid.example`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := f.ledgerOfArgs(args)
			if err != nil {
				return fmt.Errorf("page: %w", err)
			}
			reads, err := model.openTranslator()
			if err != nil {
				return fmt.Errorf("page: %w", err)
			}
			if err := servePage(cmd.Context(), path, listen, hosts, reads, cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("page: %w", err)
			}
			return nil
		},
	}
	model.registerFlags(cmd)
	f.registerFlags(cmd, "folder of the run, as replay wrote it")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "address to serve at")
	cmd.Flags().StringSliceVar(&hosts, "host", nil, "name under which the page is reached, beside those of this machine")
	return cmd
}

func servePage(ctx context.Context, path, listen string, hosts []string, reads *translate.Translator, talk io.Writer) error {
	run, about, err := openRun(ctx, path, talk)
	if err != nil {
		return err
	}
	opts := page.Options{
		Title: about["scenario"] + " · " + about["policy"], Policy: about["policy"], Hosts: hosts, Reads: reads,
		MCP: mcp.HTTPHandler(mcp.New(run, buildVersion(), reads)),
	}
	socket, err := net.Listen("tcp", listen)
	if err != nil {
		return usageError{fmt.Errorf("%w; --listen names another address", err)}
	}
	defer socket.Close()
	opts.Token = os.Getenv("GRIDBID_PAGE_TOKEN")
	at, ok := socket.Addr().(*net.TCPAddr)
	switch beyond := !ok || !at.IP.IsLoopback(); {
	case opts.Token == "" && beyond:
		opts.Token = rand.Text()
		fmt.Fprintf(talk, "token: %s\n", opts.Token)
	case opts.Token != "" && len(opts.Token) < 16:
		return usageError{errors.New("GRIDBID_PAGE_TOKEN: want at least 16 characters")}
	}
	fmt.Fprintf(talk, "page: http://%s\n", socket.Addr())
	return serveHTTP(ctx, socket, page.NewPageHandler(run, opts))
}

// serveHTTP answers until ctx ends, and then lets go of those who listen.
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
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer stop()
	return errors.Join(s.Shutdown(last), ctx.Err())
}

// openRun reads a ledger to its end, and the totals that lie beside it if there
// are any. It returns what the ledger is about, too.
func openRun(ctx context.Context, path string, talk io.Writer) (*tail.Run, map[string]string, error) {
	r, err := wal.OpenReader(path)
	if err != nil {
		return nil, nil, usageError{err}
	}
	about := r.Header()
	if err := r.Close(); err != nil {
		return nil, nil, err
	}
	run := tail.StartReading(ctx, func(_ context.Context, _ uint64, each func(protocol.Message) error) error {
		return readLedger(path, nil, talk, each)
	}, totalsNextToLedger(path, talk))
	<-run.ReadingDone()
	stage := whatIfReplay(run.ViewerContext(), path, talk)
	return run, about, errors.Join(run.Err(), run.ViewTimeline(ctx, func(d *timeline.Timeline) { d.SetReplay(stage) }))
}

// totalsNextToLedger returns the totals of the policies of a run, if they lie beside
// its ledger.
func totalsNextToLedger(path string, talk io.Writer) (totals []history.Totals) {
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(path), "totals.json"))
	if err == nil {
		err = json.Unmarshal(raw, &totals)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(talk, "Policies cannot be compared: %s\n", strings.TrimSpace(err.Error()))
	}
	return totals
}
