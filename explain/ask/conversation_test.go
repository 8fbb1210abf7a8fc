package ask

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// A follow-up keeps what it does not name: the rows, the time, the split and the rank of the answer
// before. One that would drop a bound of it is given back.
func TestAFollowUpKeepsWhatItDoesNotName(t *testing.T) {
	l := testParser()
	for _, turns := range [][][2]string{
		{{"top 5 jobs by energy", "top 5 jobs by energy"}, {"by cost", "top 5 jobs by cost"}, {"the second one", "facts of job train-2"}, {"and the first", "facts of job train-1"}},
		{{"energy per site", "energy used by site"}, {"which one is the biggest", "energy used by site most"}, {"as a share", "energy used by site share"}},
		{{"average wait per team", "average wait by tenant"}, {"which is the highest", `measure "most mean wait by-tenant"`}, {"only urgent jobs", `measure "most mean wait urgent by-tenant"`}},
		{{"what finished between 12 and 13", "how many jobs ran in state done from 2022-04-13T12:00:00Z to 2022-04-13T13:00:00Z"}, {"and the hour after?", "how many jobs ran in state done from 2022-04-13T13:00:00Z to 2022-04-13T14:00:00Z"}},
		{{"how many jobs ended between 12 and 13", `measure "ended" from 2022-04-13T12:00:00Z to 2022-04-13T13:00:00Z`}, {"at which sites", `measure "ended by-site" from 2022-04-13T12:00:00Z to 2022-04-13T13:00:00Z`}},
		{{"where was it cleanest at 13:00", "greenest site at 2022-04-13T13:00:00Z"}, {"and cheapest", "electricity price cheapest site at 2022-04-13T13:00:00Z"}},
		{{"which jobs waited more than 2 h", "how many jobs ran with wait more than 2 h"}, {"who do they belong to", "how many jobs ran by tenant with wait more than 2 h"}},
		{{"train-1", ""}, {"when did it start", "when did job train-1 start and end"}},
		{{"which jobs waited more than 2 h", "how many jobs ran with wait more than 2 h"}, {"which of them needed 4 or more gpus", `measure "" with gpus at least 4 GPUs of jobs with wait more than 2 h`}, {"and more than 1 kWh", ""}},
		{{"which jobs were late", "late jobs"}, {"which of them needed 4 or more gpus", "late jobs with gpus at least 4 GPUs"}},
	} {
		var talk Conversation
		for _, turn := range turns {
			q, _, back := talk.ParseQuestion(l, turn[0])
			if (back != nil) != (turn[1] == "") || back == nil && q.String() != turn[1] {
				t.Errorf("%q after %q is read as %q (%+v); want %q", turn[0], turns[0][0], q.String(), back, turn[1])
			}
			if back == nil {
				talk.ContinueFrom(q)
				rows := []protocol.JobID{"train-1", "train-2"}
				if q.Number == 0 {
					rows = nil
				}
				talk.SetRows(rows)
			}
		}
	}
}
