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

func newSubmitCommand() *cobra.Command {
	var f apiFlags
	var files []string
	var id string
	var wait bool
	cmd := &cobra.Command{
		Use:   "submit -f JOB.yaml",
		Short: "submit a job to a live federation",
		Long: `Submit the job of a file. When the command returns, the job is on the coordinator's
books. The same id again is the same job: a submission whose answer was lost can be
repeated. A job without an id is given one, which is printed.

  id: train-7          # a name of its own; or --id
  tenant: vision
  gpus: 2
  cpu: 16              # cores
  memory: 64           # GiB
  run: 1h30m           # on a V100 without a cap; without it sites estimate it
  within: 8h           # to be done by then; or deadline: 2026-11-21T18:00:00Z
  deferrable: true     # may wait for a cheaper hour
  models: [A100, H100] # that will do; default: any
  regions: [oslo]      # sites that may hold its data; default: any`,
		Example: `  gridbid submit -f job.yaml
  gridbid submit -f a.yaml -f b.yaml --json
  gridbid submit -f job.yaml --wait`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usageError{errors.New("submit: no job; give -f FILE, or -f - for standard input")}
			}
			if id != "" && len(files) > 1 {
				return usageError{errors.New("submit: --id names one job; give one -f")}
			}
			done, err := f.submitFiles(cmd, files, id)
			for i := range done {
				if wait && err == nil {
					err = f.awaitJobEnd(cmd, &done[i])
				}
			}
			if f.json && (err == nil || len(done) > 0) { // those are submitted, whatever came then
				err = errors.Join(err, writeJSON(cmd.OutOrStdout(), done))
			}
			if wait && err == nil {
				err = checkEndedWell(done)
			}
			return err
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "job `FILE`, YAML or JSON; - is standard input; may be given several times")
	cmd.Flags().StringVar(&id, "id", "", "id of the job, instead of the file's")
	cmd.Flags().BoolVar(&wait, "wait", false, "return when the job has ended; with 1 if it failed, was refused or was stopped")
	return cmd
}

// checkEndedWell returns an error that names the jobs that failed, were refused or were stopped.
func checkEndedWell(all []jobstatus.Job) error {
	var ill []string
	for _, j := range all {
		if failureText(j) != "" {
			ill = append(ill, string(j.ID))
		}
	}
	if len(ill) == 0 {
		return nil
	}
	return fmt.Errorf("%s of %d did not end well: %s", format.CountWithNoun(len(ill), "job", "jobs"), len(all), strings.Join(ill, ", "))
}

// submitFiles submits the jobs of files, and returns those that are.
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
	given := o.RequestedID() != "" || id != ""
	if !given {
		id = "job-" + strings.ToLower(rand.Text()[:10])
	}
	path := "/v1/jobs"
	if id != "" {
		path += "?id=" + url.QueryEscape(id)
	}
	err = f.sendRequest(cmd.Context(), http.MethodPost, path, "application/yaml", text, &j)
	if err != nil && !given && !errors.As(err, new(usageError)) { // by ctrl-C, too
		fmt.Fprintf(cmd.ErrOrStderr(), "the job may have been taken: repeat it with --id %s\n", id)
	}
	return j, err
}

// awaitJobEnd asks until a job has ended. A coordinator that went away is waited for, as
// another may take over.
func (f *apiFlags) awaitJobEnd(cmd *cobra.Command, j *jobstatus.Job) error {
	for was, away := jobstatus.State(""), false; !j.HasEnded(); {
		if j.State != was && !f.json {
			was = j.State
			fmt.Fprintf(cmd.ErrOrStderr(), "%s  %s %s\n", j.ID, j.State, j.Site)
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(500 * time.Millisecond):
		}
		var now jobstatus.Job // what it says no longer is not kept
		err := f.getJSON(cmd.Context(), "/v1/jobs/"+url.PathEscape(string(j.ID)), &now)
		switch {
		case err == nil:
			*j, away = now, false
		case errors.As(err, new(usageError)) || cmd.Context().Err() != nil:
			return err
		case !away:
			away = true
			fmt.Fprintf(cmd.ErrOrStderr(), "gridbid: %s; asking again\n", legibleError(err))
		}
	}
	if f.json {
		return nil
	}
	end := strings.TrimSpace(fmt.Sprintf("%s  %s %s  %s", j.ID, j.State, j.Site, failureText(*j)))
	_, err := fmt.Fprintln(cmd.OutOrStdout(), end)
	return err
}
