/** Commands on Linux pods and nodes. Forms are those of the threads that the files of this folder name. */
import { beforeAll, describe, expect, it } from "vitest";
import { type ExecWorld, GREETING_PORT, makeExecWorld } from "#test/support/cluster/exec-world.ts";

const TUX = "pod/shop/tux";
const NODE = "node/linux-1";

let world: ExecWorld;
let own = "";
let subnet = "";
beforeAll(async () => {
  world = await makeExecWorld();
  own =
    /inet (10\.244\.\d+\.\d+)\/24/.exec(world.report("ip -4 addr show dev eth0", TUX).stdout)?.[1] ?? "none";
  subnet = own.replace(/\.\d+$/, "");
});

function lines(command: string, from = TUX): readonly string[] {
  return world.lines(command, from);
}

describe("ip", () => {
  it("address shows the loopback and the interface, with masks, scopes and lives", () => {
    expect(lines("ip addr")).toEqual([
      "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000",
      "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00",
      "    inet 127.0.0.1/8 scope host lo",
      "       valid_lft forever preferred_lft forever",
      "    inet6 ::1/128 scope host ",
      "       valid_lft forever preferred_lft forever",
      "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000",
      expect.stringMatching(/^ {4}link\/ether 0a:58(:[0-9a-f]{2}){4} brd ff:ff:ff:ff:ff:ff$/),
      `    inet ${own}/24 brd ${subnet}.255 scope global eth0`,
      "       valid_lft forever preferred_lft forever",
    ]);
  });

  it.each([
    [
      "ip -br a",
      () => [
        "lo               UNKNOWN        127.0.0.1/8 ::1/128 ",
        `eth0             UP             ${own}/24 `,
      ],
    ],
    [
      "ip r",
      () => [
        `default via ${subnet}.1 dev eth0 `,
        `${subnet}.0/24 dev eth0 proto kernel scope link src ${own} `,
      ],
    ],
    [
      "ip route show dev eth0",
      () => [`default via ${subnet}.1 `, `${subnet}.0/24 proto kernel scope link src ${own} `],
    ],
    ["ip route get 10.0.0.11", () => [`10.0.0.11 via ${subnet}.1 dev eth0 src ${own} uid 0 `, "    cache "]],
    ["ip route get 127.0.0.1", () => ["local 127.0.0.1 dev lo src 127.0.0.1 uid 0 ", "    cache <local> "]],
    ["/usr/sbin/ip -6 route", () => []],
  ])("%s", (line, expected) => {
    expect(lines(line)).toEqual(expected());
  });

  it("route on a node has the way to the pods of another, and that of its own", () => {
    expect(lines("ip route", NODE)).toEqual([
      "default via 10.0.0.1 dev eth0 ",
      "10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.21 ",
      expect.stringMatching(/^10\.244\.\d+\.0\/24 via 10\.0\.0\.11 dev eth0 $/),
      `${subnet}.0/24 dev cbr0 proto kernel scope link src ${subnet}.1 `,
    ]);
  });

  it.each([
    ["ip addr show eth7", 'Device "eth7" does not exist.', 1],
    ["ip route show dev eth7", 'Cannot find device "eth7"', 1],
    ["ip route get 2001:db8::1", "RTNETLINK answers: Network is unreachable", 2],
  ])("%s fails", (line, stderr, exitCode) => {
    expect(world.report(line, TUX)).toMatchObject({ stdout: "", stderr: `${stderr}\n`, exitCode });
  });

  it("neighbours that were asked for are there, with what came of it", () => {
    const both = (first: string): readonly string[] => world.sequence([first, "ip neigh"], TUX)[1] ?? [];
    expect(both("ping -c 1 10.0.0.11")).toEqual([
      expect.stringMatching(new RegExp(`^${subnet}.1 dev eth0 lladdr 0a:58(:[0-9a-f]{2}){4} REACHABLE $`)),
    ]);
    expect(both(`ping -c 1 ${subnet}.77`)).toContain(`${subnet}.77 dev eth0 FAILED `);
  });
});

describe("ss", () => {
  it("shows where the pod's server listens, in columns of a pipe", () => {
    expect(lines("ss -tuln")).toEqual([
      "Netid State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess",
      "tcp   LISTEN 0      4096               *:80              *:*          ",
    ]);
    expect(lines("ss -Htln")).toEqual(["LISTEN 0 4096 *:80 *:*"]);
  });

  it("without -l and -a there is nothing that listens", () => {
    expect(lines("ss -tn")).toEqual(["State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess"]);
  });
});

describe("ping", () => {
  it("shows each answer, counts them, and ends with 0", () => {
    expect(lines("ping -c 2 10.0.0.11")).toEqual([
      "PING 10.0.0.11 (10.0.0.11) 56(84) bytes of data.",
      expect.stringMatching(/^64 bytes from 10\.0\.0\.11: icmp_seq=1 ttl=127 time=\d\.\d+ ms$/),
      expect.stringMatching(/^64 bytes from 10\.0\.0\.11: icmp_seq=2 ttl=127 time=\d\.\d+ ms$/),
      "",
      "--- 10.0.0.11 ping statistics ---",
      expect.stringMatching(/^2 packets transmitted, 2 received, 0% packet loss, time 100\dms$/),
      expect.stringMatching(/^rtt min\/avg\/max\/mdev = \d\.\d{3}\/\d\.\d{3}\/\d\.\d{3}\/\d\.\d{3} ms$/),
    ]);
    expect(world.report("ping -c 1 10.0.0.11", TUX).exitCode).toBe(0);
  });

  it("a neighbour that is not there is reported after three seconds of questions", () => {
    expect(lines(`ping -c 5 ${subnet}.77`)).toEqual([
      `PING ${subnet}.77 (${subnet}.77) 56(84) bytes of data.`,
      ...[1, 2, 3, 4, 5].map((each) => `From ${own} icmp_seq=${each} Destination Host Unreachable`),
      "",
      `--- ${subnet}.77 ping statistics ---`,
      expect.stringMatching(/^5 packets transmitted, 0 received, \+5 errors, 100% packet loss, time \d+ms$/),
      expect.stringMatching(/^pipe \d$/),
    ]);
    expect(world.report(`ping -c 1 ${subnet}.77`, TUX).exitCode).toBe(1);
  });

  it("a name has the address behind it; -q leaves the answers out", () => {
    const [first, ...rest] = lines("ping -q -c1 web");
    expect(first).toBe("PING web.shop.svc.cluster.local (10.96.0.20) 56(84) bytes of data.");
    expect(rest.slice(0, 2)).toEqual(["", "--- web.shop.svc.cluster.local ping statistics ---"]);
  });

  it.each([
    ["ping -c 1 gone", "ping: gone: Name or service not known"],
    ["ping -c 1 2001:db8::1", "ping: connect: Network is unreachable"],
  ])("%s ends with 2", (line, stderr) => {
    expect(world.report(line, TUX)).toMatchObject({ stdout: "", stderr: `${stderr}\n`, exitCode: 2 });
  });
});

describe("dig", () => {
  it("+search shows question, answer and server, in the columns of BIND", () => {
    expect(lines("dig +search web")).toEqual([
      "",
      "; <<>> DiG 9.11.6-P1 <<>> +search web",
      ";; global options: +cmd",
      ";; Got answer:",
      expect.stringMatching(/^;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: \d+$/),
      ";; flags: qr aa rd; QUERY: 1, ANSWER: 1, AUTHORITY: 0, ADDITIONAL: 1",
      ";; WARNING: recursion requested but not available",
      "",
      ";; OPT PSEUDOSECTION:",
      "; EDNS: version: 0, flags:; udp: 4096",
      ";; QUESTION SECTION:",
      ";web.shop.svc.cluster.local.\tIN\tA",
      "",
      ";; ANSWER SECTION:",
      expect.stringMatching(/^web\.shop\.svc\.cluster\.local\. \d+\tIN\tA\t10\.96\.0\.20$/),
      "",
      expect.stringMatching(/^;; Query time: \d+ msec$/),
      ";; SERVER: 10.96.0.10#53(10.96.0.10)",
      expect.stringMatching(/^;; MSG SIZE {2}rcvd: \d+$/),
      "",
    ]);
  });

  it("without it the name is asked for as it is, and who knows nothing of it says so", () => {
    const text = lines("dig web").join("\n");
    expect(text).toMatch(/status: NXDOMAIN/);
    expect(text).toMatch(/^;web\.\t{4}IN\tA$/m);
    expect(text).toMatch(/^\.\t{3}\d+\tIN\tSOA\t/m);
  });

  it("+short shows where aliases lead, and the address", () => {
    expect(lines("dig +short +search shortcut")).toEqual(["web.shop.svc.cluster.local.", "10.96.0.20"]);
  });

  it("a server that is silent is asked three times, which ends with 9", () => {
    const { stdout, exitCode, tookMs } = world.report("dig @192.0.2.53 +time=2 web", TUX);
    expect(stdout).toContain("\n;; connection timed out; no servers could be reached\n");
    expect({ exitCode, isInTime: tookMs <= 6_000 }).toEqual({ exitCode: 9, isInTime: true });
  });
});

describe("nslookup", () => {
  const server = ["Server:\t\t10.96.0.10", "Address:\t10.96.0.10#53", ""];

  it.each([
    ["nslookup web", [...server, "Name:\tweb.shop.svc.cluster.local", "Address: 10.96.0.20", ""], 0],
    [
      "nslookup shortcut",
      [
        ...server,
        "shortcut.shop.svc.cluster.local\tcanonical name = web.shop.svc.cluster.local.",
        "Name:\tweb.shop.svc.cluster.local",
        "Address: 10.96.0.20",
        "",
      ],
      0,
    ],
    ["nslookup gone.shop", [...server, "** server can't find gone.shop: NXDOMAIN", ""], 1],
    ["nslookup web 10.0.0.11", [";; connection timed out; no servers could be reached", ""], 1],
  ])("%s", (line, expected, exitCode) => {
    expect(lines(line)).toEqual(expected);
    expect(world.report(line, TUX).exitCode).toBe(exitCode);
  });
});

describe("curl and wget", () => {
  const saw = expect.stringMatching(/^shop\/tux saw \d+\.\d+\.\d+\.\d+:\d+$/) as string;

  it.each(["curl -sS http://web", "curl -m 5 web", "wget -qO- http://web", "wget -q -O - web:80/x"])(
    "%s",
    (line) => {
      expect(lines(line)).toEqual([saw]);
    },
  );

  it.each([
    ["curl http://gone", 6, /^curl: \(6\) Could not resolve host: gone\n$/],
    ["curl -s http://gone", 6, /^$/],
    [
      "curl http://10.0.0.21:1",
      7,
      /^curl: \(7\) Failed to connect to 10\.0\.0\.21 port 1 after \d+ ms: Could not /,
    ],
    [
      "curl http://192.0.2.9",
      7,
      /^curl: \(7\) Failed to connect to 192\.0\.2\.9 port 80 after \d+ ms: Could not /,
    ],
    [`curl http://10.0.0.21:${GREETING_PORT}`, 1, /^curl: \(1\) Received HTTP\/0\.9 when not allowed\n$/],
    ["wget -qO- http://gone", 1, /^wget: bad address 'gone'\n$/],
    [
      "wget -qO- 10.0.0.21:1",
      1,
      /^wget: can't connect to remote host \(10\.0\.0\.21\): Connection refused\n$/,
    ],
    [`wget -qO- http://10.0.0.21:${GREETING_PORT}`, 1, /^wget: error getting response\n$/],
  ])("%s ends with %d", (line, exitCode, stderr) => {
    const answer = world.report(line, TUX);
    expect(answer).toMatchObject({ stdout: "", exitCode });
    expect(answer.stderr).toMatch(stderr);
  });
});

describe("files that kubelet and runtime write", () => {
  it.each([
    [
      "cat /etc/resolv.conf",
      () => [
        "search shop.svc.cluster.local svc.cluster.local cluster.local",
        "nameserver 10.96.0.10",
        "options ndots:5",
      ],
    ],
    [
      "cat /etc/hosts",
      () => [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
        `${own}\ttux`,
        "",
        "# Entries added by HostAliases.",
        "192.0.2.7\tdepot\tdepot.example",
      ],
    ],
    ["cat /etc/hostname", () => ["tux"]],
    ["hostname", () => ["tux"]],
  ])("%s", (line, expected) => {
    expect(lines(line)).toEqual(expected());
  });
});

it("what there is not is unknown to the shell; Windows' commands are among it", () => {
  for (const word of ["nmap", "ipconfig", "Get-NetRoute"])
    expect(world.report(word, TUX)).toMatchObject({ stderr: `sh: 1: ${word}: not found\n`, exitCode: 127 });
});

it.each([
  ["ip link set eth0 down", /ip link set eth0 down is not one/],
  ["ip -s link", /ip -s link is not one/],
  ["ip rule", /ip rule is not one/],
  ["ip", /without an object/],
  ["ss -tlnp", /ss -tlnp is not one/],
  ["ss -ln", /without -t and -u/],
  ["ss -tl", /without -n/],
  ["ping web", /without -c/],
  ["ping -c 0 web", /ping -c 0 web is not one/],
  ["dig -x 10.0.0.1", /dig -x 10\.0\.0\.1 is not one/],
  ["dig web A extra", /is not one/],
  ["nslookup -type=srv web", /is not one/],
  ["curl https://web", /is not one/],
  ["wget http://web", /is not one/],
  ["wget -q http://web", /is not one/],
  ["cat /etc/passwd", /cat \/etc\/passwd is not one/],
  ["hostname -i", /hostname -i is not one/],
])("%s is refused rather than answered wrongly", (line, message) => {
  expect(() => world.report(line, TUX)).toThrow(message);
});
