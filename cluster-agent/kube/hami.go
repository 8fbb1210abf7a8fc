package kube

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gridbid/gridbid/protocol"
)

// A card is one GPU as HAMi's device plugin registers it.
type card struct {
	ID     string `json:"id"`
	Memory int64  `json:"devmem"` // MiB
	Health *bool  `json:"health"` // nil: it does not say
}

// hamiNode reads the cards of a node from what HAMi's plugin wrote on it: a list
// in JSON, or in older releases fields between commas and cards between colons.
func hamiNode(n *corev1.Node) (cards []card) {
	text := n.Annotations["hami.io/node-nvidia-register"]
	if strings.HasPrefix(text, "[") {
		_ = json.Unmarshal([]byte(text), &cards) // none if it cannot be read
		return cards
	}
	for _, row := range strings.Split(text, ":") {
		if f := strings.Split(row, ","); len(f) >= 4 {
			var c card
			if _, err := fmt.Sscan(f[2], &c.Memory); err == nil {
				c.ID = f[0]
				if f[len(f)-1] == "false" {
					c.Health = new(bool)
				}
				cards = append(cards, c)
			}
		}
	}
	return cards
}

// hamiDevices writes which cards a pod gets and how much of each, as HAMi's
// plugin reads it: containers end in ";", their cards in ":".
func hamiDevices(n *corev1.Node, p *corev1.Pod, j protocol.Job, devices []int) string {
	cards := hamiNode(n)
	var b strings.Builder
	for _, c := range p.Spec.Containers {
		q := c.Resources.Limits[pluginGPU]
		for range min(int(q.Value()), len(devices)) {
			d := devices[0]
			devices = devices[1:]
			if d >= len(cards) {
				continue
			}
			memory := int64(j.GPUMemory)
			if memory == 0 {
				memory = cards[d].Memory * int64(j.Share) / 1000
			}
			fmt.Fprintf(&b, "%s,NVIDIA,%d,%d:", cards[d].ID, memory, j.Share/10)
		}
		b.WriteByte(';')
	}
	return b.String()
}

// deviceGiB is the memory of one device as GPU-share counts it.
func deviceGiB(n *corev1.Node) int64 {
	all, count := n.Status.Allocatable[shareGiB], n.Status.Allocatable["aliyun.com/gpu-count"]
	return all.Value() / max(count.Value(), 1)
}
