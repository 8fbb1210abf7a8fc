package query

import (
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
)

// Whatever is asked of a service is answered with how it stands, and what dearer carbon would change.
func TestAServiceIsAskedAbout(t *testing.T) {
	r := day()
	r.addMessage(protocol.Submitter, protocol.Coordinator, protocol.SubmitService{Service: protocol.Service{ID: "llama", Tenant: "vision", Wanted: 3, GPUs: 1, Share: 1000}})
	r.addMessage(protocol.Coordinator, "", protocol.ServiceDivision{Service: "llama", Decision: 1, Wanted: 3, Sites: []protocol.SiteCount{{Site: "oslo", Count: 3}},
		Why: protocol.Reason{Code: protocol.ServicePlaced}, Cost: 120_000, Bound: 120_000, CarbonDoubled: []protocol.SiteCount{{Site: "lyon", Count: 3}, {Site: "oslo", Before: 3}}})
	l := r.buildDataset()
	for _, text := range []string{"why llama", "what would change if carbon doubled for llama", "what if carbon was twice as expensive for llama?", "where is llama", "why so many llama here"} {
		a := l.AnswerQuestion(text)
		if got := strings.Join(a.Text, " "); a.Kind != "answer" || !strings.Contains(got, "llama wants 3 replicas") || !strings.Contains(got, "If carbon were twice as dear, a rebalance would put 3 in place of 0 at lyon and 0 in place of 3 at oslo.") {
			t.Errorf("%q: %+v", text, a)
		}
	}
}
