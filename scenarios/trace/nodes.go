package trace

import (
	"io"

	"github.com/gridbid/gridbid/protocol"
)

// A TraceNode is one machine of a list of nodes.
type TraceNode struct {
	Name   string
	CPU    protocol.Milli
	Memory protocol.MiB
	GPUs   int    // 0..8
	Model  string // of its GPUs; "" without
}

// Limits for one node of a list; a larger value is treated as an input error.
const (
	MaxGPUs   = 8
	maxCores  = 2_000    // processor cores
	maxMemory = 64 << 20 // MiB: 64 TiB
	maxNodes  = 200_000  // of a list
)

// ReadNodes reads the columns sn, cpu_milli, memory_mib, gpu and model, as in Alibaba's
// list of 2023, and returns nodes in the order of the file. Names are unique.
func ReadNodes(r io.Reader, file string) ([]TraceNode, error) {
	t, err := openTable(r, file, "sn", "cpu_milli", "memory_mib", "gpu", "model")
	if err != nil {
		return nil, err
	}
	var out []TraceNode
	seen := make(map[string]int)
	for t.nextRow() {
		n := TraceNode{
			Name:   t.nameField("sn"),
			CPU:    protocol.Milli(t.integerField("cpu_milli", 1, 1000*maxCores)),
			Memory: protocol.MiB(t.integerField("memory_mib", 1, maxMemory)),
			GPUs:   int(t.integerField("gpu", 0, MaxGPUs)),
			Model:  t.textField("model"),
		}
		switch first, dup := seen[n.Name]; {
		case dup:
			t.failAtRow("node %s is already in line %d: drop one of them", n.Name, first)
		case n.GPUs > 0 && n.Model == "":
			t.failAtRow("model is empty for a node with %d GPUs: name the model", n.GPUs)
		case n.GPUs == 0 && n.Model != "":
			t.failAtRow("model is %q for a node without GPUs: leave it empty", n.Model)
		case len(n.Model) > maxNameBytes:
			t.failAtRow("model is longer than %d bytes: shorten it", maxNameBytes)
		case len(out) == maxNodes:
			t.failAtRow("over %d nodes: split or shorten the file", maxNodes)
		}
		seen[n.Name] = t.line
		out = append(out, n)
	}
	if t.err == nil && len(out) == 0 {
		t.failAtRow("no nodes after the header: add rows or name another file")
	}
	if t.err != nil {
		return nil, t.err
	}
	return out, nil
}
