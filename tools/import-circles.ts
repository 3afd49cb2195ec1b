/** Circles of files of `src/` that import each other, by value or by type: none of them can be read on its own. */
import { type SourceFile, importedFiles, readImportMap } from "./source-files.ts";

/** The files of `known` that a file imports or exports from, whatever it takes from there. */
function importsOf(
  file: SourceFile,
  known: ReadonlySet<string>,
  map: Readonly<Record<string, string>>,
): readonly string[] {
  return [...new Set(importedFiles(file, map))].filter((target) => known.has(target));
}

/** One file on its way through the search. */
interface Visit {
  readonly path: string;
  readonly targets: readonly string[];
  readonly index: number;
  /** The earliest file on the stack that can be reached from here. */
  earliest: number;
  isOnStack: boolean;
}

/** Tarjan's search for strongly connected components; recursion is as deep as the longest way of imports. */
class CircleSearch {
  private readonly imports: ReadonlyMap<string, readonly string[]>;
  private readonly visits = new Map<string, Visit>();
  private readonly stack: Visit[] = [];
  private readonly circles: (readonly string[])[] = [];

  constructor(imports: ReadonlyMap<string, readonly string[]>) {
    this.imports = imports;
  }

  find(): readonly (readonly string[])[] {
    for (const path of this.imports.keys()) if (!this.visits.has(path)) this.visit(path);
    return this.circles;
  }

  private visit(path: string): Visit {
    const targets = this.imports.get(path) ?? [];
    const index = this.visits.size;
    const visit: Visit = { path, targets, index, earliest: index, isOnStack: true };
    this.visits.set(path, visit);
    this.stack.push(visit);
    for (const target of targets) {
      const other = this.visits.get(target);
      if (other === undefined) visit.earliest = Math.min(visit.earliest, this.visit(target).earliest);
      else if (other.isOnStack) visit.earliest = Math.min(visit.earliest, other.index);
    }
    if (visit.earliest === index) this.close(visit);
    return visit;
  }

  /** Takes the component that began with `first` off the stack. */
  private close(first: Visit): void {
    const component = this.stack.splice(this.stack.indexOf(first));
    for (const visit of component) visit.isOnStack = false;
    const isCircle = component.length > 1 || first.targets.includes(first.path);
    if (isCircle) this.circles.push(component.map(({ path }) => path).toSorted());
  }
}

/** Every circle, with the files in it, sorted. */
export function findImportCircles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const known = new Set(files.map(({ path }) => path));
  const map = readImportMap();
  return new CircleSearch(new Map(files.map((file) => [file.path, importsOf(file, known, map)]))).find();
}
