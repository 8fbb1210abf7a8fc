package agents

import "github.com/gridbid/gridbid/protocol"

// answerLogRequest has the executor read what a job wrote, if the site's owner shows that. The answer
// passes through the agent as it is.
func (a *Agent) answerLogRequest(now protocol.Time, q protocol.LogRequest) []protocol.Message {
	if !a.cfg.Terms.Logs {
		return a.messageTo(now, protocol.Coordinator, protocol.JobLog{Number: q.Number, Job: q.Job, Why: "shows no logs of jobs: its owner has not set logs: true in the terms of its agent"})
	}
	return a.messageTo(now, protocol.ExecutorParty(a.cfg.Site), q)
}
