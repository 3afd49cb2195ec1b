//go:build windows

package hcntest

import (
	"strings"
	"testing"
	"time"

	"github.com/Microsoft/hcsshim"
)

// hcsshim registers for the notifications of each compute system that it opens, and learns of its end by them.
func TestHotAttach(t *testing.T) {
	const id = "hot-attach"
	network := v1Network(t)
	endpoint := must[*hcsshim.HNSEndpoint](t, "creating an endpoint")(
		(&hcsshim.HNSEndpoint{Name: "hot", VirtualNetwork: network.Id}).Create())
	container := must[hcsshim.Container](t, "creating a container")(
		hcsshim.CreateContainer(id, &hcsshim.ContainerConfig{SystemType: "Container", Name: id, Owner: "test"}))
	mustDo(t, "starting it", container.Start())

	// HCS takes ids in small letters only.
	endpointID := strings.ToLower(endpoint.Id)
	mustDo(t, "attaching", hcsshim.HotAttachEndpoint(id, endpointID))
	if !must[bool](t, "asking for it")(endpoint.IsAttached(id)) {
		t.Error("the endpoint is not attached")
	}
	containers := must[[]hcsshim.ContainerProperties](t, "listing")(hcsshim.GetContainers(hcsshim.ComputeSystemQuery{}))
	if len(containers) != 1 || containers[0].ID != id || containers[0].Owner != "test" {
		t.Errorf("containers: %+v", containers)
	}
	mustDo(t, "detaching", hcsshim.HotDetachEndpoint(id, endpointID))
	if must[bool](t, "asking for it")(endpoint.IsAttached(id)) {
		t.Error("the endpoint is attached still")
	}

	ended := make(chan error, 1)
	go func() { ended <- container.Wait() }()
	if err := container.Terminate(); !hcsshim.IsPending(err) {
		t.Errorf("terminating: %v", err)
	}
	select {
	case err := <-ended:
		mustDo(t, "waiting for its end", err)
	case <-time.After(10 * time.Second):
		t.Fatal("nobody told of its end")
	}
	mustDo(t, "closing it", container.Close())
	if err := hcsshim.HotAttachEndpoint(id, endpointID); err != hcsshim.ErrComputeSystemDoesNotExist {
		t.Errorf("attaching to what is gone: %v", err)
	}
	_, err := endpoint.Delete()
	mustDo(t, "deleting the endpoint", err)
}
