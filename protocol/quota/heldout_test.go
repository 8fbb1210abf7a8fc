package quota

import (
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Five trees as owners write them, which were written before any was divided, get from ours what they get by the
// published rules of others: see koordinator and kai. Bands are KAI's, kept mins Koordinator's; a tree without either
// is divided by both.
func TestTreesOfOwnersAreDividedAsByOthers(t *testing.T) {
	leaf := func(name string, least, most, weight, ask int64) *rival {
		return &rival{name: name, min: least, max: most, weight: weight, ask: ask}
	}
	group := func(name string, least, most, weight int64, children ...*rival) *rival {
		return &rival{name: name, min: least, max: most, weight: weight, children: children}
	}
	kept := func(r *rival) *rival { r.unlent = true; return r }
	band := func(n int64, r *rival) *rival { r.band = n; return r }
	both := map[string]func(int64, []*rival){"koordinator": koordinator, "kai": kai}
	for name, c := range map[string]struct {
		total int64
		by    map[string]func(int64, []*rival)
		tree  func() []*rival
	}{
		"a university: idle mins are borrowed, one faculty is capped, guests have no min": {96, both, func() []*rival {
			return []*rival{
				group("science", 48, 64, 3, leaf("physics", 16, 0, 1, 60), leaf("biology", 24, 0, 2, 4), leaf("maths", 8, 12, 1, 30)),
				group("arts", 16, 16, 1, leaf("music", 8, 0, 1, 0), leaf("film", 8, 0, 1, 40)),
				leaf("guests", 0, 0, 1, 100),
			}
		}},
		"a company: five levels, and a lender that asks for nothing": {640, both, func() []*rival {
			return []*rival{
				group("emea", 320, 0, 2, group("de", 160, 200, 1, group("berlin", 100, 0, 3, group("search", 60, 0, 1, leaf("rank", 40, 0, 5, 300), leaf("index", 20, 25, 1, 60)), leaf("ads", 40, 0, 2, 0)), leaf("bonn", 60, 0, 1, 10)),
					leaf("fr", 160, 0, 1, 500)),
				group("apac", 320, 0, 1, leaf("jp", 200, 220, 1, 500), leaf("au", 120, 0, 1, 0)),
			}
		}},
		"who has no weight gets its min and no more": {100, both, func() []*rival {
			return []*rival{leaf("paid", 30, 0, 0, 100), leaf("free", 0, 0, 7, 13), leaf("base", 20, 0, 1, 25), leaf("burst", 0, 50, 3, 90)}
		}},
		"one keeps what it does not use, and the rest is divided in passes": {200, map[string]func(int64, []*rival){"koordinator": koordinator}, func() []*rival {
			return []*rival{kept(leaf("ops", 40, 0, 1, 5)), leaf("small", 10, 0, 5, 12), leaf("mid", 30, 80, 5, 200),
				group("labs", 60, 0, 2, kept(leaf("x", 30, 0, 1, 10)), leaf("y", 30, 0, 1, 90))}
		}},
		"bands: production first, a capped batch next, the rest to whoever scavenges": {128, map[string]func(int64, []*rival){"kai": kai}, func() []*rival {
			return []*rival{band(2, leaf("prod", 32, 60, 1, 90)), band(1, leaf("batch", 16, 30, 4, 200)), band(1, leaf("train", 16, 0, 1, 21)),
				band(0, group("scavengers", 0, 0, 1, leaf("s1", 0, 0, 2, 50), leaf("s2", 0, 5, 1, 50), leaf("s3", 0, 0, 1, 50)))}
		}},
	} {
		for by, divide := range c.by {
			all := c.tree()
			var list []protocol.Quota
			var leaves []*rival
			ask := make(map[string]protocol.Milli)
			for _, r := range all {
				r.limited()
			}
			listOf(all, "", &list, ask, &leaves)
			tree, err := NewTree(list)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			divide(c.total, all)
			shares := tree.Shares(protocol.Milli(c.total), ask)
			for _, r := range leaves {
				if off := int64(shares[r.name]) - r.gets; off > 1 || off < -1 { // of rounding
					t.Errorf("%s: %s gets %d; by %s %d of %d", name, r.name, shares[r.name], by, r.gets, c.total)
				}
			}
		}
	}
}
