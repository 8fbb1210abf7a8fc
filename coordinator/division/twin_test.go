package division

import (
	"flag"
	"math/big"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
)

var inputs = flag.Int("inputs", 2000, "random requests that the slow twin divides, too")

// The twin divides by what is written, as directly and as slowly as can be: by fractions, one
// seat after the other, each by a look at all parties. It shares no code with the package.
//
//	The next seat goes to the party with the largest votes/(2*seats+1). At a tie to the one with
//	fewer seats; then by name, ascending if the UID is empty or its 32-bit FNV-1a hash is even,
//	else descending. A party that is full is left out.
type twinParty struct {
	name               string
	votes, seats, most int
}

func twinSeats(total int, uid string, parties []twinParty) {
	hash := uint64(2166136261)
	for _, c := range []byte(uid) {
		hash = (hash ^ uint64(c)) * 16777619 % (1 << 32)
	}
	ascending := uid == "" || hash%2 == 0
	for ; total > 0; total-- {
		best := -1
		for i, p := range parties {
			if p.seats >= p.most {
				continue
			}
			if best < 0 {
				best = i
				continue
			}
			b := parties[best]
			mine, other := big.NewRat(int64(p.votes), int64(2*p.seats+1)), big.NewRat(int64(b.votes), int64(2*b.seats+1))
			switch c := mine.Cmp(other); {
			case c > 0, c == 0 && p.seats < b.seats:
				best = i
			case c == 0 && p.seats == b.seats && strings.Compare(p.name, b.name) < 0 == ascending:
				best = i
			}
		}
		if best < 0 {
			return
		}
		parties[best].seats++
	}
}

// twinDivide returns the replicas of each site under a kind that divides by votes, without
// MinPerSite and SpreadConstraints.
func twinDivide(r Request) map[string]int {
	total, held := max(r.Wanted, r.Min), 0
	if r.Max > 0 && total > r.Max {
		total = r.Max
	}
	out, weighted := make(map[string]int), false
	var open []Site
	for _, s := range r.Sites {
		if s.Weight > 0 {
			weighted = true
		}
		if s.Silent {
			out[s.Name] = s.Held
			total -= s.Held
		} else {
			open = append(open, s)
			held += s.Held
		}
	}
	total = max(total, 0)
	static := r.Kind == ByWeight || r.Kind == ByWeightUncapped
	tiers := make(map[int][]Site)
	for _, s := range open {
		tiers[s.Tier] = append(tiers[s.Tier], s)
	}
	var numbers []int
	for n := range tiers {
		numbers = append(numbers, n)
	}
	sort.Ints(numbers)
	for _, number := range numbers {
		var parties []twinParty
		might := 0
		for _, s := range tiers[number] {
			p := twinParty{name: s.Name}
			switch {
			case static:
				if p.votes = int(s.Weight); !weighted {
					p.votes = 1
				}
				if p.most = s.Held + s.Free; r.Kind == ByWeightUncapped {
					p.most = 1 << 40
				}
				if p.votes == 0 {
					p.most = 0
				}
			case r.Rebalance:
				p.votes, p.most = s.Held+s.Free, s.Held+s.Free
			case total >= held:
				p.votes, p.most = s.Free, s.Free
			default:
				p.votes, p.most = s.Held, s.Held
			}
			might += p.most
			parties = append(parties, p)
		}
		grows := !static && !r.Rebalance && total >= held
		give := min(total, might)
		if grows {
			give = min(total-held, might)
		}
		twinSeats(give, r.UID, parties)
		for i, s := range tiers[number] {
			out[s.Name] = parties[i].seats
			if grows {
				out[s.Name] += s.Held
			}
		}
		total -= give
	}
	return out
}

// randomRequest draws from few values, so that ties happen.
func randomRequest(rng *rand.Rand) Request {
	kinds := []Kind{ByFreeReplicas, ByFreeReplicas, ByWeight, ByWeightUncapped}
	r := Request{UID: []string{"", "a", "b", "chat-8b", "0191-x"}[rng.IntN(5)], Kind: kinds[rng.IntN(len(kinds))],
		Wanted: rng.IntN(40), Rebalance: rng.IntN(4) == 0}
	if rng.IntN(4) == 0 {
		r.Min, r.Max = rng.IntN(5), 5+rng.IntN(30)
	}
	scale := []int{1, 3, 10, 40}[rng.IntN(4)]
	for i := range 1 + rng.IntN(6) {
		r.Sites = append(r.Sites, Site{Name: string(rune('A' + i)), Tier: rng.IntN(2) * rng.IntN(3), Weight: int64(rng.IntN(4)),
			Held: rng.IntN(scale+1) * rng.IntN(2), Free: rng.IntN(scale + 1), Silent: rng.IntN(12) == 0})
	}
	rng.Shuffle(len(r.Sites), func(i, j int) { r.Sites[i], r.Sites[j] = r.Sites[j], r.Sites[i] })
	return r
}

func TestTheSlowTwinDividesAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 1))
	for i := range *inputs {
		r := randomRequest(rng)
		d, want := divide(t, r), twinDivide(r)
		for _, s := range d.Shares {
			if s.Replicas != want[s.Site] {
				t.Fatalf("input %d: Divide(%+v) = %s; the twin gives %v", i, r, says(d), want)
			}
		}
	}
	t.Logf("%d inputs divided alike", *inputs)
}
