package kube

// GPUSharing is the mechanism by which pods of a site's cluster request GPUs.
// docs/kubernetes.md says which limits each of them enforces.
type GPUSharing string

// The mechanisms.
const (
	SharingDRA          GPUSharing = "dra"      // device claims (resource.k8s.io/v1), allocated by the binder: device, share and memory
	SharingDevicePlugin GPUSharing = "plugin"   // whole GPUs by NVIDIA's device plugin; the kubelet chooses the devices
	SharingHAMi         GPUSharing = "hami"     // shares by HAMi's device plugin, on the device that the binder chooses
	SharingGPUShare     GPUSharing = "gpushare" // shares of memory by Alibaba's device plugin, on the device that the binder chooses
)

// Extended resources by which device plugins offer GPUs.
const (
	PluginGPU  = "nvidia.com/gpu"
	HAMiMemory = "nvidia.com/gpumem"   // MiB of each device
	HAMiCores  = "nvidia.com/gpucores" // hundredths of each device
	ShareGiB   = "aliyun.com/gpu-mem"  // GiB of one device
)
