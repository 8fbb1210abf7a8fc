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
// name that is a word of the product's ("NVIDIA-A100-SXM4-80GB" is an "A100"), or words in a
// row ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition" is an "RTX-PRO-6000"). A MIG
// slice, a time-sliced GPU or a board of half the power (Max-Q) has no model unless the
// configuration names one, since it does not draw what a whole card draws. A product without a model is returned as it
// is.
func (v *Inventory) powerModelOf(product string) string {
	if m, ok := v.Models[product]; ok {
		return m
	}
	best := ""
	words := alphanumericWord.FindAllString(product, -1)
	if slices.Contains(words, "MIG") || slices.Contains(words, "SHARED") || haveInRow(words, []string{"Max", "Q"}) {
		return product
	}
	for _, m := range v.Power.ModelNames() {
		if strings.EqualFold(m, product) {
			return m
		}
		one := []string{strings.ReplaceAll(m, "-", "")}
		if len(m) > len(best) && (haveInRow(words, one) || haveInRow(words, strings.Split(m, "-"))) {
			best = m
		}
	}
	if best == "" {
		return product // agents/capacity does not offer nodes of a model without a power curve
	}
	return best
}

// haveInRow reports whether words has some others next to each other, in whatever case.
func haveInRow(words, others []string) bool {
	for i := range len(words) - len(others) + 1 {
		if slices.EqualFunc(words[i:i+len(others)], others, strings.EqualFold) {
			return true
		}
	}
	return false
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
