package narrate

import (
	"testing"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

func TestTheDomainOfAGangIsNamed(t *testing.T) {
	run := history.Run{Node: "n1", Places: []protocol.Place{{Pods: 1, Node: "n1"}, {Pods: 2, Node: "n2"}}}
	if got, want := NodesText(&run), "2 nodes (n1 and n2)"; got != want {
		t.Errorf("NodesText = %q; want %q", got, want)
	}
	run.Domain = "zone-a/r1"
	if got, want := NodesText(&run), "2 nodes (n1 and n2), all in zone-a/r1"; got != want {
		t.Errorf("NodesText = %q; want %q", got, want)
	}
}
