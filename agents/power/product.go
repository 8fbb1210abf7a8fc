package power

import (
	"regexp"
	"slices"
	"strings"
)

// ProductLabels returns the labels of Kubernetes nodes that name the GPU product, most specific first:
// of NVIDIA's feature discovery, our own, and of two cloud providers.
func ProductLabels() []string {
	return []string{"nvidia.com/gpu.product", "gridbid.io/gpu-model", "aliyun.accelerator/nvidia_name", "cloud.google.com/gke-accelerator"}
}

// alphanumericWord splits a product name into words.
var alphanumericWord = regexp.MustCompile(`[A-Za-z0-9]+`)

// ModelOfProduct returns the table's model for a GPU product: the model with the product's name, or the
// model with the longest name that is a word of the product's ("NVIDIA-A100-SXM4-80GB" is an "A100"),
// or words in a row ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition" is an "RTX-PRO-6000"). A MIG slice,
// a time-sliced GPU or a board of half the power (Max-Q) has no model, since it does not draw what a
// whole card draws. A product without a model is returned as it is.
func (t Table) ModelOfProduct(product string) string {
	best := ""
	words := alphanumericWord.FindAllString(product, -1)
	if slices.Contains(words, "MIG") || slices.Contains(words, "SHARED") || haveInRow(words, []string{"Max", "Q"}) {
		return product
	}
	for _, m := range t.ModelNames() {
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
