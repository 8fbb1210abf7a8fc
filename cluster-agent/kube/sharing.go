package kube

// Sharing is how a site's cluster is asked for GPUs. What each enforces stands in
// docs/kubernetes.md.
type Sharing string

// Ways of sharing.
const (
	DRA      Sharing = "dra"      // device claims (resource.k8s.io/v1) that we allocate: device, share and memory
	Plugin   Sharing = "plugin"   // whole GPUs by device plugin; the kubelet picks the cards
	HAMi     Sharing = "hami"     // shares by HAMi's device plugin, on the device that we name
	GPUShare Sharing = "gpushare" // shares of memory by Alibaba's device plugin, on the device that we name
)

// Extended resources.
const (
	PluginGPU  = "nvidia.com/gpu"
	HAMiMemory = "nvidia.com/gpumem"   // MiB of each device
	HAMiCores  = "nvidia.com/gpucores" // hundredths of each device
	ShareGiB   = "aliyun.com/gpu-mem"  // GiB of one device
)
