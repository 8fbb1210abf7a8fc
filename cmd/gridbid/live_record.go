package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gridbid/gridbid/bus/wal"
)

// A liveRecord is the flags by which a reader of ledgers reads the record of a running
// coordinator instead: its API serves it as a ledger (decision 0270).
type liveRecord struct {
	api   string // HOST:PORT
	live  bool
	flags *pflag.FlagSet // nil: the command reads ledgers on disk only
}

// registerFlags adds the flags, which exclude those that select a ledger on disk.
func (f *liveRecord) registerFlags(cmd *cobra.Command) {
	f.flags = cmd.Flags()
	f.flags.BoolVar(&f.live, "live", false, "read the record of the running coordinator at --api")
	f.flags.StringVar(&f.api, "api", cmp.Or(os.Getenv("GRIDBID_API"), defaultAPIAddress), "`ADDRESS` (HOST:PORT) of a coordinator's API, whose record is read; also $GRIDBID_API, which needs --live")
	_ = f.flags.SetAnnotation("api", fromContext, []string{})
	f.flags.String("context", "", "with --live: `NAME` of the context of the configuration file (gridbid config) to use; also $GRIDBID_CONTEXT")
	_ = f.flags.SetAnnotation("context", fromContext, []string{})
	for _, flag := range []string{"run", "policy"} {
		cmd.MarkFlagsMutuallyExclusive(flag, "live")
		cmd.MarkFlagsMutuallyExclusive(flag, "api")
	}
}

// isAsked reports whether the record of a coordinator is to be read: an address in the
// environment or in a context says where live commands go, and not that this is one.
func (f liveRecord) isAsked() bool {
	return f.live || f.flags != nil && (f.flags.Changed("api") || f.flags.Changed("context"))
}

// flagText returns the flags that select the same record, for command lines that are printed.
func (f liveRecord) flagText() string {
	for _, name := range []string{"api", "context"} {
		if x := f.flags.Lookup(name); x != nil && x.Changed {
			return " --" + name + " " + shellWord(x.Value.String())
		}
	}
	return " --live"
}

// url returns the URL of the record, or "" if a ledger on disk is to be read.
func (f liveRecord) url() (string, error) {
	if !f.isAsked() {
		return "", nil
	}
	u, err := apiURL(f.api)
	if err != nil {
		return "", err
	}
	return u.String() + recordPath, nil
}

// recordPath is where a coordinator serves its record.
const recordPath = "/v1/record"

// isRecordURL reports whether what a ledgerSelector returned is the record of a running
// coordinator, and not a file.
func isRecordURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// requestRecord sends a request for the record of a coordinator and returns the answer, whose
// status is good.
func requestRecord(method, url string) (*http.Response, error) {
	api := strings.TrimPrefix(strings.TrimSuffix(url, recordPath), "http://")
	answer, err := askAPI(context.Background(), method, api, recordPath, "", nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	var fault struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &fault) != nil || fault.Error == "" {
		fault.Error = fmt.Sprintf("%s answers %s: it is no coordinator, or an older one that does not serve its record", api, answer.Status)
	}
	return nil, errors.New(fault.Error)
}

// openRecord opens the record of a coordinator for reading, as it is now.
func openRecord(url string) (*wal.Reader, error) {
	answer, err := requestRecord(http.MethodGet, url)
	if err != nil {
		return nil, err
	}
	r, err := wal.NewReader(answer.Body, url)
	if err != nil {
		return nil, errors.Join(err, answer.Body.Close())
	}
	return r, nil
}

// ledgerVersion returns a text that changes when messages are added to a ledger or a record.
func ledgerVersion(path string) (string, error) {
	if !isRecordURL(path) {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(info.Size()), nil
	}
	answer, err := requestRecord(http.MethodHead, path)
	if err != nil {
		return "", err
	}
	return answer.Header.Get("ETag"), answer.Body.Close()
}
