//go:build windows

package hcntest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/Microsoft/go-winio/pkg/guid"
	"github.com/Microsoft/hcsshim/hcn"
	"golang.org/x/sys/windows"
)

// hcsshim has no way to notifications, so this calls the DLL as C programs do.
var (
	computenetwork       = windows.NewLazySystemDLL("computenetwork.dll")
	registerService      = computenetwork.NewProc("HcnRegisterServiceCallback")
	unregisterService    = computenetwork.NewProc("HcnUnregisterServiceCallback")
	registerNetwork      = computenetwork.NewProc("HcnRegisterNetworkCallback")
	unregisterNetwork    = computenetwork.NewProc("HcnUnregisterNetworkCallback")
	openNetwork          = computenetwork.NewProc("HcnOpenNetwork")
	closeNetwork         = computenetwork.NewProc("HcnCloseNetwork")
	notificationCallback = syscall.NewCallback(hear)
)

const (
	networkPreCreate = 0x01
	networkCreate    = 0x02
	networkPreDelete = 0x03
	networkDelete    = 0x04
	namespaceCreate  = 0x05
	namespaceDelete  = 0x06
	endpointAttached = 0x09
	endpointDetached = 0x10

	patience = 10 * time.Second
)

type notification struct {
	kind uint32
	id   string
}

// listener is what a callback's context stands for. A callback of Go has no closure, and Go's memory may move.
type listener struct {
	context uintptr
	heard   chan notification
}

var (
	listenersLock sync.Mutex
	listeners     = map[uintptr]*listener{}
)

func newListener(t *testing.T) *listener {
	listenersLock.Lock()
	defer listenersLock.Unlock()
	made := &listener{context: uintptr(len(listeners) + 1), heard: make(chan notification, 100)}
	listeners[made.context] = made
	return made
}

func hear(kind uint32, context uintptr, status uint32, data *uint16) uintptr {
	var base struct{ ID string }
	if err := json.Unmarshal([]byte(windows.UTF16PtrToString(data)), &base); err != nil {
		base.ID = err.Error()
	}
	listenersLock.Lock()
	to := listeners[context]
	listenersLock.Unlock()
	if to != nil && status == 0 {
		to.heard <- notification{kind, strings.ToLower(base.ID)}
	}
	return 0
}

// expect waits for these kinds about this object, in this order; what is about others is passed over.
func (of *listener) expect(t *testing.T, id string, kinds ...uint32) {
	t.Helper()
	var got []uint32
	until := time.After(patience)
	for len(got) < len(kinds) {
		select {
		case each := <-of.heard:
			if each.id == strings.ToLower(id) {
				got = append(got, each.kind)
			}
		case <-until:
			t.Fatalf("heard %v of %v about %s", got, kinds, id)
		}
	}
	if !slices.Equal(got, kinds) {
		t.Fatalf("heard %v, not %v", got, kinds)
	}
}

func check(t *testing.T, what string, code uintptr) {
	t.Helper()
	if int32(code) != 0 {
		t.Fatalf("%s: 0x%08x", what, uint32(code))
	}
}

func TestServiceNotifications(t *testing.T) {
	of := newListener(t)
	var registration uintptr
	code, _, _ := registerService.Call(notificationCallback, of.context, uintptr(unsafe.Pointer(&registration)))
	check(t, "registering", code)
	network := bridgeNetwork(t)
	of.expect(t, network.Id, networkPreCreate, networkCreate)
	namespace := must[*hcn.HostComputeNamespace](t, "creating a namespace")(hcn.NewNamespace(hcn.NamespaceTypeHost).Create())
	mustDo(t, "deleting the namespace", namespace.Delete())
	of.expect(t, namespace.Id, namespaceCreate, namespaceDelete)
	mustDo(t, "deleting the network", network.Delete())
	of.expect(t, network.Id, networkPreDelete, networkDelete)

	code, _, _ = unregisterService.Call(registration)
	check(t, "taking it out", code)
	bridgeNetwork(t)
	select {
	case late := <-of.heard:
		t.Fatalf("heard after it was taken out: %+v", late)
	case <-time.After(300 * time.Millisecond):
	}
}

func TestNetworkNotifications(t *testing.T) {
	network := bridgeNetwork(t)
	endpoint := podEndpoint(t, network, "pod-a", "10.244.1.5")
	namespace := must[*hcn.HostComputeNamespace](t, "creating a namespace")(hcn.NewNamespace(hcn.NamespaceTypeHost).Create())
	deleteAtEnd(t, namespace)
	id := must[guid.GUID](t, "reading the id")(guid.FromString(network.Id))
	var handle, registration uintptr
	code, _, _ := openNetwork.Call(uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&handle)), 0)
	check(t, "opening the network", code)
	of := newListener(t)
	code, _, _ = registerNetwork.Call(handle, notificationCallback, of.context, uintptr(unsafe.Pointer(&registration)))
	check(t, "registering", code)
	mustDo(t, "attaching", hcn.AddNamespaceEndpoint(namespace.Id, endpoint.Id))
	of.expect(t, endpoint.Id, endpointAttached)
	mustDo(t, "detaching", hcn.RemoveNamespaceEndpoint(namespace.Id, endpoint.Id))
	of.expect(t, endpoint.Id, endpointDetached)
	code, _, _ = unregisterNetwork.Call(registration)
	check(t, "taking it out", code)
	code, _, _ = closeNetwork.Call(handle)
	check(t, "closing the network", code)
}
