package market

import (
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// SetPolicy puts a policy in force before a market lives, or after it was
// restored. It is announced with the next call.
func (k *Market) SetPolicy(p protocol.Policy) {
	if k.policy.Version != p.Version {
		k.policy, k.policyUnannounced = p, true
	}
}

// CurrentPolicy returns the policy in force. The caller must not change it.
func (k *Market) CurrentPolicy() protocol.Policy { return k.policy }

// handlePolicy takes in a policy that the desk wants in force. Whoever asked is told
// which one is: another than theirs if theirs is void.
func (k *Market) handlePolicy(now protocol.Time, m protocol.Message, p protocol.Policy) []protocol.Message {
	if m.From != protocol.OperatorAPI {
		k.counts["policy-of-stranger"]++
		return nil
	}
	if err := policy.CheckSuccessor(k.policy, p); err != nil {
		k.counts["policy-void"]++
		return []protocol.Message{k.sendAndRecord(now, m.From, k.policy)}
	}
	k.policy = p
	k.wakeWaiting(now)
	return k.announcePolicy(now)
}

// announcePolicy says the policy in force to everyone, and to the books.
func (k *Market) announcePolicy(now protocol.Time) []protocol.Message {
	k.policyUnannounced = false
	m := k.sendAndRecord(now, "", k.policy)
	k.recordEvent(m)
	return []protocol.Message{m}
}

// allowedOptions returns the options of a menu that the policy in force does not
// forbid, and how much cheaper each counts; nil if none counts otherwise.
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
