package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/internal/jobfile"
)

// newSubmitCommand is `gridbid submit`: it submits jobs, and with --wait follows them to their end.
func newSubmitCommand() *cobra.Command {
	var f apiFlags
	var files []string
	var id string
	var wait, dryRun bool
	cmd := &cobra.Command{
		Use:   "submit -f JOB.yaml",
		Short: "submit a job to a live federation",
		Long: `Submit the job of a file. When the command returns, the job is in the coordinator's
event log. Submitting is idempotent by id: if the answer was lost, repeat the command
with the same id. A job without an id gets a new one, which is printed.

With --dry-run nothing is submitted: every site says what the job would cost there now,
when it would start soonest and when most cheaply, or why it cannot run it; and the
market says which of these starts it would take, were this job alone called. Exit code
1 if it would refuse the job.

With --nats, or in a context with a tenant's file, jobs are submitted over NATS by the
tenant's key. Their tenant is then that of the key, and their ids begin with "TENANT/",
which is added where it is missing. --dry-run asks the API.

  id: train-7          # unique; or --id
  tenant: vision
  gpus: 2
  cpu: 16              # cores
  memory: 64           # GiB
  run: 1h30m           # run time on a V100 without a power cap; default: sites estimate it
  within: 8h           # latest end after submission; or deadline: 2026-11-21T18:00:00Z
  urgency: flexible    # now, standard (default) or flexible: how dearly its waiting is held
  models: [A100, H100] # acceptable GPU models; default: any
  regions: [oslo]      # sites that may hold its data; default: any

A job of several pods, which start together at one site or not at all, has components
in place of gpus, share, gpu_memory, cpu and memory; amounts are those of each pod:

  components:
    - {role: launcher, cpu: 4, memory: 16}
    - {role: worker, pods: 8, gpus: 8, cpu: 64, memory: 512}

Its parts may go to different sites, all of them or none:

  sites: {max: 2, parts: 2}   # equal parts; or part: NAME in each component`,
		Example: `  gridbid submit -f job.yaml
  gridbid submit -f a.yaml -f b.yaml -o json
  gridbid submit -f job.yaml --wait
  gridbid submit -f job.yaml --dry-run
  gridbid submit -f job.yaml --nats vision/nats.yaml   # by a tenant's key, over NATS`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usageError{errors.New("submit: no job file: add -f FILE, or -f - for standard input")}
			}
			if id != "" && len(files) > 1 {
				return usageError{errors.New("submit: --id is the id of one job, but -f names several files: submit one file at a time")}
			}
			if dryRun {
				return f.quoteFiles(cmd, files, id)
			}
			var done []jobstatus.Job
			var err error
			if f.nats != "" {
				done, err = f.submitOverNATS(cmd, files, id, wait)
			} else {
				done, err = f.submitOverAPI(cmd, files, id, wait)
			}
			if f.forPrograms() && (err == nil || len(done) > 0) { // print the jobs that were submitted before an error
				err = errors.Join(err, f.printView(cmd, jobListing(done)))
			}
			if wait && err == nil {
				err = checkEndedWell(done)
			}
			return err
		},
	}
	f.registerFlags(cmd, false)
	f.registerNATS(cmd)
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "job `FILE`, YAML or JSON; - is standard input; repeatable")
	cmd.Flags().StringVar(&id, "id", "", "id of the job, in place of the one in the file")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "submit nothing: show price, energy, carbon and start at each site, or why not, and what the market would decide")
	cmd.Flags().BoolVar(&wait, "wait", false, "return when the jobs have ended; exit code 1 if one failed, was refused or was cancelled")
	cmd.MarkFlagsMutuallyExclusive("wait", "dry-run")
	return cmd
}

// checkEndedWell returns an error that names the jobs that failed, were refused or were
// cancelled.
func checkEndedWell(all []jobstatus.Job) error {
	var failed []string
	for _, j := range all {
		if failureText(j) != "" {
			failed = append(failed, string(j.ID))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%s of %d failed, refused or cancelled: %s; `gridbid job ID` shows why", format.CountWithNoun(len(failed), "job", "jobs"), len(all), strings.Join(failed, ", "))
}

// submitOverAPI submits the jobs of files, and with wait follows them to their end. It returns those
// that were submitted, also with an error.
func (f *apiFlags) submitOverAPI(cmd *cobra.Command, files []string, id string, wait bool) ([]jobstatus.Job, error) {
	done, err := f.submitFiles(cmd, files, id)
	for i := range done {
		if wait && err == nil {
			err = f.awaitJob(cmd, &done[i], jobstatus.Job.HasEnded)
		}
	}
	return done, err
}

// submitFiles submits the jobs of files in order, and returns those that were submitted,
// also with an error.
func (f *apiFlags) submitFiles(cmd *cobra.Command, files []string, id string) (done []jobstatus.Job, err error) {
	for _, file := range files {
		j, err := f.submitFile(cmd, file, id)
		if err != nil {
			return done, err
		}
		done = append(done, j)
		if f.forPrograms() {
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", j.ID, j.State); err != nil {
			return done, fmt.Errorf("%s is submitted: %w", j.ID, err)
		}
	}
	return done, nil
}

// readTextFile reads a file that is to be submitted, or standard input for "-", and returns its name
// for errors.
func readTextFile(cmd *cobra.Command, file string) (name string, text []byte, err error) {
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(cancellableReader{cmd.Context(), cmd.InOrStdin()}, 1<<20))
		return "standard input", text, err
	}
	text, err = os.ReadFile(file)
	return file, text, err
}

// readJobFile reads a job file, or standard input, and checks it: errors name file and line of this
// machine.
func readJobFile(cmd *cobra.Command, file string) (text []byte, o jobfile.Request, err error) {
	file, text, err = readTextFile(cmd, file)
	if err == nil {
		o, err = jobfile.Parse(file, text)
	}
	if err != nil {
		return nil, o, usageError{err}
	}
	return text, o, nil
}

// submitFile submits the job of one file. Where neither the file nor --id has an id, the id
// is drawn here, before the request, so that a request whose answer is lost can be repeated.
func (f *apiFlags) submitFile(cmd *cobra.Command, file, id string) (j jobstatus.Job, err error) {
	text, o, err := readJobFile(cmd, file)
	if err != nil {
		return j, err
	}
	// An id in the file or in --id is repeatable already.
	given := o.ID() != "" || id != ""
	if !given {
		id = drawJobID()
	}
	// An id in the request goes before that in the file.
	path := "/v1/jobs"
	if id != "" {
		path += "?id=" + url.QueryEscape(id)
	}
	err = f.sendRequest(cmd.Context(), http.MethodPost, path, "application/yaml", text, &j)
	if err != nil && !given && !errors.As(err, new(usageError)) { // also after ctrl-C
		fmt.Fprintf(cmd.ErrOrStderr(), "the coordinator may have taken the job: to be sure, repeat the command with --id %s\n", id)
	}
	return j, err
}

// drawJobID returns an id for a job that has none.
func drawJobID() string { return "job-" + strings.ToLower(rand.Text()[:10]) }

// awaitJob polls the API until a job is as reached says, and keeps its latest status in j. While
// the coordinator does not answer it goes on polling, as a standby may take over.
func (f *apiFlags) awaitJob(cmd *cobra.Command, j *jobstatus.Job, reached func(jobstatus.Job) bool) error {
	for was, unreachable := history.State(""), false; !reached(*j); {
		if j.State != was && !f.forPrograms() {
			was = j.State
			fmt.Fprintf(cmd.ErrOrStderr(), "%s  %s %s\n", j.ID, j.State, j.Site)
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(500 * time.Millisecond):
		}
		var now jobstatus.Job // a fresh value: fields that the answer leaves out must not keep older values
		err := f.getJSON(cmd.Context(), "/v1/jobs/"+url.PathEscape(string(j.ID)), &now)
		switch {
		case err == nil:
			*j, unreachable = now, false
		case errors.As(err, new(usageError)) || cmd.Context().Err() != nil:
			return err
		case !unreachable: // one line for each time that it is lost
			unreachable = true
			fmt.Fprintf(cmd.ErrOrStderr(), "gridbid: %s; retrying\n", legibleError(err))
		}
	}
	return f.printEnd(cmd, *j)
}

// printEnd prints how a job that was waited for has ended.
func (f *apiFlags) printEnd(cmd *cobra.Command, j jobstatus.Job) error {
	if f.forPrograms() {
		return nil
	}
	end := strings.TrimSpace(fmt.Sprintf("%s  %s %s  %s", j.ID, j.State, j.Site, failureText(j)))
	_, err := fmt.Fprintln(cmd.OutOrStdout(), end)
	return err
}
