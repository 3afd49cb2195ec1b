/**
 * How a system writes paths, as a value: programs get `POSIX_PATHS` or `WINDOWS_PATHS` and behave as on that system,
 * wherever they run. Nothing here asks the machine.
 *
 * Sources: Microsoft, "Naming Files, Paths, and Namespaces" and "File path formats on Windows systems"; Go's
 * path/filepath, which the reference plugins use (lists in quotes).
 */
import { encodeUtf8 } from "./encodings.ts";

export interface PathRules {
  readonly name: "posix" | "windows";
  readonly separator: "/" | "\\";
  /** True when the path means the same whatever the current folder and drive are. */
  isAbsolute(path: string): boolean;
  /** The path as a program in `currentFolder`, which is absolute, sees it: absolute, without `.` and `..`. */
  resolve(currentFolder: string, path: string): string;
  /** `name` in `folder`, as it stands there: `..` is kept. */
  join(folder: string, name: string): string;
  /** A list of folders such as `PATH` and `CNI_PATH`. An empty text has none. */
  splitList(text: string): readonly string[];
  /** The files that may be the executable `program`, best first. */
  executablesOf(program: string): readonly string[];
  /** The text as the name of a file: what the system does not allow becomes `_`. */
  fileNameOf(text: string): string;
  /** Why the system refuses the name for a file or takes it for another one; undefined: it does not. */
  fileNameFault(name: string): string | undefined;
  /** The address of an absolute path, such as `file:///C:/run/flannel`. */
  fileUrlOf(path: string): string;
}

/** The longest name of a file: bytes of UTF-8, or units of UTF-16 on Windows. */
const NAME_LENGTH_MAX = 255;

/** `a/./b//../c` → `a/c`; what leads above the root stays at the root. */
function normalize(parts: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const part of parts) {
    if (part === "..") kept.pop();
    else if (part !== "" && part !== ".") kept.push(part);
  }
  return kept;
}

/** Segments as they stand in a URL. A `:` stays as it is. */
function escapeSegments(path: string): string {
  return path
    .split("/")
    .map((part) => encodeURIComponent(part.toWellFormed()).replaceAll("%3A", ":"))
    .join("/");
}

const EMPTY_NAME = "it is empty, or stands for a folder";

function isNoName(name: string): boolean {
  return name === "" || name === "." || name === "..";
}

/** Paths of Linux and macOS. */
export const POSIX_PATHS: PathRules = Object.freeze({
  name: "posix",
  separator: "/",
  isAbsolute: (path: string) => path.startsWith("/"),
  resolve(currentFolder: string, path: string): string {
    const whole = path.startsWith("/") ? path : `${currentFolder}/${path}`;
    return `/${normalize(whole.split("/")).join("/")}`;
  },
  join: (folder: string, name: string) =>
    folder === "" || folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`,
  splitList: (text: string) => (text === "" ? [] : text.split(":")),
  executablesOf: (program: string) => [program],
  fileNameOf: (text: string) => text.replaceAll(/[/\0]/g, "_"),
  fileNameFault(name: string): string | undefined {
    if (isNoName(name)) return EMPTY_NAME;
    if (/[/\0]/.test(name)) return "it has a slash or a zero in it";
    if (!name.isWellFormed()) return "it is not valid UTF-8 text";
    return encodeUtf8(name).length > NAME_LENGTH_MAX
      ? `it is longer than ${NAME_LENGTH_MAX} bytes`
      : undefined;
  },
  fileUrlOf: (path: string) => `file://${escapeSegments(path)}`,
} satisfies PathRules);

/** What stands before the folders of a Windows path, and what it depends on. */
interface WindowsRoot {
  /**
   * `absolute`: `C:\x`, `\\server\share\x`, `\\?\…`. `rooted`: `\x`, on the current drive. `drive`: `C:x`, in the current
   * folder of that drive. `relative`: all else.
   */
  readonly kind: "absolute" | "rooted" | "drive" | "relative";
  /** Written with `\`: `C:`, `\\server\share`, or nothing. */
  readonly root: string;
  /** What follows, with `\`. */
  readonly rest: string;
}

/** Namespaces that Windows takes as they are: no slashes, no dots. */
const DEVICE = /^\\\\[?.]\\/;
const SHARE = /^(\\\\[^\\]+\\[^\\]+)(.*)$/s;
const DRIVE = /^([A-Za-z]:)(.*)$/s;

function readRoot(path: string): WindowsRoot {
  if (DEVICE.test(path)) return { kind: "absolute", root: path, rest: "" };
  const written = path.replaceAll("/", "\\");
  const [, share, inShare = ""] = SHARE.exec(written) ?? [];
  if (share !== undefined) return { kind: "absolute", root: share, rest: inShare };
  const [, drive, onDrive = ""] = DRIVE.exec(written) ?? [];
  if (drive !== undefined)
    return { kind: onDrive.startsWith("\\") ? "absolute" : "drive", root: drive, rest: onDrive };
  return { kind: written.startsWith("\\") ? "rooted" : "relative", root: "", rest: written };
}

function windowsPath(root: string, rest: string): string {
  return DEVICE.test(root) ? root : `${root}\\${normalize(rest.split("\\")).join("\\")}`;
}

function resolveOnWindows(currentFolder: string, path: string): string {
  const current = readRoot(currentFolder);
  const { kind, root, rest } = readRoot(path);
  if (kind === "absolute") return windowsPath(root, rest);
  if (kind === "rooted") return windowsPath(current.root, rest);
  // Windows keeps a current folder per drive and knows it by a hidden variable; without it that is the drive's root.
  const isHere = kind === "relative" || root.toLowerCase() === current.root.toLowerCase();
  return isHere ? windowsPath(current.root, `${current.rest}\\${rest}`) : windowsPath(root, rest);
}

/** Semicolons separate, except in quotes; quotes are left out. */
function splitQuotedList(text: string): readonly string[] {
  if (text === "") return [];
  const items = [""];
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    else if (character === ";" && !isQuoted) items.push("");
    else items.push(`${items.pop() ?? ""}${character}`);
  }
  return items;
}

const FORBIDDEN = /[<>:"/\\|?*]|\p{Cc}/gu;
/** Devices, with any extension: NUL, nul.txt. The digits ¹, ² and ³ count as well. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|(?:com|lpt)[0-9¹²³])(?:\..*)?$/i;

/** Paths of Windows, in the form that Win32 takes. Slashes separate as backslashes do. */
export const WINDOWS_PATHS: PathRules = Object.freeze({
  name: "windows",
  separator: "\\",
  isAbsolute: (path: string) => readRoot(path).kind === "absolute",
  resolve: resolveOnWindows,
  join: (folder: string, name: string) =>
    folder === "" || /[\\/]$/.test(folder) ? `${folder}${name}` : `${folder}\\${name}`,
  splitList: splitQuotedList,
  executablesOf: (program: string) => [`${program}.exe`, program],
  fileNameOf: (text: string) => text.replaceAll(FORBIDDEN, "_"),
  fileNameFault(name: string): string | undefined {
    if (isNoName(name)) return EMPTY_NAME;
    const [character] = name.match(FORBIDDEN) ?? [];
    if (character !== undefined) return `Windows allows no ${JSON.stringify(character)} in it`;
    if (DEVICE_NAME.test(name)) return "Windows takes it for a device";
    if (/[. ]$/.test(name)) return "Windows removes a dot or space at the end";
    return name.length > NAME_LENGTH_MAX ? `it is longer than ${NAME_LENGTH_MAX} characters` : undefined;
  },
  fileUrlOf(path: string): string {
    const { root, rest } = readRoot(path);
    const slashed = `${root}${rest}`.replaceAll("\\", "/");
    return slashed.startsWith("//")
      ? `file:${escapeSegments(slashed)}`
      : `file:///${escapeSegments(slashed)}`;
  },
} satisfies PathRules);

/** The rules of a system by Node's name for it. */
export function pathRulesOf(platform: string): PathRules {
  return platform === "win32" ? WINDOWS_PATHS : POSIX_PATHS;
}
