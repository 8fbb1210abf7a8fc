package inventory

import (
	"regexp"
	"slices"
	"strings"
)

// gpuProductLabels are the node labels with the GPU product, most specific first: of
// NVIDIA's feature discovery, our own, and of two cloud providers.
var gpuProductLabels = []string{"nvidia.com/gpu.product", "gridbid.io/gpu-model", "aliyun.accelerator/nvidia_name", "cloud.google.com/gke-accelerator"}

// gpuMemoryLabels are the node labels with the memory of each GPU, in MiB.
var gpuMemoryLabels = []string{"nvidia.com/gpu.memory", "aliyun.accelerator/nvidia_mem"}

// alphanumericWord splits a product name into words.
var alphanumericWord = regexp.MustCompile(`[A-Za-z0-9]+`)

// powerModelOf returns the power table's model for a GPU product: by the site's
// configuration, or the model with the product's name, or the model with the longest
// name that is a word of the product's ("NVIDIA-A100-SXM4-80GB" is an "A100"). A MIG
// slice or a time-sliced GPU has no model unless the configuration names one, since it
// does not draw what a whole card draws. A product without a model is returned as it
// is.
func (v *Inventory) powerModelOf(product string) string {
	if m, ok := v.Models[product]; ok {
		return m
	}
	best := ""
	words := alphanumericWord.FindAllString(product, -1)
	if slices.Contains(words, "MIG") || slices.Contains(words, "SHARED") {
		return product
	}
	for _, m := range v.Power.ModelNames() {
		if strings.EqualFold(m, product) {
			return m
		}
		for _, w := range words {
			if strings.EqualFold(w, strings.ReplaceAll(m, "-", "")) && len(m) > len(best) {
				best = m
			}
		}
	}
	if best == "" {
		return product // agents/capacity does not offer nodes of a model without a power curve
	}
	return best
}

// firstLabel returns the value of the first of some labels that is set, or "".
func firstLabel(labels map[string]string, keys []string) string {
	for _, k := range keys {
		if v := labels[k]; v != "" {
			return v
		}
	}
	return ""
}
