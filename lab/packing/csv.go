package packing

import (
	"fmt"
	"io"
	"strings"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A PodRow is one row of a pod list.
type PodRow struct {
	Name    string
	Request fgd.Request
	Line    int // in its file, for errors

	// Created and Deleted are seconds since the trace's start, both 0 if the list has
	// no times. The published runs ignore them.
	Created, Deleted int64
}

// ReadNodes reads a node list, as package trace does.
func ReadNodes(file string, r io.Reader) ([]fgd.Node, error) {
	all, err := trace.ReadNodes(r, file)
	if err != nil {
		return nil, err
	}
	nodes := make([]fgd.Node, len(all))
	for i, n := range all {
		if strings.Contains(n.Model, "|") {
			return nil, fmt.Errorf("packing: %s: node %s has model %q: a | separates models", file, n.Name, n.Model)
		}
		nodes[i] = fgd.Node{Name: n.Name, CPU: int64(n.CPU), Memory: int64(n.Memory), GPUs: n.GPUs, Model: n.Model}
	}
	return nodes, nil
}

// ReadPods reads a pod list, as package trace does. Each model that a pod may run on must exist in
// nodes.
func ReadPods(file string, r io.Reader, nodes []fgd.Node) ([]PodRow, error) {
	all, err := trace.ReadPods(r, file)
	if err != nil {
		return nil, err
	}
	models := map[string]bool{}
	for _, n := range nodes {
		models[n.Model] = true
	}
	pods := make([]PodRow, len(all))
	for i, p := range all {
		for _, m := range p.Models {
			if !models[m] {
				return nil, fmt.Errorf("packing: %s:%d: gpu_spec: no node has model %q", file, p.Line, m)
			}
		}
		pods[i] = PodRow{Name: p.Name, Line: p.Line, Request: requestOf(p), Created: p.Created, Deleted: p.Deleted}
	}
	return pods, nil
}

// requestOf returns what a pod asks for, in the plain numbers of package fgd.
func requestOf(p trace.Pod) fgd.Request {
	return fgd.Request{CPU: int64(p.CPU), Memory: int64(p.Memory), GPUs: p.GPUs, Milli: int64(p.Share), Models: strings.Join(p.Models, "|")}
}
