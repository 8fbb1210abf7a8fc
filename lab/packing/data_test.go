package packing

import (
	"os"
	"path/filepath"
	"testing"
)

// data is where the published traces lie beside a checkout; they are not part
// of it.
const data = "../../../shared/data"

// openFile opens a file of data, or skips the test.
func openFile(tb testing.TB, path string) *os.File {
	tb.Helper()
	f, err := os.Open(filepath.Join(data, path))
	if err != nil {
		tb.Skipf("needs the published traces: %v", err)
	}
	tb.Cleanup(func() { f.Close() })
	return f
}

func openTrace(tb testing.TB, name string) *PlacementTrace {
	tb.Helper()
	const list = "openb/openb_node_list_gpu_node.csv"
	nodes, err := ReadNodes(list, openFile(tb, list))
	if err != nil {
		tb.Fatal(err)
	}
	file := "openb/openb_pod_list_" + name + ".csv"
	pods, err := ReadPods(file, openFile(tb, file), nodes)
	if err != nil {
		tb.Fatal(err)
	}
	return NewPlacementTrace(nodes, pods)
}
