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
	"github.com/spf13/pflag"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/protocol"
)

// defaultAPIAddress is the HOST:PORT at which a coordinator serves its API by default.
const defaultAPIAddress = "127.0.0.1:7480"

// requestTimeout bounds a request to the API, which itself answers within ten seconds.
const requestTimeout = 15 * time.Second

// apiFlags are those of every command that asks a live coordinator.
type apiFlags struct {
	outputFlags
	api   string // HOST:PORT
	nats  string // file of a tenant's folder; "": the API is asked
	watch bool
	every time.Duration

	timeout time.Duration // of a request; 0 is requestTimeout

	// now is the coordinator's clock at its last answer: in `gridbid up` a simulated one.
	// Zero before the first answer.
	now time.Time

	record ledgerSelector // that is read in place of the API where its flags are given
	flags  *pflag.FlagSet // nil: the command reads no records
}

// registerFlags adds the flags, with watch also those of a refresh.
func (f *apiFlags) registerFlags(cmd *cobra.Command, watch bool) {
	fl := cmd.Flags()
	fl.StringVar(&f.api, "api", cmp.Or(os.Getenv("GRIDBID_API"), defaultAPIAddress), "`ADDRESS` (HOST:PORT, or https://HOST:PORT) of the coordinator's API; also $GRIDBID_API")
	_ = fl.SetAnnotation("api", fromContext, []string{})
	fl.String("context", "", "`NAME` of the context of the configuration file (gridbid config) to use; also $GRIDBID_CONTEXT")
	_ = fl.SetAnnotation("context", fromContext, []string{})
	f.registerOutput(cmd)
	if watch {
		fl.BoolVarP(&f.watch, "watch", "w", false, "print what changes, until ctrl-C")
		fl.DurationVar(&f.every, "every", time.Second, "with --watch: how often it looks")
	}
}

// sendRequest sends a request to the coordinator's API and decodes the JSON answer into out.
// An answer of class 4xx is a usageError, as the caller can mend it; any other failure is
// worth a retry.
func (f *apiFlags) sendRequest(ctx context.Context, method, path, kind string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.timeout, requestTimeout))
	defer cancel()
	answer, err := askAPI(ctx, method, f.api, path, kind, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	// Times such as "until 18:00" count by the coordinator's clock, not by that of this machine.
	f.now, _ = http.ParseTime(answer.Header.Get("Date"))
	text, err := io.ReadAll(io.LimitReader(answer.Body, 256<<20))
	if err != nil {
		return err
	}
	var fault struct {
		Error string `json:"error"`
	}
	// An answer that is neither JSON nor a fault of the API comes from some other server.
	switch good := answer.StatusCode/100 == 2; {
	case good && json.Unmarshal(text, out) == nil:
		return nil
	case good || json.Unmarshal(text, &fault) != nil || fault.Error == "":
		return fmt.Errorf("%s answers %s, not in the form of a coordinator's API: check --api, which is https://HOST:PORT where the coordinator serves TLS", f.api, answer.Status)
	}
	if answer.StatusCode == http.StatusTooManyRequests {
		return busyError{errors.New(fault.Error)}
	}
	if answer.StatusCode/100 == 4 {
		return usageError{errors.New(fault.Error)}
	}
	return errors.New(fault.Error)
}

// A busyError is the answer of an API that is asked too often: ask again.
type busyError struct{ error }

// getJSON sends a GET request and decodes the answer into out.
func (f *apiFlags) getJSON(ctx context.Context, path string, out any) error {
	return f.sendRequest(ctx, http.MethodGet, path, "", nil, out)
}

// postAndPrint sends a POST request without a body, decodes the answer into answer, and
// prints it: in a format for programs, or as the line that describe returns.
func (f *apiFlags) postAndPrint(cmd *cobra.Command, path string, answer any, describe func() string) error {
	if err := f.sendRequest(cmd.Context(), http.MethodPost, path, "", nil, answer); err != nil {
		return err
	}
	if f.forPrograms() {
		return f.printView(cmd, f.viewOf(answer))
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), describe())
	return err
}

// viewOf returns the job or the site of an answer as the listings of jobs and sites print it.
func (f *apiFlags) viewOf(answer any) printer.View {
	switch v := answer.(type) {
	case *jobstatus.Job:
		return f.oneJob(*v)
	case *jobstatus.Site:
		l := siteListing([]jobstatus.Site{*v})
		l.Data = v
		return l
	}
	return printer.Listing[any]{Data: answer}
}

// showOrWatch prints what fetch returns: once, or with --watch first all and then what
// changes, until ctrl-C. While watching, a coordinator that does not answer is asked again,
// as a standby may take over; only a failure of the first request is returned.
func (f *apiFlags) showOrWatch(cmd *cobra.Command, fetch func() (printer.View, error)) error {
	var seen printer.Watched
	return f.repeat(cmd, fetch, func(w io.Writer, v printer.View) error {
		if f.watch {
			return v.PrintChanges(w, f.format, &seen)
		}
		return v.Print(w, f.format)
	})
}

// showOrRepaint prints what fetch returns: once, or with --watch again and again, on a
// terminal in place of what stood there.
func (f *apiFlags) showOrRepaint(cmd *cobra.Command, fetch func() (printer.View, error)) error {
	_, isTerminal := terminalOf(cmd.OutOrStdout())
	return f.repeat(cmd, fetch, func(w io.Writer, v printer.View) error {
		if f.watch && isTerminal {
			fmt.Fprint(w, "\x1b[H\x1b[2J") // cursor to the upper left corner, and clear the screen
		}
		return v.Print(w, f.format)
	})
}

// repeat fetches and shows once, or with --watch until ctrl-C.
func (f *apiFlags) repeat(cmd *cobra.Command, fetch func() (printer.View, error), show func(io.Writer, printer.View) error) error {
	if f.watch && f.every <= 0 {
		return usageError{fmt.Errorf("--every %v: want a time above 0, such as 1s", f.every)}
	}
	for first := true; ; first = false {
		view, err := fetch()
		switch {
		case f.watch && cmd.Context().Err() != nil: // ctrl-C ends a watch, and is no failure
			return nil
		case err != nil && (first || !f.watch):
			return err
		case err != nil: // a standby may take over
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "gridbid: %s; retrying\n", legibleError(err))
		default:
			var page bytes.Buffer
			if err = show(&page, view); err == nil {
				_, err = cmd.OutOrStdout().Write(page.Bytes())
			}
			if err == nil && first {
				printNoteAfter(cmd, view)
			}
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

// writeColumns writes rows as aligned columns; the tabs of each row's layout separate its
// cells. Cells may hold text of sites and submitters, so each is cleaned: it cannot move
// the cursor or start a column of its own.
func writeColumns(w io.Writer, head string, rows func(row func(layout string, args ...any))) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(layout string, args ...any) {
		// Each cell takes as many arguments as it has verbs, and is cleaned by itself.
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
	_ = t.Flush() // Never fails: w is a buffer in memory.
}

// timeOfDay formats an instant as month, day and time in UTC; "-" for none.
func timeOfDay(t protocol.Time) string {
	if t == 0 {
		return "-"
	}
	return t.StdTime().Format("01-02 15:04:05")
}
