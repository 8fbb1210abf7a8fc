package query

import "github.com/gridbid/gridbid/protocol"

// A ShadowReader says in a sentence what a policy in shadow would have done with a job, as far as it had
// chosen by some time; "" if nothing is kept of that.
type ShadowReader func(j *protocol.Job, by protocol.Time) (string, error)

// describeShadow adds what a policy in shadow would have done with the job, and what that would have cost.
func (r *Result) describeShadow(l *Dataset, m jobCase) {
	if l.setup.Shadow == nil {
		return
	}
	said, err := l.setup.Shadow(&m.job.Job, l.lastTime())
	if err != nil {
		said = "What a policy chose in shadow cannot be read: " + err.Error() + "."
	}
	if said != "" {
		r.addSentence("%s", recordedText(said))
	}
}
