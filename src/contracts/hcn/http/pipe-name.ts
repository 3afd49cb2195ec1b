/** Names of Windows' pipes, where a service listens that is a Unix socket elsewhere. */

/** The pipe of the node's service. */
export const DEFAULT_PIPE = "\\\\.\\pipe\\mullion-hns";

const PIPE = /^[\\/]{2}[.?][\\/]pipe[\\/](.+)$/i;

/** True for `\\.\pipe\NAME`, also with slashes. */
export function isPipeName(path: string): boolean {
  return PIPE.test(path);
}

/** `\\.\pipe\NAME` of what follows `npipe:`: `////./pipe/NAME`, as other programs write it, or the name itself. */
export function parsePipeUrl(rest: string): string | undefined {
  const name = PIPE.exec(rest.replace(/^\/\/(?=\/\/)/, ""))?.[1];
  return name === undefined ? undefined : `\\\\.\\pipe\\${name}`;
}

/** `npipe:////./pipe/NAME`. */
export function formatPipeUrl(path: string): string {
  return `npipe://${path.replaceAll("\\", "/")}`;
}
