package trace

import (
	"io"

	"github.com/gridbid/gridbid/protocol"
)

// A Node is one machine of a list of nodes.
type Node struct {
	Name   string
	CPU    protocol.Milli
	Memory protocol.MiB
	GPUs   int    // 0..8
	Model  string // of its GPUs; "" without
}

// Limits for one node of a list; a larger value is treated as an input error.
const (
	MostGPUs   = 8
	mostCores  = 2_000    // processor cores
	mostMemory = 64 << 20 // MiB: 64 TiB
	mostNodes  = 200_000  // of a list
)

// Nodes reads the columns sn, cpu_milli, memory_mib, gpu and model, as in Alibaba's list of 2023, and returns nodes
// in the order of the file. Names are unique.
func Nodes(r io.Reader, file string) ([]Node, error) {
	t, err := open(r, file, "sn", "cpu_milli", "memory_mib", "gpu", "model")
	if err != nil {
		return nil, err
	}
	var out []Node
	seen := make(map[string]int)
	for t.next() {
		n := Node{
			Name:   t.name("sn"),
			CPU:    protocol.Milli(t.whole("cpu_milli", 1, 1000*mostCores)),
			Memory: protocol.MiB(t.whole("memory_mib", 1, mostMemory)),
			GPUs:   int(t.whole("gpu", 0, MostGPUs)),
			Model:  t.text("model"),
		}
		switch first, dup := seen[n.Name]; {
		case dup:
			t.fail("node %s is already in line %d: drop one of them", n.Name, first)
		case n.GPUs > 0 && n.Model == "":
			t.fail("model is empty for a node with %d GPUs: name the model", n.GPUs)
		case n.GPUs == 0 && n.Model != "":
			t.fail("model is %q for a node without GPUs: leave it empty", n.Model)
		case len(n.Model) > mostName:
			t.fail("model is longer than %d bytes: shorten it", mostName)
		case len(out) == mostNodes:
			t.fail("over %d nodes: split or shorten the file", mostNodes)
		}
		seen[n.Name] = t.line
		out = append(out, n)
	}
	if t.err == nil && len(out) == 0 {
		t.fail("no nodes after the header: add rows or name another file")
	}
	if t.err != nil {
		return nil, t.err
	}
	return out, nil
}
