package agents

import (
	"slices"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A startReport tells the coordinator that a job runs, on which node and devices. No answer comes:
// it is repeated a few times, as the coordinator may have been down, and the coordinator reads it
// once.
type startReport struct {
	due   protocol.Time
	times int // sent so far
	job   protocol.JobID
	epoch uint64
}

// startReportDelays are the times between repetitions.
var startReportDelays = []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute}

// ReportStarts has the agent report to the coordinator when a job starts. Only a live site calls it,
// before the agent runs: in a replay the ledger has what the executor said.
func (a *Agent) ReportStarts() { a.reportsStarts = true }

// reportStart returns the report that a job runs, and schedules its repetitions.
func (a *Agent) reportStart(now protocol.Time, id protocol.JobID, l *activeRun) []protocol.Message {
	if !a.reportsStarts && l.launch.Job.PartOf == "" { // the market stops all parts of a job if one does not start
		return nil
	}
	a.startReports = slices.DeleteFunc(a.startReports, func(r startReport) bool { return r.job == id })
	a.startReports = append(a.startReports, startReport{due: now, job: id, epoch: l.acceptedEpoch})
	return a.sendStartReports(now)
}

// sendStartReports returns the reports that are due. One of a job that is over, or here under
// another award, is dropped.
func (a *Agent) sendStartReports(now protocol.Time) (msgs []protocol.Message) {
	kept := a.startReports[:0]
	for _, r := range a.startReports {
		l := a.running[r.job]
		if l == nil || l.acceptedEpoch != r.epoch {
			continue
		}
		if r.due <= now {
			msgs = append(msgs, a.sender.NewMessage(now, protocol.Coordinator, protocol.Started{Job: r.job, Epoch: r.epoch, Node: l.launch.Node, Devices: l.launch.Devices, Places: l.launch.Places, Domain: l.launch.Domain}))
			if r.times == len(startReportDelays) {
				continue
			}
			r.due, r.times = now.Add(startReportDelays[r.times]), r.times+1
		}
		kept = append(kept, r)
	}
	a.startReports = kept
	return msgs
}

// nextStartReport returns when a report is due; 0: none.
func (a *Agent) nextStartReport() (due protocol.Time) {
	for _, r := range a.startReports {
		if due == 0 || r.due < due {
			due = r.due
		}
	}
	return due
}
