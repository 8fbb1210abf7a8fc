package inventory

import "github.com/gridbid/gridbid/agents/power"

// gpuProductLabels are the node labels with the GPU product, most specific first.
var gpuProductLabels = power.ProductLabels()

// gpuMemoryLabels are the node labels with the memory of each GPU, in MiB.
var gpuMemoryLabels = []string{"nvidia.com/gpu.memory", "aliyun.accelerator/nvidia_mem"}

// powerModelOf returns the power table's model for a GPU product: by the site's configuration, else by
// the product's name.
func (v *Inventory) powerModelOf(product string) string {
	if m, ok := v.Models[product]; ok {
		return m
	}
	return v.Power.ModelOfProduct(product)
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
