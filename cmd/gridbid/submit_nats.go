package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/protocol"
)

// submitOverNATS submits the jobs of files by a tenant's key, and with wait follows them to their
// end. It returns those that were submitted, also with an error.
func (f *apiFlags) submitOverNATS(cmd *cobra.Command, files []string, id string, wait bool) (done []jobstatus.Job, err error) {
	t, err := openTenantBus(cmd.Context(), f.nats)
	if err != nil {
		return nil, err
	}
	defer t.close()
	var jobs []*tenantJob
	for _, file := range files {
		j, err := f.submitFileOverNATS(cmd, t, file, id)
		if err != nil {
			return done, err
		}
		jobs, done = append(jobs, j), append(done, j.job())
		if f.forPrograms() {
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", j.submit.Job.ID, j.job().State); err != nil {
			return done, fmt.Errorf("%s is submitted: %w", j.submit.Job.ID, err)
		}
	}
	for i, j := range jobs {
		if !wait {
			break
		}
		if err := t.await(cmd, j, func(now jobstatus.Job) {
			if !f.forPrograms() {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s  %s %s\n", now.ID, now.State, now.Site)
			}
		}); err != nil {
			return done, err
		}
		done[i] = j.job()
		if err := f.printEnd(cmd, done[i]); err != nil {
			return done, err
		}
	}
	return done, nil
}

// submitFileOverNATS submits the job of one file: with the tenant of the key, and an id that begins
// with it.
func (f *apiFlags) submitFileOverNATS(cmd *cobra.Command, t *tenantBus, file, id string) (*tenantJob, error) {
	_, o, err := readJobFile(cmd, file)
	if err != nil {
		return nil, err
	}
	if err := checkTenant(file, o, t.tenant); err != nil {
		return nil, err
	}
	given := cmp.Or(id, string(o.ID()))
	o = o.WithTenant(t.tenant).WithID(t.jobID(cmp.Or(given, drawJobID())))
	j, err := t.submit(cmd.Context(), o.SubmitAt(protocol.FromStdTime(time.Now())))
	if err != nil && given == "" && !errors.As(err, new(usageError)) { // also after ctrl-C
		fmt.Fprintf(cmd.ErrOrStderr(), "the coordinator may have taken the job: to be sure, repeat the command with --id %s\n", o.ID())
	}
	return j, err
}

// checkTenant returns an error if a job file names another tenant than its submitter.
func checkTenant(file string, o jobfile.Request, tenant string) error {
	if named := o.Tenant(); named != "" && named != tenant {
		return usageError{fmt.Errorf("%s: tenant: the file names %q, and the key is of tenant %q: leave tenant out, or use the key of that tenant", file, named, tenant)}
	}
	return nil
}

// cancelOverNATS cancels a job by a tenant's key.
func (f *apiFlags) cancelOverNATS(cmd *cobra.Command, id string) error {
	t, err := openTenantBus(cmd.Context(), f.nats)
	if err != nil {
		return err
	}
	defer t.close()
	job := t.jobID(id)
	does, err := t.cancel(cmd.Context(), job)
	if err != nil {
		return err
	}
	answer := struct {
		Job        protocol.JobID `json:"id"`
		Cancelling bool           `json:"cancelling"`
	}{job, does}
	return f.printValue(cmd, answer, func(out io.Writer) {
		if does {
			fmt.Fprintf(out, "%s  is being cancelled\n", job)
			return
		}
		fmt.Fprintf(out, "%s  has ended, or is no job of tenant %s: nothing is changed\n", job, t.tenant)
	})
}
