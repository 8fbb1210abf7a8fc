package federation

import (
	"strings"
	"testing"
)

// Whatever stands in federation.json, it is refused or becomes rules in which
// nothing but names and keys came from it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":1,"setup":{"hosts":["hub"],"listen":"0.0.0.0","port":4222,"leaf_port":7422,"route":6222,"limits":{"payload":524288,"connections":8,"subscriptions":256,"leaves":2}},"market":[{"name":"tap"}],"sites":[{"name":"oslo","keys":["UBL77VGCAO6FRYB46DMFDXC3RMBNKHIZ5R3TUNUVYVFM6OPORWDRN7HI"]}]}`))
	f.Add([]byte(`{"format":1,"setup":{"hosts":["a\"b"]}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fed, err := parseState(data)
		if err != nil {
			return
		}
		rules, err := fed.renderAccounts()
		if err != nil {
			t.Fatal(err)
		}
		text := string(rules)
		if n := strings.Count(text, "nkey:"); n != keys(fed) {
			t.Errorf("%d keys become %d users:\n%s", keys(fed), n, text)
		}
		if strings.Count(text, "{") != strings.Count(text, "}") || strings.Count(text, `"`)%2 != 0 {
			t.Errorf("unbalanced:\n%s", text)
		}
	})
}

func keys(f *Federation) (n int) {
	for _, list := range [][]Member{f.Market, f.Sites} {
		for _, m := range list {
			n += len(m.Keys)
		}
	}
	return n
}
