/**
 * Where the program of a well-known image listens, when nothing in the manifest gives it another configuration. From the EXPOSE
 * lines of the images' own build files (microsoft/iis-docker, microsoft/dotnet-framework-docker, dotnet/dotnet-docker,
 * nginx/docker-nginx, docker-library/httpd). .NET's sample changed from 80 to 8080 with version 8.
 */

/** What of a container may give its program another configuration. */
interface Configured {
  readonly image?: unknown;
  readonly command?: unknown;
  readonly args?: unknown;
  readonly env?: unknown;
  readonly envFrom?: unknown;
  readonly volumeMounts?: unknown;
  readonly lifecycle?: unknown;
}

const LISTENS: readonly (readonly [image: RegExp, ...ports: readonly number[]])[] = [
  [/^mcr\.microsoft\.com\/windows\/servercore\/iis(?:[:@]|$)/, 80],
  [/^microsoft\/iis(?:[:@]|$)/, 80],
  [/^mcr\.microsoft\.com\/dotnet\/framework\/samples:aspnetapp/, 80],
  [/^mcr\.microsoft\.com\/dotnet\/(?:core\/)?samples:aspnetapp/, 80, 8080],
  [/^(?:docker\.io\/)?(?:library\/)?(?:nginx|httpd)(?:[:@]|$)/, 80],
];

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

/** True when the manifest leaves the image's own configuration as it is. */
function isAsBuilt({ command, args, env, envFrom, volumeMounts, lifecycle }: Configured): boolean {
  return [command, args, env, envFrom, volumeMounts, lifecycle].every(isAbsent);
}

function portsOf(container: Configured): readonly number[] | undefined {
  const { image } = container;
  if (typeof image !== "string" || !isAsBuilt(container)) return undefined;
  const known = LISTENS.find(([pattern]) => pattern.test(image.toLowerCase()));
  if (known === undefined) return undefined;
  const [, ...ports] = known;
  return ports;
}

/** The TCP ports on which the programs of these containers listen; undefined where one of the images is not known. */
export function portsOfImages(containers: readonly Configured[]): readonly number[] | undefined {
  const ports = containers.map(portsOf);
  const known = ports.filter((each) => each !== undefined);
  return known.length === ports.length && known.length > 0 ? [...new Set(known.flat())] : undefined;
}
