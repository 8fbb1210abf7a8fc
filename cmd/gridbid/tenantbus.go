package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

// registerNATS adds the flag by which a command reaches the coordinator over NATS, by a tenant's key.
func (f *apiFlags) registerNATS(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.nats, "nats", os.Getenv("GRIDBID_NATS"), "`FILE` nats.yaml of a tenant's folder (gridbid federation add-tenant): submit over NATS by its key, and not over the API; also $GRIDBID_NATS")
	_ = cmd.Flags().SetAnnotation("nats", fromContext, []string{})
}

// A tenantBus is the connection of a tenant to the coordinator, over NATS.
type tenantBus struct {
	bus    *natsbus.Bus
	tenant string
	conn   bus.Conn
	last   uint64 // number of the last message
}

// openTenantBus connects by the file of a tenant's folder.
func openTenantBus(ctx context.Context, file string) (*tenantBus, error) {
	access, err := natsbus.ReadAccess(file)
	if err == nil && access.Tenant == "" {
		err = fmt.Errorf("%s: nats/tenant is missing: want the file of a tenant's folder, as `gridbid federation add-tenant` writes it", file)
	}
	if err == nil {
		err = bus.ValidateParty(protocol.TenantParty(access.Tenant))
	}
	var b *natsbus.Bus
	if err == nil {
		b, err = natsbus.Open(access.Access)
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("--nats: %w", err)}
	}
	b.Log = slog.New(slog.DiscardHandler)
	t := &tenantBus{bus: b, tenant: access.Tenant}
	return t, t.connect(ctx)
}

func (t *tenantBus) party() protocol.Party { return protocol.TenantParty(t.tenant) }

// connect connects, anew if it was connected before.
func (t *tenantBus) connect(ctx context.Context) (err error) {
	if t.conn != nil {
		_ = t.conn.Close()
	}
	if t.conn, err = t.bus.Connect(ctx, t.party()); err != nil {
		return fmt.Errorf("the hub does not admit tenant %s: is its key revoked, or the hub away? %w", t.tenant, err)
	}
	return nil
}

func (t *tenantBus) close() {
	if t.conn != nil {
		_ = t.conn.Close()
	}
}

// send sends a message. Its number is the time: other commands send for the tenant, too.
func (t *tenantBus) send(ctx context.Context, b protocol.Body) error {
	now := time.Now()
	t.last = max(t.last+1, protocol.SequenceAt(now))
	return t.conn.Send(ctx, protocol.Message{Version: protocol.Current, At: protocol.FromStdTime(now), From: t.party(), Seq: t.last, To: protocol.Coordinator, Body: b})
}

// How long an answer is awaited before a message is sent once more, and in all; and how often a
// status is asked for while nothing comes, as a new leader may have lost one.
const (
	resendInterval = 2 * time.Second
	statusInterval = 30 * time.Second
)

var errNoAnswer = errors.New("no coordinator answers over NATS: is one running, and is the clock of this machine right? Messages dated over five minutes ahead, or before one of another machine with this key, are not read")

// exchange sends b, once more every interval, and passes what the coordinator answers to read,
// until that says that it is done. patience bounds the wait, 0 does not.
func (t *tenantBus) exchange(ctx context.Context, b protocol.Body, interval, patience time.Duration, read func(protocol.Body) (done bool, err error)) error {
	again := time.NewTicker(interval)
	defer again.Stop()
	var over <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		over = timer.C
	}
	if err := t.send(ctx, b); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return errNoAnswer
		case <-again.C:
			if err := t.send(ctx, b); err != nil {
				return err
			}
		case m, ok := <-t.conn.Messages():
			if !ok {
				return fmt.Errorf("the connection to the hub has ended: %w", t.conn.Close())
			}
			if done, err := read(m.Body); done || err != nil {
				return err
			}
		}
	}
}

// A tenantJob is what a tenant was told of a job that it submitted.
type tenantJob struct {
	submit protocol.Submit
	status protocol.JobStatus
	other  bool // it has another job of this id
}

// hear takes in an answer, and reports whether it says how the job stands now. A status may come
// before the confirmation: a repeated submission is answered by both.
func (j *tenantJob) hear(b protocol.Body) (confirmed bool) {
	id := j.submit.Job.ID
	switch b := b.(type) {
	case protocol.JobStatus:
		if b.Job == id {
			j.status = b
		}
	case protocol.Reject:
		switch {
		case b.Job != id:
		case b.Why.Code == protocol.Duplicate:
			j.other = true
		default:
			j.status = protocol.JobStatus{Job: id, State: protocol.JobClosed, Why: b.Why}
			return true
		}
	case protocol.Confirm:
		if b.Job == id {
			if b.Code == protocol.JobClosed {
				j.status.State = protocol.JobClosed
			}
			return true
		}
	}
	return false
}

// job returns how the job stands in the form of the API.
func (j *tenantJob) job() jobstatus.Job {
	s, sent := j.status, j.submit.Job
	out := jobstatus.Job{
		ID: sent.ID, Tenant: sent.Tenant, State: history.Pending, Arrived: sent.Arrival, Deadline: sent.Deadline,
		GPUs: float64(sent.TotalGPUMilli()) / 1000, CPU: float64(sent.CPU) / 1000, Memory: float64(sent.Memory) / 1024,
		Site: s.Site, Model: s.Model, Start: s.Start, Finish: s.Bill.Finish, Epoch: s.Epoch, Why: string(s.Why.Code), Note: s.Why.Note, Failed: s.Failed,
	}
	figures := &jobstatus.Figures{Energy: s.Bill.Energy.InKWh(), Carbon: s.Bill.Carbon.InKilograms(), Money: s.Bill.Money.InDollars()}
	switch {
	case s.State == protocol.AcceptConfirmed:
		out.State, out.Awarded, out.Bid = history.Planned, true, figures
	case s.State != protocol.JobClosed:
	case s.Why.Code == protocol.Cancelled:
		out.State = history.Cancelled
	case s.Failed != "":
		out.State, out.Measured = history.Failed, figures
	case s.Why.Code != "":
		out.State = history.Refused
	default:
		out.State, out.Measured = history.Done, figures
	}
	return out
}

// submit submits a job, and returns when it is in the coordinator's event log.
func (t *tenantBus) submit(ctx context.Context, s protocol.Submit) (*tenantJob, error) {
	j := &tenantJob{submit: s}
	err := t.exchange(ctx, s, resendInterval, requestTimeout, func(b protocol.Body) (bool, error) { return j.hear(b), nil })
	switch {
	case err != nil:
		return j, err
	case j.other:
		return j, usageError{fmt.Errorf("another job %s was submitted before; give this one an id of its own", s.Job.ID)}
	case j.status.State == protocol.JobClosed && j.status.Why.Code == protocol.Malformed:
		return j, usageError{fmt.Errorf("job %s: refused: %s %s", s.Job.ID, j.status.Why.Code, j.status.Why.Note)}
	}
	return j, nil
}

// await waits for the end of a job that was submitted. While the hub is away it connects anew.
func (t *tenantBus) await(cmd *cobra.Command, j *tenantJob, changed func(jobstatus.Job)) error {
	was := j.job()
	for changed(was); j.status.State != protocol.JobClosed; {
		err := t.exchange(cmd.Context(), j.submit, statusInterval, 0, func(b protocol.Body) (bool, error) {
			if j.hear(b); j.job().State != was.State || j.job().Site != was.Site {
				was = j.job()
				changed(was)
			}
			return j.status.State == protocol.JobClosed, nil
		})
		for err != nil {
			if cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "gridbid: %s; retrying\n", legibleError(err))
			select {
			case <-cmd.Context().Done():
				return cmd.Context().Err()
			case <-time.After(resendInterval):
			}
			err = t.connect(cmd.Context())
		}
	}
	return nil
}

// cancel asks the coordinator to cancel a job, and reports whether it does: false for a job that has
// ended, or is not the tenant's.
func (t *tenantBus) cancel(ctx context.Context, id protocol.JobID) (does bool, err error) {
	err = t.exchange(ctx, protocol.Cancel{Job: id}, resendInterval, requestTimeout, func(b protocol.Body) (bool, error) {
		c, ok := b.(protocol.Confirm)
		if ok = ok && c.Job == id; ok {
			does = c.Code == protocol.Acknowledged
		}
		return ok, nil
	})
	return does, err
}

// jobID returns the id of a job of the tenant: "TENANT/ID" for an id of its own.
func (t *tenantBus) jobID(id string) protocol.JobID {
	return protocol.JobID(t.tenant + "/" + strings.TrimPrefix(id, t.tenant+"/"))
}
