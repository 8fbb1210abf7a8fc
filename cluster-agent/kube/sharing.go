package kube

// GPUSharing is how a site's cluster is asked for GPUs. What each enforces stands in
// docs/kubernetes.md.
type GPUSharing string

// Ways of sharing.
const (
	SharingDRA          GPUSharing = "dra"      // device claims (resource.k8s.io/v1) that we allocate: device, share and memory
	SharingDevicePlugin GPUSharing = "plugin"   // whole GPUs by device plugin; the kubelet picks the cards
	SharingHAMi         GPUSharing = "hami"     // shares by HAMi's device plugin, on the device that we name
	SharingGPUShare     GPUSharing = "gpushare" // shares of memory by Alibaba's device plugin, on the device that we name
)

// Extended resources.
const (
	PluginGPU  = "nvidia.com/gpu"
	HAMiMemory = "nvidia.com/gpumem"   // MiB of each device
	HAMiCores  = "nvidia.com/gpucores" // hundredths of each device
	ShareGiB   = "aliyun.com/gpu-mem"  // GiB of one device
)
