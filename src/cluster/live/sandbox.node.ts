/**
 * How a process of a pod is started: in the network of the pod, with namespaces of its own for files, processes, names and
 * messages, and without rights. util-linux does it, by setpriv(1), nsenter(1), unshare(1) and mount(8), which Debian has in
 * its smallest installation.
 */
import { readFileSync } from "node:fs";

/** A folder or file of this machine that the process finds at another place, read-only. */
export interface Mount {
  readonly from: string;
  readonly to: string;
}

export interface SandboxOptions {
  /** Of the network namespace. */
  readonly network: string;
  readonly hostname: string;
  /** What `/etc/resolv.conf` says. */
  readonly resolver: string;
  readonly mounts: readonly Mount[];
  readonly command: readonly string[];
}

const NOBODY = "65534";
const WHOLE = 0xffff_fffe;

/**
 * Makes a file system in memory that has of this machine what is below /usr, certificates and five devices, and runs the
 * command in it. A process that was put into a folder (chroot) gets no namespaces of users, and with them no rights, from
 * the kernel. The last step asks again for a signal at the end of its parent: who becomes another user is told of it no more
 * (prctl(2), PR_SET_PDEATHSIG).
 * Arguments: host name, resolver, whether to become nobody, pairs of mounts, `--`, command.
 */
const SCRIPT = `set -eu
root=/sys host=$1 resolver=$2 user=$3
shift 3
show() {
  if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$root$(dirname "$2")"; : > "$root$2"; fi
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro,nosuid,nodev "$root$2"
}
umask 022
mount -t tmpfs -o mode=755,size=4m,nosuid,nodev mullion $root
mkdir $root/proc $root/tmp $root/dev $root/etc
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L /$name ]; then cp -P /$name $root/$name; elif [ -d /$name ]; then show /$name /$name; fi
done
for path in /usr /etc/alternatives /etc/ssl/certs /etc/ld.so.cache; do
  if [ -e $path ]; then show $path $path; fi
done
while [ "$1" != -- ]; do show "$1" "$2"; shift 2; done
shift
for name in null zero full random urandom; do : > $root/dev/$name; mount --bind /dev/$name $root/dev/$name; done
ln -s /proc/self/fd $root/dev/fd
mount -t tmpfs -o mode=1777,size=64m,nosuid,nodev mullion $root/tmp
if mount -t proc -o nosuid,nodev,noexec proc $root/proc 2> /dev/null; then
  echo "$host" > $root/proc/sys/kernel/hostname
  echo 0 > $root/proc/sys/net/ipv4/ip_unprivileged_port_start
fi
printf '%s' "$resolver" > $root/etc/resolv.conf
printf '127.0.0.1 localhost\\n127.0.0.1 %s\\n' "$host" > $root/etc/hosts
printf 'root:x:0:0::/tmp:/bin/sh\\nnobody:x:65534:65534::/tmp:/bin/sh\\n' > $root/etc/passwd
printf 'root:x:0:\\nnogroup:x:65534:\\n' > $root/etc/group
mount -o remount,ro $root
ulimit -c 0
as="--pdeathsig KILL --no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all"
if [ "$user" = nobody ]; then as="$as --reuid 65534 --regid 65534 --clear-groups"; fi
exec unshare --root=$root --wd=/tmp -- setpriv $as -- "$@"
`;

const START = "setpriv --pdeathsig KILL -- nsenter".split(" ");
const OWN_NAMESPACES = "-- unshare --mount --pid --ipc --uts --fork --kill-child -- sh -c".split(" ");

/** Whether this process may become another user: in a namespace of users it often has a single one. */
function mayBecomeNobody(): boolean {
  return readFileSync("/proc/self/uid_map", "utf8")
    .trim()
    .split("\n")
    .some((line) => {
      const [first = 0, , count = 0] = line.trim().split(/ +/).map(Number);
      return first === 0 && count > Number(NOBODY) && count <= WHOLE + 1;
    });
}

/**
 * The words that start the process. It ends when the process that starts them does, whatever ends that.
 */
export function sandboxed({
  network,
  hostname,
  resolver,
  mounts,
  command,
}: SandboxOptions): readonly string[] {
  const user = mayBecomeNobody() ? "nobody" : "self";
  return [
    ...START,
    `--net=${network}`,
    ...OWN_NAMESPACES,
    SCRIPT,
    "sh",
    hostname,
    resolver,
    user,
    ...mounts.flatMap(({ from, to }) => [from, to]),
    "--",
    ...command,
  ];
}
