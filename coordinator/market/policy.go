package market

import (
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// SetPolicy puts a policy in force before a market takes its first step, or after its state was
// restored. The next call announces it.
func (k *Market) SetPolicy(p protocol.Policy) {
	if k.policy.Version != p.Version {
		k.replacePolicy(p)
		k.policyUnannounced = true
	}
}

// CurrentPolicy returns the policy in force. The caller must not change it.
func (k *Market) CurrentPolicy() protocol.Policy { return k.policy }

func (k *Market) replacePolicy(p protocol.Policy) { k.policy, k.quotas = p, nil }

// handlePolicy puts a successor of the policy in force, if the operator API sends a valid one. An
// invalid one is answered with the policy that stays in force.
func (k *Market) handlePolicy(now protocol.Time, m protocol.Message, p protocol.Policy) []protocol.Message {
	if m.From != protocol.OperatorAPI {
		k.counts["policy-of-stranger"]++
		return nil
	}
	if err := policy.CheckSuccessor(k.policy, p); err != nil {
		k.counts["policy-void"]++
		return []protocol.Message{k.sendAndRecord(now, m.From, k.policy)}
	}
	k.replacePolicy(p)
	k.wakeWaiting(now)
	return k.announcePolicy(now)
}

// announcePolicy broadcasts the policy in force, and records that as an event.
func (k *Market) announcePolicy(now protocol.Time) []protocol.Message {
	k.policyUnannounced = false
	k.budgets.SetLimits(now, k.policy)
	m := k.sendAndRecord(now, "", k.policy)
	k.recordEvent(m)
	return []protocol.Message{m}
}

// allowedOptions returns the options that the policy in force does not forbid, and each one's bias
// in the ranking; bias is nil if no rule sets one.
func (k *Market) allowedOptions(j protocol.Job, site string, o []protocol.BidOption, g protocol.GridForecast) (options []protocol.BidOption, bias []protocol.Milli) {
	if len(k.policy.Rules) == 0 {
		return o, nil
	}
	biased := false
	for _, x := range o {
		r := policy.EvaluateOption(k.policy, j, site, x, g)
		if r.Forbidden != "" {
			k.counts[string(protocol.Forbidden)]++
			continue
		}
		options, bias = append(options, x), append(bias, r.Bias)
		biased = biased || r.Bias != 0
	}
	if !biased {
		return options, nil
	}
	return options, bias
}

// constrainsStart reports whether an awarded job must not start before its option does, because a hard
// rule or the max of a quota may forbid that, or one before it in a StrictFIFO queue starts only then.
func (k *Market) constrainsStart(now protocol.Time, j *protocol.Job, d auction.Decision) bool {
	if j.PartOf != "" && d.Option.Start > now { // so that the parts start together
		return true
	}
	if _, strict := k.quotaTree().StrictQueueOf(j.Tenant); strict && d.Option.Start > now {
		return true
	}
	if len(k.quotaTree().BudgetedPathOf(j.Tenant)) > 0 { // sooner it may cost more, or run in another month
		return true
	}
	return k.quotaTree().HasCapOn(j.Tenant) && j.GPUs > 0 || policy.ConstrainsStart(k.policy, *j, d.Site, now, d.Option.Start)
}
