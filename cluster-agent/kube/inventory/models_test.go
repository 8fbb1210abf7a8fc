package inventory

import (
	"testing"

	"github.com/gridbid/gridbid/agents/power"
)

func TestPowerModelOfProduct(t *testing.T) {
	v := &Inventory{Config: Config{Site: "oslo", Models: map[string]string{"Acme-X1": "H100"}, Power: power.DefaultTable()}}
	for product, want := range map[string]string{
		"NVIDIA-H100-80GB-HBM3": "H100", "NVIDIA A100-SXM4-80GB": "A100", "Tesla-V100-SXM2-16GB": "V100", "nvidia-tesla-t4": "T4",
		"NVIDIA-L4": "L4", "NVIDIA-L40S": "L40S", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition": "RTX-PRO-6000", "NVIDIA-GH200-480GB": "GH200", "NVIDIA-GB200": "GB200",
		"NVIDIA-H20": "H20", "NVIDIA-A30": "A30", "NVIDIA-B300-SXM6-AC": "B300", "AMD_Instinct_MI300X_OAM": "MI300X",
		"NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition": "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition", "NVIDIA-RTX-6000-Ada-Generation": "NVIDIA-RTX-6000-Ada-Generation",
		"Acme-X1": "H100", "Quantum-9": "Quantum-9",
		"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "NVIDIA-H100-80GB-HBM3-SHARED": "NVIDIA-H100-80GB-HBM3-SHARED",
	} {
		if got := v.powerModelOf(product); got != want {
			t.Errorf("%s is taken for %s, want %s", product, got, want)
		}
	}
}
