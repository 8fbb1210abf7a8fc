package packing

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/agents/fgd"
)

const (
	nodeHead = "sn,cpu_milli,memory_mib,gpu,model\n"
	nodeRow  = "a,64000,262144,2,P100\n"
	podHead  = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
	podRow   = "p,4000,1024,1,500,P100\n"
)

func TestHostileNodes(t *testing.T) {
	for _, tc := range []struct{ name, csv, want string }{
		{"an empty file", "", "trace: n.csv: empty file"},
		{"a missing column", "sn,cpu_milli,gpu,model\n", `trace: n.csv:1: missing column "memory_mib"`},
		{"a negative amount", nodeHead + nodeRow + "b,-1,1,1,T4\n", `trace: n.csv:3: cpu_milli is "-1"`},
		{"a node twice", nodeHead + nodeRow + nodeRow, `trace: n.csv:3: node a is already in line 2`},
		{"nine GPUs", nodeHead + "b,1,1,9,T4\n", `trace: n.csv:2: gpu is "9"`},
		{"a model with a bar", nodeHead + "b,1,1,1,T4|P100\n", `packing: n.csv: node b has model "T4|P100"`},
		{"a stray quote", nodeHead + "b\"x,1,1,1,T4\n", "trace: n.csv:2: bare"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadNodes("n.csv", strings.NewReader(tc.csv))
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("ReadNodes(%q) = %v; want %q", tc.csv, err, tc.want)
			}
		})
	}
}

func TestHostilePods(t *testing.T) {
	nodes := []fgd.Node{{Name: "a", Model: "P100", GPUs: 2}}
	for _, tc := range []struct{ name, csv, want string }{
		{"a missing column", "name,cpu_milli,memory_mib,num_gpu\n", `trace: p.csv:1: missing column "gpu_milli"`},
		{"a negative share", podHead + "p,1,1,1,-5,\n", `trace: p.csv:2: gpu_milli is "-5"`},
		{"an overflow", podHead + podRow + "q,1,18446744073709551616,0,0,\n", `trace: p.csv:3: memory_mib is "18446744073709551616"`},
		{"nine GPUs", podHead + "p,1,1,9,1000,\n", `trace: p.csv:2: num_gpu is "9"`},
		{"an unknown model", podHead + "p,1,1,1,1000,P100|H100\n", `packing: p.csv:2: gpu_spec: no node has model "H100"`},
		{"a share of several GPUs", podHead + "p,1,1,2,500,\n", `trace: p.csv:2: gpu_milli is "500": want a share that fits 2 GPUs`},
		{"a GPU without any share", podHead + "p,1,1,1,0,\n", `trace: p.csv:2: gpu_milli is "0"`},
		{"a pod twice", podHead + podRow + podRow, "trace: p.csv:3: pod p is already in line 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadPods("p.csv", strings.NewReader(tc.csv), nodes)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("ReadPods(%q) = %v; want %q", tc.csv, err, tc.want)
			}
		})
	}
}

func TestReadPods(t *testing.T) {
	csv := "gpu_milli,num_gpu,memory_mib,cpu_milli,name,gpu_spec,creation_time,deletion_time,odd\n" +
		"1500,1,10,20,a,,3,9,x\n" + // more than a device is a device
		"700,0,1,2,b,NONE,,,x\n" // a CPU-only pod's model is not read
	pods, err := ReadPods("p.csv", strings.NewReader(csv), nil)
	want := []PodRow{
		{Name: "a", Line: 2, Request: fgd.Request{CPU: 20, Memory: 10, GPUs: 1, Milli: 1000}, Created: 3, Deleted: 9},
		{Name: "b", Line: 3, Request: fgd.Request{CPU: 2, Memory: 1}},
	}
	if err != nil || !slices.Equal(pods, want) {
		t.Errorf("ReadPods() = %+v, %v\nwant %+v", pods, err, want)
	}
}

// FuzzRead feeds bytes to the three readers: an error or sane values, no panic.
func FuzzRead(f *testing.F) {
	f.Add(nodeHead+nodeRow, podHead+podRow)
	f.Add(nodeHead+"b,0,0,0,\n", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,0,0,0,0\n")
	f.Add("\ufeff"+nodeHead+"\"b\nc\",1,1,8,T4\n", podHead+"p,1,1,8,1001,P100|P100\n")
	f.Add("sn,sn\n", "duration_s,num_gpu,gpu_milli,gpu_spec,cpu_milli,mem_mib,qos\n9,1,5,,1,1,BE\n")
	f.Fuzz(func(t *testing.T, nodeText, podText string) {
		nodes, err := ReadNodes("n", strings.NewReader(nodeText))
		if err != nil {
			nodes = []fgd.Node{{Name: "a", CPU: 64000, Memory: 262144, GPUs: 2, Model: "P100"}}
		}
		if jobs, err := ReadJobs("j", strings.NewReader(podText)); err == nil && len(jobs) == 0 {
			t.Error("ReadJobs read nothing and said nothing")
		}
		pods, err := ReadPods("p", strings.NewReader(podText), nodes)
		if err != nil {
			return
		}
		if len(pods) > 50 || len(nodes) > 50 {
			return
		}
		trace := NewPlacementTrace(nodes, pods)
		for _, p := range fgd.AllPolicies() { // what was read can be replayed
			if _, err := trace.ReplaySeed(ReplayOptions{Policy: p}, 1); (err == nil) != (trace.gpus > 0) {
				t.Errorf("ReplaySeed(%v) of %d = %v", p, trace.gpus, err)
			}
		}
	})
}

// Lists may be gzipped; a truncated one is an error.
func TestAPackedListIsRead(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(podHead + podRow)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	nodes := []fgd.Node{{Name: "a", Model: "P100", GPUs: 2}}
	plain, err := ReadPods("p.csv", strings.NewReader(podHead+podRow), nodes)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadPods("p.csv", bytes.NewReader(packed.Bytes()), nodes); err != nil || !slices.Equal(got, plain) {
		t.Errorf("packed: %+v, %v; plain it is %+v", got, err, plain)
	}
	for n, want := range map[int]string{5: "trace: p.csv: gzip header: ", packed.Len() - 3: "trace: p.csv:3: the file is truncated here"} {
		if _, err := ReadPods("p.csv", bytes.NewReader(packed.Bytes()[:n]), nodes); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("its first %d bytes: %v; want %q", n, err, want)
		}
	}
}
