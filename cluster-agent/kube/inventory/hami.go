package inventory

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A card is one GPU as HAMi's device plugin registers it.
type Card struct {
	ID     string `json:"id"`
	Memory int64  `json:"devmem"` // MiB
	Health *bool  `json:"health"` // nil: it does not say
}

// HAMiCards reads the cards of a node from what HAMi's plugin wrote on it: a list
// in JSON, or in older releases fields between commas and cards between colons.
func HAMiCards(n *corev1.Node) (cards []Card) {
	text := n.Annotations["hami.io/node-nvidia-register"]
	if strings.HasPrefix(text, "[") {
		_ = json.Unmarshal([]byte(text), &cards) // none if it cannot be read
		return cards
	}
	for _, row := range strings.Split(text, ":") {
		if f := strings.Split(row, ","); len(f) >= 4 {
			var c Card
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
