package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/protocol"
)

// defaultAPIAddress is where a coordinator's desk is unless somebody says otherwise.
const defaultAPIAddress = "127.0.0.1:7480"

// apiFlags are those of every command that asks a live coordinator.
type apiFlags struct {
	at    string
	json  bool
	watch bool
	every time.Duration

	now time.Time // by the desk's clock, at its last answer; zero: it has not said
}

func (f *apiFlags) registerFlags(cmd *cobra.Command, watch bool) {
	fl := cmd.Flags()
	fl.StringVar(&f.at, "at", cmp.Or(os.Getenv("GRIDBID_DESK"), defaultAPIAddress), "`ADDRESS` of the coordinator's desk; also $GRIDBID_DESK")
	fl.BoolVar(&f.json, "json", false, "as JSON")
	if watch {
		fl.BoolVarP(&f.watch, "watch", "w", false, "show it again and again, until ctrl-C")
		fl.DurationVar(&f.every, "every", time.Second, "with --watch: how often")
	}
}

// sendRequest sends a request and reads the answer into out.
func (f *apiFlags) sendRequest(ctx context.Context, method, path, kind string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+f.at+path, bytes.NewReader(body))
	if strings.Contains(f.at, "://") { // as up says where its page is
		err = errors.New("want an address alone, such as " + defaultAPIAddress)
	}
	if err != nil {
		return usageError{fmt.Errorf("--at %q: %w", f.at, err)}
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if token := os.Getenv("GRIDBID_TOKEN"); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("no coordinator answers at %s; start one with `gridbid up`, or say --at: %w", f.at, err)
	}
	defer answer.Body.Close()
	f.now, _ = http.ParseTime(answer.Header.Get("Date"))
	text, err := io.ReadAll(io.LimitReader(answer.Body, 256<<20))
	if err != nil {
		return err
	}
	var fault struct {
		Error string `json:"error"`
	}
	switch good := answer.StatusCode/100 == 2; {
	case good && json.Unmarshal(text, out) == nil:
		return nil
	case good || json.Unmarshal(text, &fault) != nil || fault.Error == "":
		return fmt.Errorf("%s answers %s, and not as a desk does; is that a coordinator's?", f.at, answer.Status)
	}
	if answer.StatusCode/100 == 4 {
		return usageError{errors.New(fault.Error)}
	}
	return errors.New(fault.Error)
}

func (f *apiFlags) getJSON(ctx context.Context, path string, out any) error {
	return f.sendRequest(ctx, http.MethodGet, path, "", nil, out)
}

// postAndPrint has the desk do something, and prints what came of it: as JSON, or as told says.
func (f *apiFlags) postAndPrint(cmd *cobra.Command, path string, came any, told func() string) error {
	if err := f.sendRequest(cmd.Context(), http.MethodPost, path, "", nil, came); err != nil {
		return err
	}
	if f.json {
		return writeJSON(cmd.OutOrStdout(), came)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), told())
	return err
}

// showOrWatch prints what see writes, once or again and again: on a terminal in place.
// With --json each showing is a JSON value. Who watches waits for a coordinator
// that went away.
func (f *apiFlags) showOrWatch(cmd *cobra.Command, see func() (any, func(io.Writer), error)) error {
	if f.watch && f.every <= 0 {
		return usageError{fmt.Errorf("--every %v: want a time above 0, such as 1s", f.every)}
	}
	out := cmd.OutOrStdout()
	_, moves := terminalOf(out)
	anew := f.watch && moves
	for first := true; ; first = false {
		data, table, err := see()
		switch {
		case f.watch && cmd.Context().Err() != nil: // ctrl-C is how it ends
			return nil
		case err != nil && (first || !f.watch):
			return err
		case err != nil: // another may take over
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "gridbid: %s; asking again\n", legibleError(err))
		case f.json:
			err = writeJSON(out, data)
		default:
			var page bytes.Buffer
			if anew {
				page.WriteString("\x1b[H\x1b[2J")
			}
			table(&page)
			_, err = out.Write(page.Bytes())
		}
		if err != nil || !f.watch {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(f.every):
		}
	}
}

// writeColumns writes rows in columns, which tabs of the format part. What sites and
// submitters said in them moves no cursor, and no column.
func writeColumns(w io.Writer, head string, rows func(row func(layout string, args ...any))) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(layout string, args ...any) {
		cells := strings.Split(layout, "\t")
		for i, cell := range cells {
			n := strings.Count(cell, "%")
			cells[i] = format.CleanText(fmt.Sprintf(cell, args[:n]...))
			args = args[n:]
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if head != "" {
		row(head)
	}
	rows(row)
	_ = t.Flush() // to memory
}

// timeOfDay shows a time of day, or nothing.
func timeOfDay(t protocol.Time) string {
	if t == 0 {
		return "-"
	}
	return t.StdTime().Format("01-02 15:04:05")
}
