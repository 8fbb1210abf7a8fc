package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// checkWithin returns an error unless a policy changes amounts of quotas below its group alone. The
// group's own amounts bound what these may hold, so nobody outside loses, and one person suffices.
// It cannot name another tenant, or move one: whoever is named below a group is in its admin's hands.
func checkWithin(was, now protocol.Policy) error {
	if !reflect.DeepEqual(was.Rules, now.Rules) || !slices.Equal(was.Classes, now.Classes) || len(was.Quotas) != len(now.Quotas) {
		return fmt.Errorf("policy: it changes more than quotas below %s: rules, classes, and which quotas there are need an admin of the federation", now.Within)
	}
	group := slices.IndexFunc(was.Quotas, func(q protocol.Quota) bool { return q.Name == now.Within })
	if group < 0 {
		return fmt.Errorf("policy: no quota in force is named %q", now.Within)
	}
	changed := 0
	for i, q := range now.Quotas {
		old := was.Quotas[i]
		if q.Equal(old) {
			continue
		}
		amounts := old
		amounts.Min, amounts.Max, amounts.Kept, amounts.Weight = q.Min, q.Max, q.Kept, q.Weight
		amounts.Models, amounts.Budget, amounts.CarbonBudget = q.Models, q.Budget, q.CarbonBudget
		if changed++; !q.Equal(amounts) || !isBelow(was.Quotas, old.Name, now.Within) {
			return fmt.Errorf("policy: quota %s: only amounts of quotas below %s may change", old.Name, now.Within)
		}
		if cap, holder := capAbove(now.Quotas, q); q.Max > cap && cap > 0 {
			return fmt.Errorf("policy: quota %s: max is %d GPUs, above the %d of %s: lower it, or leave it out", q.Name, q.Max/1000, cap/1000, holder)
		}
	}
	if changed == 0 {
		return errors.New("policy: no quota changes")
	}
	return nil
}

// isBelow reports whether a quota is below a group.
func isBelow(all []protocol.Quota, name, group string) bool {
	for range all { // a tree that is in force has no cycle; this ends in any case
		i := slices.IndexFunc(all, func(q protocol.Quota) bool { return q.Name == name })
		if i < 0 || all[i].Parent == "" {
			return false
		}
		if name = all[i].Parent; name == group {
			return true
		}
	}
	return false
}

// capAbove returns the nearest cap of the groups above a quota, and whose it is; 0: there is none.
func capAbove(all []protocol.Quota, q protocol.Quota) (most protocol.Milli, holder string) {
	for range all {
		i := slices.IndexFunc(all, func(x protocol.Quota) bool { return x.Name == q.Parent })
		if i < 0 {
			return 0, ""
		}
		if q = all[i]; q.Max > 0 {
			return q.Max, q.Name
		}
	}
	return 0, ""
}
