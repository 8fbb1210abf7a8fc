package inventory

import (
	"regexp"
	"slices"
	"strings"
)

// gpuProductLabels are where nodes say what GPUs they have.
var gpuProductLabels = []string{"nvidia.com/gpu.product", "gridbid.io/gpu-model", "aliyun.accelerator/nvidia_name", "cloud.google.com/gke-accelerator"}

// gpuMemoryLabels are where nodes say how much memory each GPU has, in MiB.
var gpuMemoryLabels = []string{"nvidia.com/gpu.memory", "aliyun.accelerator/nvidia_mem"}

// alphanumericWord cuts a product's name at what is no letter or digit.
var alphanumericWord = regexp.MustCompile(`[A-Za-z0-9]+`)

// modelOfProduct returns the model of the power table that a product is: by what the site
// says, or if the product is called that, or if a word of it is. The longest
// name wins: "NVIDIA-A100-SXM4-80GB" is an "A100". What is named as a slice of a card,
// or as its time, is none, unless the site says so.
func (v *Inventory) modelOfProduct(product string) string {
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
		return product // the fleet says that no power is known of it
	}
	return best
}

func firstLabel(labels map[string]string, keys []string) string {
	for _, k := range keys {
		if v := labels[k]; v != "" {
			return v
		}
	}
	return ""
}
