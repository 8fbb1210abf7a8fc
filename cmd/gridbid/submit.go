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

	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/explain/format"
)

// newSubmitCommand is `gridbid submit`: it submits jobs, and with --wait follows them to their end.
func newSubmitCommand() *cobra.Command {
	var f apiFlags
	var files []string
	var id string
	var wait bool
	cmd := &cobra.Command{
		Use:   "submit -f JOB.yaml",
		Short: "submit a job to a live federation",
		Long: `Submit the job of a file. When the command returns, the job is in the coordinator's
event log. Submitting is idempotent by id: if the answer was lost, repeat the command
with the same id. A job without an id gets a new one, which is printed.

  id: train-7          # unique; or --id
  tenant: vision
  gpus: 2
  cpu: 16              # cores
  memory: 64           # GiB
  run: 1h30m           # run time on a V100 without a power cap; default: sites estimate it
  within: 8h           # latest end after submission; or deadline: 2026-11-21T18:00:00Z
  deferrable: true     # may wait for a cheaper hour
  models: [A100, H100] # acceptable GPU models; default: any
  regions: [oslo]      # sites that may hold its data; default: any`,
		Example: `  gridbid submit -f job.yaml
  gridbid submit -f a.yaml -f b.yaml --json
  gridbid submit -f job.yaml --wait`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usageError{errors.New("submit: no job file: add -f FILE, or -f - for standard input")}
			}
			if id != "" && len(files) > 1 {
				return usageError{errors.New("submit: --id is the id of one job, but -f names several files: submit one file at a time")}
			}
			done, err := f.submitFiles(cmd, files, id)
			for i := range done {
				if wait && err == nil {
					err = f.awaitJobEnd(cmd, &done[i])
				}
			}
			if f.json && (err == nil || len(done) > 0) { // print the jobs that were submitted before an error
				err = errors.Join(err, writeJSON(cmd.OutOrStdout(), done))
			}
			if wait && err == nil {
				err = checkEndedWell(done)
			}
			return err
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "job `FILE`, YAML or JSON; - is standard input; repeatable")
	cmd.Flags().StringVar(&id, "id", "", "id of the job, in place of the one in the file")
	cmd.Flags().BoolVar(&wait, "wait", false, "return when the jobs have ended; exit code 1 if one failed, was refused or was cancelled")
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

// submitFiles submits the jobs of files in order, and returns those that were submitted,
// also with an error.
func (f *apiFlags) submitFiles(cmd *cobra.Command, files []string, id string) (done []jobstatus.Job, err error) {
	for _, file := range files {
		j, err := f.submitFile(cmd, file, id)
		if err != nil {
			return done, err
		}
		done = append(done, j)
		if f.json {
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", j.ID, j.State); err != nil {
			return done, fmt.Errorf("%s is submitted: %w", j.ID, err)
		}
	}
	return done, nil
}

// submitFile submits the job of one file. Where neither the file nor --id has an id, the id
// is drawn here, before the request, so that a request whose answer is lost can be repeated.
func (f *apiFlags) submitFile(cmd *cobra.Command, file, id string) (j jobstatus.Job, err error) {
	var text []byte
	if file == "-" {
		file, text, err = "standard input", nil, nil
		text, err = io.ReadAll(io.LimitReader(cancellableReader{cmd.Context(), cmd.InOrStdin()}, 1<<20))
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return j, usageError{err}
	}
	o, err := api.ParseJobFile(file, text)
	if err != nil {
		return j, usageError{err}
	}
	// An id in the file or in --id is repeatable already.
	given := o.RequestedID() != "" || id != ""
	if !given {
		id = "job-" + strings.ToLower(rand.Text()[:10])
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

// awaitJobEnd polls the API until a job has ended, and keeps its latest status in j. While
// the coordinator does not answer it goes on polling, as a standby may take over.
func (f *apiFlags) awaitJobEnd(cmd *cobra.Command, j *jobstatus.Job) error {
	for was, unreachable := jobstatus.State(""), false; !j.HasEnded(); {
		if j.State != was && !f.json {
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
	if f.json {
		return nil
	}
	end := strings.TrimSpace(fmt.Sprintf("%s  %s %s  %s", j.ID, j.State, j.Site, failureText(*j)))
	_, err := fmt.Fprintln(cmd.OutOrStdout(), end)
	return err
}
