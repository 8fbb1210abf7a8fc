## test-gpu: read this machine's GPUs through NVML; nothing is set (needs a GPU and a C compiler)
.PHONY: test-gpu
test-gpu:
	$(GO) test -tags gpu -run RealDevice -count 1 -v ./cluster-agent/nvml
