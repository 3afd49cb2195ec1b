//go:build windows

package podnet

import (
	"net/netip"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

const subnet = "10.244.1.0/24"

// newNode is a node with a network and the namespace of one pod; both are gone when the test ends.
func newNode(t *testing.T) (*hcn.HostComputeNetwork, *hcn.HostComputeNamespace) {
	t.Helper()
	network, err := EnsureNetwork("cbr0", subnet, "10.244.1.1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = network.Delete() })
	namespace, err := hcn.NewNamespace(hcn.NamespaceTypeHost).Create()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = namespace.Delete() })
	return network, namespace
}

func TestEnsureNetworkTwice(t *testing.T) {
	first, _ := newNode(t)
	again, err := EnsureNetwork("cbr0", subnet, "10.244.1.1")
	if err != nil || again.Id != first.Id {
		t.Fatalf("%v, %v", again, err)
	}
}

func TestPod(t *testing.T) {
	network, namespace := newNode(t)
	endpoint, err := AddPod(network, "web", namespace.Id)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddr(endpoint.IpConfigurations[0].IpAddress)
	if !netip.MustParsePrefix(subnet).Contains(address) {
		t.Errorf("%s is not in %s", address, subnet)
	}
	again, err := AddPod(network, "web", namespace.Id)
	if err != nil || again.Id != endpoint.Id {
		t.Errorf("added again: %v, %v", again, err)
	}
	for range 2 {
		if err := DeletePod("web"); err != nil {
			t.Error(err)
		}
	}
	ids, err := hcn.GetNamespaceEndpointIds(namespace.Id)
	if err != nil || len(ids) != 0 {
		t.Errorf("left in the namespace: %v, %v", ids, err)
	}
}
