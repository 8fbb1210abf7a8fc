package main

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/protocol"
)

// registerRecord adds the flags by which a command that asks a coordinator reads a record in its
// place: a ledger, or with --at the coordinator's own until then.
func (f *apiFlags) registerRecord(cmd *cobra.Command) {
	f.flags = cmd.Flags()
	f.record.registerRun(cmd, "read the ledger in `FOLDER` of a run, in place of a live coordinator")
	f.record.registerAt(cmd)
	f.flags.Bool("live", true, "ask the running coordinator at --api (the default)")
	for _, file := range []string{"run", "policy"} {
		for _, live := range []string{"live", "api", "context"} {
			cmd.MarkFlagsMutuallyExclusive(file, live)
		}
	}
}

// readsRecord reports whether a record is read in place of asking the coordinator.
func (f *apiFlags) readsRecord() bool {
	return f.flags != nil && (f.flags.Changed("run") || f.flags.Changed("policy") || f.flags.Changed("at"))
}

// readsFile reports whether that record is a ledger on disk.
func (f *apiFlags) readsFile() bool { return f.flags.Changed("run") || f.flags.Changed("policy") }

// recordFlagText returns the flags of a reader of ledgers that select the same record.
func (f *apiFlags) recordFlagText() string {
	if f.readsFile() {
		return f.record.flagText()
	}
	return " --api " + shellWord(f.api) + " --at " + shellWord(f.record.at)
}

// fetchStatus asks the coordinator for path, or computes the same of a record with read, whose
// view is that of the coordinator at now: the end of the record, or --at.
func fetchStatus[T any](f *apiFlags, cmd *cobra.Command, path string, read func(v *jobstatus.View, now protocol.Time) (T, error)) (out T, err error) {
	if !f.readsRecord() {
		err = f.sendRequest(cmd.Context(), http.MethodGet, path, "", nil, &out)
		return out, err
	}
	if f.watch && f.record.at != "" {
		return out, usageError{fmt.Errorf("--watch follows what changes, and --at %s stands still: drop one of them", f.record.at)}
	}
	selected := f.record
	if !f.readsFile() {
		selected.record = liveRecord{api: f.api, live: true}
	}
	from, err := selected.source()
	if err != nil {
		return out, err
	}
	h := history.New(history.Config{})
	if err := from.readMessages(cmd.InOrStdin(), cmd.ErrOrStderr(), func(m protocol.Message) error {
		h.AddMessage(m)
		return nil
	}); err != nil {
		return out, err
	}
	now := from.at
	if now == 0 {
		now = h.Coverage().Last
	}
	f.now = now.StdTime()
	return read(jobstatus.ViewOf(h), now)
}

// fetchSites returns the sites.
func (f *apiFlags) fetchSites(cmd *cobra.Command) ([]jobstatus.Site, error) {
	return fetchStatus(f, cmd, "/v1/sites", func(v *jobstatus.View, now protocol.Time) ([]jobstatus.Site, error) { return v.AllSites(now), nil })
}

// fetchRounds returns the latest auctions.
func (f *apiFlags) fetchRounds(cmd *cobra.Command) ([]jobstatus.Round, error) {
	return fetchStatus(f, cmd, "/v1/auctions", func(v *jobstatus.View, _ protocol.Time) ([]jobstatus.Round, error) { return v.RecentRounds(), nil })
}

// mostJobs is as many jobs as the API is asked for: all, so that what a limit leaves out can be
// counted.
const mostJobs = "1000000"

// fetchJobs returns the jobs that a query of the API selects, by state and tenant.
func (f *apiFlags) fetchJobs(cmd *cobra.Command, q url.Values) ([]jobstatus.Job, error) {
	return fetchStatus(f, cmd, "/v1/jobs?"+q.Encode(), func(v *jobstatus.View, now protocol.Time) ([]jobstatus.Job, error) {
		state, tenant := history.State(q.Get("state")), q.Get("tenant")
		if state != "" && !slices.Contains(history.AllStates(), state) {
			return nil, usageError{fmt.Errorf("--state: no state %q%s: want %s", state, nearest.DidYouMean(string(state), stateNames()), format.JoinWithOr(stateNames()))}
		}
		return slices.DeleteFunc(v.AllJobs(now), func(j jobstatus.Job) bool {
			return state != "" && j.State != state || tenant != "" && j.Tenant != tenant
		}), nil
	})
}

// fetchJob returns one job with what happened to it.
func (f *apiFlags) fetchJob(cmd *cobra.Command, id string) (jobstatus.Job, error) {
	return fetchStatus(f, cmd, "/v1/jobs/"+url.PathEscape(id), func(v *jobstatus.View, now protocol.Time) (jobstatus.Job, error) {
		j, ok := v.DescribeJob(protocol.JobID(id), now)
		if ok {
			return j, nil
		}
		var known []string
		for _, other := range v.AllJobs(now) {
			known = append(known, string(other.ID))
		}
		return j, usageError{fmt.Errorf("%w %q%s", errUnknownJob, id, nearest.DidYouMean(id, known))}
	})
}
