package scenarios

import (
	"context"
	"errors"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/scenarios/acceptance"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// JudgeReplay replays a scenario in memory under a policy, and judges the run by the expectations of the
// scenario. A job that never ends is for these to find, and no error.
func JudgeReplay(ctx context.Context, s spec.Scenario, policy string) ([]acceptance.Verdict, *history.History, error) {
	res, err := Replay(ctx, s, policy, new(membus.Bus), Options{})
	if err != nil && !errors.Is(err, ErrJobsUnfinished) {
		return nil, nil, err
	}
	return acceptance.Judge(s, res.History, 0), res.History, nil
}

// PoliciesToJudge returns the policies under which the expectations of a scenario are judged: its
// own, or the auction.
func PoliciesToJudge(s spec.Scenario) []string {
	if len(s.Policies) > 0 {
		return s.Policies
	}
	return []string{PolicyAuction}
}
