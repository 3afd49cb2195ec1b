/** What happens at the end of the way: the receiver refuses, ignores or never answers. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, KUBERNETES_ON_WINDOWS, reference, thread } from "../entry-text.ts";

type ReceiverCode = "port-not-listening" | "listen-queue-full" | "destination-not-local" | "no-answer";

export const RECEIVER_ENTRIES: EntryTable<ReceiverCode> = {
  "port-not-listening": {
    title: "Nothing listens on that port of the receiver",
    cause: prose`
      The packet reached the right machine, and no program has opened the port. The receiver's stack refuses at
      once: a TCP connection gets a reset ("actively refused"), a UDP datagram an ICMP "port unreachable". The
      network is fine. Either the program is not running yet, or it listens on another port, another protocol,
      or on 127.0.0.1 only.`,
    onNode: prose`
      Inside the pod, list what is open and on which address:

          kubectl exec <pod> -- netstat -ano

      Compare with containerPort in the pod's manifest, and targetPort in the service's: a number in a manifest
      opens nothing.`,
    remedy: prose`
      Correct the port, or let the program listen on 0.0.0.0. In a cluster file, "ports" of a pod or of an
      outside host says where the built-in server answers.`,
    sources: [
      { text: "RFC 9293 §3.10.7", url: "https://www.rfc-editor.org/rfc/rfc9293" },
      reference("dataplane.md §2.9"),
    ],
    profiles: ALL,
  },

  "listen-queue-full": {
    title: "The server has more waiting connections than its queue takes",
    cause: prose`
      A TCP server sets how many new connections may wait until the program accepts them. More came
      than the program took, the queue is full, and further connection requests are dropped or refused. The
      network did its part: the program is too slow, is blocked, or is being flooded. A client whose request
      was dropped tries again after a second and more, so it looks slow rather than refused.`,
    onNode: prose`
      Many connections in the states "established" and "SYN received" on the port of the server, and a failure
      counter that rises:

          kubectl exec <pod> -- netstat -ano -p tcp
          kubectl exec <pod> -- netstat -s -p tcp`,
    remedy: prose`
      Give the program a larger backlog in its call to listen, more threads that accept, or more pods behind the
      service. If requests come from one client that never stops, look at the client.`,
    sources: [
      {
        text: "Windows Sockets: listen",
        url: "https://learn.microsoft.com/en-us/windows/win32/api/winsock2/nf-winsock2-listen",
      },
      { text: "RFC 9293 §3.10.7", url: "https://www.rfc-editor.org/rfc/rfc9293" },
    ],
    profiles: ALL,
  },

  "destination-not-local": {
    title: "The packet was delivered to a machine that does not own the address",
    cause: prose`
      The frame carried this machine's MAC address, so its stack took it; the IP address inside is not one of its
      own, and the stack does not forward between these interfaces, so it dropped the packet. On a node this
      means that forwarding is off on one of the adapters that join the pod network and the underlay. On a pod
      it means that a neighbour table or rewrite rule points to the wrong MAC address.`,
    onNode: prose`
      Both the adapter to the underlay and the one of the bridge endpoint must forward:

          Get-NetIPInterface -AddressFamily IPv4 | ft ifIndex, InterfaceAlias, Forwarding
          netsh interface ipv4 show interface <index>

      The addresses of every compartment:

          ipconfig /allcompartments /all`,
    remedy: prose`
      Turn forwarding on; flanneld and the start scripts do it for both adapters:

          netsh interface ipv4 set interface <index> forwarding=enabled

      If the address belongs to a pod that was deleted, the sender works with an old address: check the
      EndpointSlice and the DNS answer that it used.`,
    sources: [KUBERNETES_ON_WINDOWS, reference("dataplane.md §2.4, §5.2"), reference("cni.md §2.2")],
    profiles: ALL,
  },

  "no-answer": {
    title: "The packet was delivered and nothing came back",
    cause: prose`
      Every part on the way let the packet through and the receiver took it, yet no answer left the receiver in
      time. A UDP server need not answer. A TCP server that does not answer a SYN it received is overloaded, or
      a filter inside the machine (the Windows firewall) took the packet after the switch had delivered it.`,
    onNode: prose`
      See whether the request shows up inside the pod's compartment and whether a filter there took it:

          pktmon counters --drop-reason
          netsh wfp show netevents
          kubectl exec <pod> -- netstat -ano`,
    remedy: prose`
      Ask the program itself first, from inside its own pod. If it answers there, look at the firewall rules of
      the compartment. If a connection dies after some minutes of silence, remember that Windows forgets idle
      flows after 240 seconds: let the program send keep-alives.`,
    sources: [thread("microsoft/Windows-Containers", 81), reference("dataplane.md §1.10, §4.4")],
    profiles: ALL,
  },
};
