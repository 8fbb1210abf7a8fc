package node

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// A KubeletClient asks the kubelet of this node which GPUs it gave to a pod, by the
// pod resources API on a local socket. It is needed with device plugins, where the
// kubelet chooses.
type KubeletClient struct{ Socket string }

// ChosenGPUs returns the UUIDs of a pod's GPUs, or an error if the kubelet has not
// given it any yet.
func (k KubeletClient) ChosenGPUs(ctx context.Context, p *corev1.Pod) (uuids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+k.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("node: kubelet: %w", err)
	}
	defer conn.Close()
	// 16 MiB in place of gRPC's 4: the answer lists all pods of the node.
	list, err := podresources.NewPodResourcesListerClient(conn).List(ctx, &podresources.ListPodResourcesRequest{}, grpc.MaxCallRecvMsgSize(16<<20))
	if err != nil {
		return nil, fmt.Errorf("node: kubelet: %w", err)
	}
	for _, r := range list.GetPodResources() {
		if r.GetNamespace() != p.Namespace || r.GetName() != p.Name {
			continue
		}
		for _, c := range r.GetContainers() {
			for _, d := range c.GetDevices() {
				if !strings.HasPrefix(d.GetResourceName(), "nvidia.com/") {
					continue
				}
				for _, id := range d.GetDeviceIds() {
					uuid, _, _ := strings.Cut(id, "::") // "UUID::n" is a time-sliced replica of a card
					uuids = append(uuids, uuid)
				}
			}
		}
	}
	if len(uuids) == 0 {
		return nil, fmt.Errorf("node: the kubelet has not given pod %s a GPU yet", p.Name)
	}
	return uuids, nil
}
