package inventory

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A HAMiCard is a GPU as HAMi's device plugin registers it on its node.
type HAMiCard struct {
	ID     string `json:"id"`
	Memory int64  `json:"devmem"` // MiB
	Health *bool  `json:"health"` // nil: unknown, which older releases leave it
}

// HAMiCards parses the annotation by which HAMi's device plugin registers a node's
// GPUs: a JSON list, or in older releases cards separated by colons with fields
// separated by commas. It returns nil if the annotation cannot be parsed.
func HAMiCards(n *corev1.Node) (cards []HAMiCard) {
	text := n.Annotations["hami.io/node-nvidia-register"]
	if strings.HasPrefix(text, "[") {
		_ = json.Unmarshal([]byte(text), &cards) // none if it cannot be read
		return cards
	}
	for _, row := range strings.Split(text, ":") {
		if f := strings.Split(row, ","); len(f) >= 4 {
			var c HAMiCard
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
