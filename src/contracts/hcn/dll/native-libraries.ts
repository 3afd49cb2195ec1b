/** Where the libraries are. */

/** Paths of the two libraries and of the one that frees what they allocate. */
export interface NativeLibraries {
  readonly computeNetwork: string;
  readonly vmCompute: string;
  /** With its function; `null` is the program itself. */
  readonly free: readonly [library: string | null, name: string];
}

/** Windows' own, from its folder and no other, so that none that lies beside the program is taken. */
export function windowsLibraries(systemRoot: string): NativeLibraries {
  const folder = `${systemRoot.replace(/[\\/]$/, "")}\\System32`;
  return {
    computeNetwork: `${folder}\\computenetwork.dll`,
    vmCompute: `${folder}\\vmcompute.dll`,
    free: [`${folder}\\ole32.dll`, "CoTaskMemFree"],
  };
}
