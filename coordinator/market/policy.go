package market

import (
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/protocol"
)

// Govern puts a policy in force before a market lives, or after it was
// restored. It is announced with the next call.
func (k *Market) Govern(p protocol.Policy) {
	if k.policy.Version != p.Version {
		k.policy, k.unsaid = p, true
	}
}

// Policy returns the policy in force. The caller must not change it.
func (k *Market) Policy() protocol.Policy { return k.policy }

// govern takes in a policy that the desk wants in force. Whoever asked is told
// which one is: another than theirs if theirs is void.
func (k *Market) govern(now protocol.Time, m protocol.Message, p protocol.Policy) []protocol.Message {
	if m.From != protocol.Desk {
		k.counts["policy-of-stranger"]++
		return nil
	}
	if err := policy.Check(k.policy, p); err != nil {
		k.counts["policy-void"]++
		return []protocol.Message{k.say(now, m.From, k.policy)}
	}
	k.policy = p
	k.stir(now)
	return k.proclaim(now)
}

// proclaim says the policy in force to everyone, and to the books.
func (k *Market) proclaim(now protocol.Time) []protocol.Message {
	k.unsaid = false
	m := k.say(now, "", k.policy)
	k.note(m)
	return []protocol.Message{m}
}

// allowed returns the options of a menu that the policy in force does not
// forbid, and how much cheaper each counts; nil if none counts otherwise.
func (k *Market) allowed(j protocol.Job, site string, o []protocol.Option, g protocol.Outlook) (options []protocol.Option, bias []protocol.Milli) {
	if len(k.policy.Rules) == 0 {
		return o, nil
	}
	biased := false
	for _, x := range o {
		r := policy.Rule(k.policy, j, site, x, g)
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
